//! `gongfu skill check --fix`: no byte changes that was not meant to.

use std::fs;

use serde_json::json;

use crate::world::{World, at};

const BROKEN: &str = "\u{feff}---\r\nname: Broken\r\ndescription: Mends: a lot, \"quoted\"   \r\nlicense:   MIT # mine\r\n---\r\n\r\nText  \r\n\tends\r\n\r\n";
const MENDED: &str = "---\r\nname: broken\r\ndescription: \"Mends: a lot, \\\"quoted\\\"\"   \r\nlicense:   MIT # mine\r\n---\r\n\r\nText  \r\n\tends\r\n\r\n";

fn arguments(world: &World, more: &[&str]) -> Vec<String> {
    let mut arguments = vec![
        "skill".to_owned(),
        "check".to_owned(),
        world.path("skills").to_string_lossy().into_owned(),
    ];
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
    arguments
}

#[test]
fn a_dry_run_writes_nothing() {
    let world = World::new();
    let file = world.write("skills/broken/SKILL.md", BROKEN);
    let before = fs::metadata(&file).unwrap();
    let ran = world
        .gongfu(arguments(&world, &["--fix", "--dry-run"]))
        .ends(1);
    let after = fs::metadata(&file).unwrap();
    assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    let diff = ran.text();
    assert!(
        diff.contains("--- ")
            && diff.contains("+++ ")
            && diff.contains("\n-")
            && diff.contains("\n+"),
        "{diff}"
    );
    assert!(
        diff.contains("would be mended by --fix without --dry-run"),
        "{diff}"
    );
    let json = world
        .gongfu(arguments(&world, &["--fix", "--dry-run", "--json"]))
        .ends(1)
        .json();
    assert!(at(&json, "/summary/fixed").as_u64().unwrap() >= 1);
    assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    assert_eq!(
        fs::read_dir(file.parent().unwrap()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
}

#[test]
fn what_needs_no_judgement_is_mended_and_nothing_else() {
    let world = World::new();
    let file = world.write("skills/broken/SKILL.md", BROKEN);
    world.write("skills/broken/references/x.md", "a\r\nb: c: d\n");
    let good = world.skill("good", "Does good.");
    let untouched = fs::read(&good).unwrap();
    let ran = world
        .gongfu(arguments(&world, &["--fix", "--json"]))
        .good()
        .json();
    assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
    assert_eq!(fs::read(&good).unwrap(), untouched);
    assert_eq!(
        world.read("skills/broken/references/x.md"),
        "a\r\nb: c: d\n"
    );
    assert!(at(&ran, "/summary/fixed").as_u64().unwrap() >= 3, "{ran:#}");
    assert_eq!(
        fs::read_dir(file.parent().unwrap()).unwrap().count(),
        2,
        "nothing is left beside it"
    );

    let again = world
        .gongfu(arguments(&world, &["--fix", "--json"]))
        .good()
        .json();
    assert_eq!(
        at(&again, "/summary/fixed"),
        &json!(0),
        "what is mended stays as it is"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
}

#[cfg(unix)]
#[test]
fn permissions_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    for mode in [0o600, 0o640, 0o644, 0o755] {
        let file = world.write("skills/broken/SKILL.md", BROKEN);
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        world.gongfu(arguments(&world, &["--fix"])).good();
        assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            mode,
            "{mode:o}"
        );
    }
    let file = world.write("skills/broken/SKILL.md", BROKEN);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = world.gongfu(arguments(&world, &["--fix"])).ends(1);
    assert!(ran.stderr.contains("was left as it is"), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        BROKEN,
        "a file that must not be written is not written"
    );
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let world = World::new();
    let outside = world.write("outside/SKILL.md", BROKEN);
    let inside = world.write("skills/broken/real.md", BROKEN);
    fs::create_dir(world.path("skills/escaping")).unwrap();
    std::os::unix::fs::symlink(
        "../../outside/SKILL.md",
        world.path("skills/escaping/SKILL.md"),
    )
    .unwrap();
    std::os::unix::fs::symlink("real.md", world.path("skills/broken/SKILL.md")).unwrap();
    world.gongfu(arguments(&world, &["--fix"])).ends(1);
    assert_eq!(fs::read_to_string(outside).unwrap(), BROKEN);
    assert_eq!(fs::read_to_string(inside).unwrap(), BROKEN);
    assert!(
        fs::symlink_metadata(world.path("skills/broken/SKILL.md"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn many_at_once_mend_a_file_once() {
    for _ in 0..8 {
        let world = World::new();
        let file = world.write("skills/broken/SKILL.md", BROKEN);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| world.gongfu(arguments(&world, &["--fix"])).run());
            }
        });
        assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
        let files = fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing is left beside it");
    }
}

#[test]
fn only_what_is_named_is_changed() {
    let world = World::new();
    let file = world.write("skills/broken/SKILL.md", BROKEN);
    let here = file.parent().unwrap().to_owned();
    for arguments in [
        &["--fix"][..],
        &[
            "--fix",
            "--skills-dir",
            "/no/such/folder",
            "--no-default-dirs",
        ],
        &["--dry-run"],
    ] {
        let mut all = vec!["skill", "check"];
        all.extend(arguments);
        let ran = world.gongfu(all).within(here.clone()).ends(2);
        assert!(ran.stderr.contains("PATH"), "{}", ran.stderr);
        assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    }
}

#[test]
#[cfg(unix)]
fn what_would_lose_a_name_or_an_owner_is_refused() {
    let world = World::new();
    let file = world.write("skills/broken/SKILL.md", BROKEN);
    fs::hard_link(&file, world.path("other")).unwrap();
    let ran = world.gongfu(arguments(&world, &["--fix"])).ends(1);
    assert!(ran.stderr.contains("hard links"), "{}", ran.stderr);
    assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    fs::remove_file(world.path("other")).unwrap();
    world.gongfu(arguments(&world, &["--fix"])).ends(0);
    assert_eq!(fs::read(&file).unwrap(), MENDED.as_bytes());
}
