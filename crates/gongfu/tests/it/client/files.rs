//! Links, permissions, two installs at once, and several files that could be meant.

use std::fs;
#[cfg(unix)]
use std::path::Path;

use super::{install, uninstall};
use crate::fixture::Fixture;

#[cfg(unix)]
#[test]
fn unwritable_folder_or_home_is_refused() {
    let fixture = Fixture::new();
    // Not even root can make a folder there.
    let ran = fixture
        .gongfu(["client", "install", "codex"])
        .with("CODEX_HOME", "/proc/gongfu-codex")
        .ends(1);
    assert!(
        ran.stderr.contains("error[FILE_UNWRITABLE]")
            && ran.stderr.contains("/proc/gongfu-codex/config.toml"),
        "{}",
        ran.stderr
    );
    // A home that can't be written: without a backup nothing is changed.
    fixture.write("user/.cursor/mcp.json", "{}");
    let ran = fixture
        .gongfu(["client", "install", "cursor"])
        .with("GONGFU_HOME", "/proc/gongfu-home")
        .ends(1);
    assert!(ran.stderr.contains("error[NO_BACKUP]"), "{}", ran.stderr);
    assert_eq!(fixture.read("user/.cursor/mcp.json"), "{}");
}

#[cfg(unix)]
#[test]
fn install_keeps_links_and_permissions_and_its_backups_are_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let real = fixture.write("dotfiles/zed.json", "{\n  \"a\": 1\n}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(fixture.path("user/.config/zed")).unwrap();
    let link = fixture.path("user/.config/zed/settings.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let said = install(&fixture, "zed", &[]).text();
    assert!(said.contains("symlink to"), "{said}");
    let is_link = |path: &Path| fs::symlink_metadata(path).unwrap().is_symlink();
    assert!(is_link(&link) && fixture.read("dotfiles/zed.json").contains("gongfu"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&real), mode(&fixture.path("home/clients"))),
        (0o600, 0o700)
    );
    uninstall(&fixture, "zed", &[]);
    assert!(is_link(&link));
    assert_eq!(fixture.read("dotfiles/zed.json"), "{\n  \"a\": 1\n}\n");
    assert_eq!(mode(&real), 0o600);
}

#[cfg(unix)]
#[test]
fn uninstall_deletes_a_created_file_behind_a_linked_folder() {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("dotfiles")).unwrap();
    fs::create_dir_all(fixture.path("user")).unwrap();
    std::os::unix::fs::symlink(fixture.path("dotfiles"), fixture.path("user/.cursor")).unwrap();
    install(&fixture, "cursor", &[]);
    assert!(fixture.path("dotfiles/mcp.json").exists());
    uninstall(&fixture, "cursor", &[]);
    assert!(!fixture.path("dotfiles/mcp.json").exists());
}

#[test]
fn two_installs_at_once_can_be_undone() {
    for round in 0..8 {
        let fixture = Fixture::new();
        let file = "user/.codex/config.toml";
        let before = "a = 1\n";
        fixture.write(file, before);
        let codes = std::thread::scope(|scope| {
            let runs = [&[][..], &["--http"]].map(|more| {
                let install = fixture.gongfu([&["client", "install", "codex"], more].concat());
                scope.spawn(move || install.run().code)
            });
            runs.map(|run| run.join().unwrap())
        });
        // One of them may be told to try again.
        assert!(codes.contains(&Some(0)), "{codes:?}");
        assert_ne!(fixture.read(file), before);
        uninstall(&fixture, "codex", &[]);
        assert_eq!(fixture.read(file), before, "round {round}");
    }
}

#[test]
fn newer_file_does_not_hide_the_one_with_the_entry() {
    let fixture = Fixture::new();
    fixture.write("user/.config/opencode/opencode.jsonc", "{}");
    install(&fixture, "opencode", &[]);
    fixture.write("user/.config/opencode/opencode.json", "{}");
    let said = fixture
        .gongfu(["client", "status", "opencode"])
        .good()
        .text();
    assert!(said.contains("stdio"), "{said}");
    uninstall(&fixture, "opencode", &[]);
    assert_eq!(fixture.read("user/.config/opencode/opencode.jsonc"), "{}");
    let said = fixture
        .gongfu(["client", "status", "opencode"])
        .ends(1)
        .text();
    assert!(said.contains("not configured"), "{said}");
}
