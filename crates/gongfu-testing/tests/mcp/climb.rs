//! Paths, names and links that lead out, given to every tool that takes one: nothing outside is read,
//! made or changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gongfu_testing::json::{failed, is_error, text_at};
use serde_json::{Value, json};

use crate::fixture::LocalClient;
use crate::folders::Folders;

/// A text that must never be in an answer.
const CANARY: &str = "the canary outside of every skill";

/// Ways to say "outside" by a path.
const CLIMBS: &[&str] = &[
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
    "/proc/self/environ",
    "/dev/stdin",
];

fn climbs(folders: &Folders) -> Vec<String> {
    let secret = folders.path("outside/secret.txt");
    let absolute = secret.to_str().unwrap();
    let mut climbs: Vec<String> = CLIMBS.iter().map(|&climb| climb.to_owned()).collect();
    climbs.extend([
        format!("/{absolute}"),
        format!("file://{absolute}"),
        format!("../../..{absolute}"),
        format!("references/{}etc/passwd", "../".repeat(300)),
        format!("{}secret.txt", "../".repeat(5_000)),
        format!("skills/../..{absolute}"),
        absolute.to_owned(),
    ]);
    climbs
}

/// Skills with a canary beside them and one outside.
fn guarded() -> Folders {
    let folders = Folders::with_skills();
    folders.write("outside/secret.txt", CANARY);
    folders.write("skills/secret.txt", CANARY);
    let document = format!("---\nname: outside\ndescription: {CANARY}\n---\n\n{CANARY}\n");
    folders.write("outside/SKILL.md", document);
    folders.write("work/good.txt", "x");
    folders
}

/// Every file that no tool may touch, with its content.
fn untouchable(folders: &Folders) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folders.path("")];
    let allowed = ["work", "skills/pdf-tools", "home"].map(|path| folders.path(path));
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if allowed.contains(&path) {
                continue;
            }
            let bytes = if path.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            files.insert(path, bytes);
        }
    }
    files
}

/// Each tool with an argument that says where: a call that works, and the name of the argument.
const CALLS: &[&str] = &[
    r#"file_list path {"path":""}"#,
    r#"file_read path {"path":"good.txt"}"#,
    r#"file_write path {"path":"good.txt","content":"x"}"#,
    r#"file_write path {"path":"good.txt","old_text":"x","new_text":"x"}"#,
    r#"skill_load skill_name {"skill_name":"pdf-tools"}"#,
    r#"skill_read path {"skill_name":"pdf-tools","path":"hello.txt"}"#,
    r#"skill_read skill_name {"skill_name":"pdf-tools"}"#,
    r#"skill_write path {"skill_name":"pdf-tools","path":"new.txt","content":"x"}"#,
    r#"skill_write skill_name {"skill_name":"pdf-tools","path":"new.txt","content":"x"}"#,
    r#"load_skill skill_name {"skill_name":"pdf-tools"}"#,
    r#"read_reference_file file_name {"skill_name":"pdf-tools","file_name":"hello.txt"}"#,
    r#"read_skill skill_name {"skill_name":"pdf-tools"}"#,
    r#"autosnippet_load_skill skillName {"skillName":"pdf-tools"}"#,
    r#"skills_ls path {"path":"skills"}"#,
    r#"skills_read path {"path":"skills/pdf-tools"}"#,
    r#"skills_write path {"path":"good.txt","content":"x"}"#,
];

/// The tool, the argument that says where, and the arguments of each call.
fn calls() -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    CALLS.iter().map(|call| {
        let (tool, rest) = call.split_once(' ').unwrap();
        let (name, arguments) = rest.split_once(' ').unwrap();
        (tool, name, serde_json::from_str(arguments).unwrap())
    })
}

/// Calls; whatever is answered is short and says nothing from outside.
fn answer(client: &mut LocalClient, tool: &str, arguments: &Value) -> Value {
    let answer = client.call(tool, arguments.clone());
    let shown = answer.to_string();
    let leaks = shown.contains(CANARY) || shown.contains("root:");
    assert!(
        !leaks && shown.len() < 20_000,
        "{tool} {arguments}: {shown}"
    );
    answer
}

/// Calls, which must fail with one of these codes.
fn check_fails(client: &mut LocalClient, tool: &str, arguments: &Value, codes: &[&str]) {
    let answer = answer(client, tool, arguments);
    let error = failed(&answer);
    let code = text_at(&error, "/code");
    assert!(codes.contains(&code), "{tool} {arguments}: {code}");
}

#[test]
fn reading_refuses_every_path_and_name_that_climbs() {
    let folders = guarded();
    let control = folders.read("skills/pdf-tools/../secret.txt");
    assert_eq!(control, CANARY, "the canary is there");
    let mut client = folders.client();
    for climb in climbs(&folders) {
        let read = json!({ "skill_name": "pdf-tools", "path": climb });
        let codes = ["INVALID_FILE_PATH", "FILE_NOT_FOUND"];
        check_fails(&mut client, "skill_read", &read, &codes);
        for list in [json!({ "source": climb }), json!({ "after": climb })] {
            check_fails(&mut client, "skill_list", &list, &["INVALID_ARGUMENT"]);
        }
        let section = json!({ "skill_name": "pdf-tools", "section": climb });
        check_fails(&mut client, "skill_load", &section, &["SECTION_NOT_FOUND"]);
        let after = json!({ "skill_name": "pdf-tools", "after": climb });
        assert!(!is_error(&answer(&mut client, "skill_read", &after)));
    }
    let mut names = climbs(&folders);
    let more = [
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
    ];
    names.extend(more.map(str::to_owned));
    for name in names {
        let codes = ["INVALID_SKILL_NAME", "SKILL_NOT_FOUND"];
        let arguments = json!({ "skill_name": name });
        check_fails(&mut client, "skill_load", &arguments, &codes);
        check_fails(&mut client, "skill_read", &arguments, &codes);
    }
}

