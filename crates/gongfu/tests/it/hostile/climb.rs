//! Paths and names that climb out of their skill: none arrives anywhere.

use serde_json::json;

use super::{CANARY, fails, guarded_world as world};
use crate::world::{World, text_at};

/// Ways to say "outside" by way of a path.
pub(super) fn climbs(world: &World) -> Vec<String> {
    let absolute = world
        .path("outside/secret.txt")
        .to_string_lossy()
        .into_owned();
    let mut climbs: Vec<String> = [
        "../secret.txt",
        "../../outside/secret.txt",
        "../../../../../../../../../../etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "..",
        "../",
        "references/../../secret.txt",
        "references/../../../outside/secret.txt",
        "./../secret.txt",
        "././../../outside/secret.txt",
        "references//..//..//secret.txt",
        "..\\secret.txt",
        "..\\..\\outside\\secret.txt",
        "\\\\host\\share\\secret.txt",
        "C:\\Windows\\win.ini",
        "C:/Windows/win.ini",
        "c:secret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "..%2fsecret.txt",
        "..%5csecret.txt",
        "%252e%252e%252fsecret.txt",
        "....//secret.txt",
        "..;/secret.txt",
        "..\u{0}/secret.txt",
        "../secret.txt\u{0}.md",
        "hello.txt\u{0}",
        "\u{0}",
        "..\u{2215}secret.txt",
        "\u{ff0e}\u{ff0e}/secret.txt",
        "..\u{c0}\u{af}secret.txt",
        "~/secret.txt",
        "~",
        "$HOME/secret.txt",
        "`id`",
        "file:///etc/passwd",
        "skill://pdf-tools/../secret.txt",
        "../pdf-tools/../secret.txt",
        "..\n/secret.txt",
        " ../secret.txt",
        "../secret.txt ",
        ".../secret.txt",
        "hello.txt/../../secret.txt",
        "hello.txt/..",
        "SKILL.md/",
        "/proc/self/environ",
        "/dev/stdin",
    ]
    .map(str::to_owned)
    .to_vec();
    climbs.extend([
        format!("/{absolute}"),
        format!("file://{absolute}"),
        format!("../../..{absolute}"),
        format!("references/{}etc/passwd", "../".repeat(300)),
        format!("{}secret.txt", "../".repeat(5_000)),
        format!("skills/../..{absolute}"),
        absolute,
    ]);
    climbs
}

#[test]
fn no_path_climbs_out() {
    let world = world();
    let climbs = climbs(&world);
    assert!(climbs.len() >= 25);
    assert_eq!(
        std::fs::read_to_string(world.path("skills/pdf-tools/../secret.txt")).unwrap(),
        CANARY,
        "the canary is there"
    );
    let mut client = world.client();
    for climb in climbs {
        if climb == "SKILL.md/" {
            // Slashes at the end are dropped: that is the file itself.
            continue;
        }
        let error = fails(
            &mut client,
            "skill_read",
            &json!({ "skill_name": "pdf-tools", "path": climb }),
        );
        let code = text_at(&error, "/code");
        assert!(
            ["INVALID_FILE_PATH", "FILE_NOT_FOUND"].contains(&code),
            "{climb:?}: {code}"
        );
        if !climb.contains('\0') {
            let read = world
                .only(["skill", "read", "pdf-tools", "--", &climb])
                .ends(1);
            assert!(
                read.stdout.is_empty() && !read.stderr.contains(CANARY),
                "{climb:?}: {}",
                read.stderr
            );
        }
    }
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn no_name_climbs_out() {
    let world = world();
    let mut client = world.client();
    let mut names = climbs(&world);
    names.extend(
        [
            "skills/../outside",
            "skills/..",
            "skills/.",
            "skills/../../outside",
            "skills//outside",
            "/outside",
            "outside",
            "../outside",
            "skills/pdf-tools/../../outside",
            "./pdf-tools",
            "skills/pdf-tools/SKILL.md",
            "",
            " ",
            "\t\n",
        ]
        .map(str::to_owned),
    );
    for name in names {
        for (tool, arguments) in [
            ("skill_load", json!({ "skill_name": name })),
            ("skill_read", json!({ "skill_name": name })),
            (
                "skill_read",
                json!({ "skill_name": name, "path": "secret.txt" }),
            ),
        ] {
            let error = fails(&mut client, tool, &arguments);
            let code = text_at(&error, "/code");
            assert!(
                ["INVALID_SKILL_NAME", "SKILL_NOT_FOUND"].contains(&code),
                "{name:?}: {code}"
            );
        }
    }
    for name in ["../outside", "skills/../outside", ".."] {
        for verb in ["show", "read", "enable", "disable"] {
            let ran = world.only(["skill", verb, name]).ends(1);
            assert!(
                ran.stdout.is_empty() && ran.stderr.starts_with("error["),
                "{verb} {name}: {}",
                ran.stderr
            );
        }
    }
    assert!(
        !world.path("home/switches.json").exists(),
        "nothing was switched"
    );
}

#[test]
fn other_texts_climb_nowhere_either() {
    let world = world();
    let mut client = world.client();
    for climb in climbs(&world) {
        fails(&mut client, "skill_list", &json!({ "source": climb }));
        fails(&mut client, "skill_list", &json!({ "after": climb }));
        fails(
            &mut client,
            "skill_load",
            &json!({ "skill_name": "pdf-tools", "section": climb }),
        );
        let listed = client.good(
            "skill_read",
            json!({ "skill_name": "pdf-tools", "after": climb }),
        );
        assert!(!listed.to_string().contains(CANARY));
    }
}
