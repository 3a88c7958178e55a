//! `gongfu skill check --fix`: no byte changes that was not meant to.

use std::fs;

use gongfu_testing::json::at;
use serde_json::json;

use crate::fixture::Fixture;

const BROKEN: &str = "\u{feff}---\r\nname: Broken\r\ndescription: Mends: a lot, \"quoted\"   \r\nlicense:   MIT # mine\r\n---\r\n\r\nText  \r\n\tends\r\n\r\n";
const MENDED: &str = "---\r\nname: broken\r\ndescription: \"Mends: a lot, \\\"quoted\\\"\"   \r\nlicense:   MIT # mine\r\n---\r\n\r\nText  \r\n\tends\r\n\r\n";

fn arguments(fixture: &Fixture, more: &[&str]) -> Vec<String> {
    let mut arguments = vec![
        "skill".to_owned(),
        "check".to_owned(),
        fixture.path("skills").to_string_lossy().into_owned(),
    ];
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
    arguments
}

#[test]
fn dry_run_writes_nothing() {
    let fixture = Fixture::new();
    let file = fixture.write("skills/broken/SKILL.md", BROKEN);
    let before = fs::metadata(&file).unwrap();
    let ran = fixture
        .gongfu(arguments(&fixture, &["--fix", "--dry-run"]))
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
    assert!(diff.contains("--fix without --dry-run would fix"), "{diff}");
    let json = fixture
        .gongfu(arguments(&fixture, &["--fix", "--dry-run", "--json"]))
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
fn fix_changes_only_what_needs_no_judgement() {
    let fixture = Fixture::new();
    let file = fixture.write("skills/broken/SKILL.md", BROKEN);
    fixture.write("skills/broken/references/x.md", "a\r\nb: c: d\n");
    let good = fixture.skill("good", "Does good.");
    let untouched = fs::read(&good).unwrap();
    let ran = fixture
        .gongfu(arguments(&fixture, &["--fix", "--json"]))
        .good()
        .json();
    assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
    assert_eq!(fs::read(&good).unwrap(), untouched);
    assert_eq!(
        fixture.read("skills/broken/references/x.md"),
        "a\r\nb: c: d\n"
    );
    assert!(at(&ran, "/summary/fixed").as_u64().unwrap() >= 3, "{ran:#}");
    assert_eq!(
        fs::read_dir(file.parent().unwrap()).unwrap().count(),
        2,
        "nothing is left beside it"
    );

    let again = fixture
        .gongfu(arguments(&fixture, &["--fix", "--json"]))
        .good()
        .json();
    assert_eq!(
        at(&again, "/summary/fixed"),
        &json!(0),
        "what is fixed stays as it is"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
}

#[cfg(unix)]
#[test]
fn fix_keeps_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    for mode in [0o600, 0o640, 0o644, 0o755] {
        let file = fixture.write("skills/broken/SKILL.md", BROKEN);
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        fixture.gongfu(arguments(&fixture, &["--fix"])).good();
        assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            mode,
            "{mode:o}"
        );
    }
    let file = fixture.write("skills/broken/SKILL.md", BROKEN);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let ran = fixture.gongfu(arguments(&fixture, &["--fix"])).ends(1);
    assert!(ran.stderr.contains("was not changed"), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        BROKEN,
        "a file that must not be written is not written"
    );
}

#[cfg(unix)]
#[test]
fn fix_writes_through_no_link() {
    let fixture = Fixture::new();
    let outside = fixture.write("outside/SKILL.md", BROKEN);
    let inside = fixture.write("skills/broken/real.md", BROKEN);
    fs::create_dir(fixture.path("skills/escaping")).unwrap();
    std::os::unix::fs::symlink(
        "../../outside/SKILL.md",
        fixture.path("skills/escaping/SKILL.md"),
    )
    .unwrap();
    std::os::unix::fs::symlink("real.md", fixture.path("skills/broken/SKILL.md")).unwrap();
    fixture.gongfu(arguments(&fixture, &["--fix"])).ends(1);
    assert_eq!(fs::read_to_string(outside).unwrap(), BROKEN);
    assert_eq!(fs::read_to_string(inside).unwrap(), BROKEN);
    assert!(
        fs::symlink_metadata(fixture.path("skills/broken/SKILL.md"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn fixes_at_once_change_a_file_once() {
    for _ in 0..8 {
        let fixture = Fixture::new();
        let file = fixture.write("skills/broken/SKILL.md", BROKEN);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| fixture.gongfu(arguments(&fixture, &["--fix"])).run());
            }
        });
        assert_eq!(fs::read_to_string(&file).unwrap(), MENDED);
        let files = fs::read_dir(file.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing is left beside it");
    }
}

#[test]
fn fix_needs_a_path() {
    let fixture = Fixture::new();
    let file = fixture.write("skills/broken/SKILL.md", BROKEN);
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
        let ran = fixture.gongfu(all).within(here.clone()).ends(2);
        assert!(ran.stderr.contains("PATH"), "{}", ran.stderr);
        assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    }
}

#[test]
#[cfg(unix)]
fn fix_refuses_a_file_with_hard_links() {
    let fixture = Fixture::new();
    let file = fixture.write("skills/broken/SKILL.md", BROKEN);
    fs::hard_link(&file, fixture.path("other")).unwrap();
    let ran = fixture.gongfu(arguments(&fixture, &["--fix"])).ends(1);
    assert!(ran.stderr.contains("hard links"), "{}", ran.stderr);
    assert_eq!(fs::read(&file).unwrap(), BROKEN.as_bytes());
    fs::remove_file(fixture.path("other")).unwrap();
    fixture.gongfu(arguments(&fixture, &["--fix"])).ends(0);
    assert_eq!(fs::read(&file).unwrap(), MENDED.as_bytes());
}