#[test]
fn no_tool_follows_a_path_that_climbs() {
    let folders = guarded();
    let mut client = folders.client();
    for (tool, _, arguments) in calls() {
        client.good(tool, arguments);
    }
    let before = untouchable(&folders);
    let mut climbs = climbs(&folders);
    for climb in climbs.clone() {
        climbs.push(format!("skills/pdf-tools/{climb}"));
        climbs.push(format!("workspace/{climb}"));
    }
    climbs.extend(["x".repeat(4_096), format!("{}x", "y/".repeat(2_048))]);
    let mut inside = 0;
    for climb in climbs {
        for (tool, name, mut arguments) in calls() {
            arguments[name] = climb.clone().into();
            let answer = answer(&mut client, tool, &arguments);
            if !is_error(&answer) {
                inside += 1;
                let mut parts = climb.split('/');
                let plain = parts.all(|part| part.trim() != "..")
                    && !climb.contains("..%")
                    && !climb.contains("%2e");
                assert!(plain, "{tool} {climb:?}: {answer}");
            }
        }
    }
    assert!(inside > 0, "names that only look odd are names");
    assert_eq!(untouchable(&folders), before);
}

#[test]
fn new_skill_is_created_only_in_the_folder_of_skills() {
    let folders = guarded();
    let mut client = folders.client();
    let before = untouchable(&folders);
    for climb in climbs(&folders) {
        for tool in ["skill_create", "skills_create"] {
            let arguments = json!({ "name": climb, "description": "d", "instructions": "i" });
            assert!(is_error(&client.call(tool, arguments)), "{tool} {climb:?}");
        }
    }
    assert_eq!(untouchable(&folders), before);
    client.good(
        "skill_create",
        json!({ "name": "good", "description": "d" }),
    );
    assert!(
        folders.path("skills/good/SKILL.md").is_file(),
        "the control"
    );
}

#[test]
fn no_tool_follows_a_link_that_leads_out() {
    use std::os::unix::fs::symlink;
    let folders = guarded();
    let mut client = folders.client();
    let places = ["work", "skills/pdf-tools"].map(|place| folders.path(place));
    let outside = folders.path("outside");
    for place in &places {
        symlink(&outside, place.join("away")).unwrap();
        symlink("../../outside/secret.txt", place.join("file")).unwrap();
        symlink(outside.join("secret.txt"), place.join("absolute")).unwrap();
        symlink(outside.join("none"), place.join("dangling")).unwrap();
        symlink("/proc/self/root", place.join("magic")).unwrap();
    }
    let control = folders.read("work/away/secret.txt");
    assert_eq!(control, CANARY, "without the handle it can be read");
    let before = untouchable(&folders);
    let magic = format!("magic{}", outside.join("secret.txt").display());
    for link in [
        "away/secret.txt",
        "away/new.txt",
        "away/deep/new.txt",
        "file",
        "absolute",
        "dangling",
        &magic,
    ] {
        for (tool, name, mut arguments) in calls() {
            if !["path", "file_name"].contains(&name) {
                continue;
            }
            let given = if tool.starts_with("skills_") {
                vec![format!("./{link}"), format!("skills/pdf-tools/{link}")]
            } else {
                vec![link.to_owned()]
            };
            for given in given {
                arguments[name] = given.into();
                let answer = answer(&mut client, tool, &arguments);
                assert!(is_error(&answer), "{tool} {arguments}: {answer}");
            }
        }
    }
    assert_eq!(untouchable(&folders), before);
}

#[test]
fn mount_reaches_no_further_than_declared() {
    let folders = guarded();
    folders.write("data/file.txt", "data");
    folders.write("data2/file.txt", CANARY);
    let path = folders.path("data");
    let data = path.to_str().unwrap();
    let read_only = format!("{data}:/locked:ro");
    let mut client = folders.client_with(&[], &[data, &read_only]);
    let control = json!({ "path": format!("{data}/file.txt") });
    let good = client.good("file_read", control);
    assert_eq!(text_at(&good, "/content/0/text"), "data", "the control");
    let before = untouchable(&folders);
    for path in [
        format!("{data}2/file.txt"),
        format!("{data}/../data2/file.txt"),
        format!("{data}/../outside/secret.txt"),
        format!("/.{data}/../data2/file.txt"),
        "/locked/../outside/secret.txt".to_owned(),
        "/lockedx/file.txt".to_owned(),
        folders.path("outside/secret.txt").display().to_string(),
        "/".to_owned(),
        "//".to_owned(),
    ] {
        let read = json!({ "path": path });
        let write = json!({ "path": path, "content": "planted" });
        for tool in ["file_read", "file_list", "skills_ls", "skills_read"] {
            let answer = answer(&mut client, tool, &read);
            assert!(is_error(&answer), "{tool} {path}: {answer}");
        }
        for tool in ["file_write", "skills_write"] {
            assert!(is_error(&client.call(tool, write.clone())), "{tool} {path}");
        }
    }
    let locked = json!({ "path": "/locked/new.txt", "content": "planted" });
    check_fails(&mut client, "file_write", &locked, &["SOURCE_READ_ONLY"]);
    assert_eq!(untouchable(&folders), before);
}
