//! The home: whether it can be written, holds its links, and has records that can be read.

use gongfu_core::skill::SkillPath;
use gongfu_core::switches::Switches;
use gongfu_files::Home;
use gongfu_files::disk;
use gongfu_records::FileRecords;

use super::Check;
use crate::{table, wiring};

pub(super) fn writing(home: &Home) -> Check {
    let path = home.path().display().to_string();
    let name = ".doctor";
    let written = home.open().and_then(|root| {
        // An empty file fits on a full disk.
        root.replace(name, &[b' '; 4096], false)?;
        root.dir().remove_file(name)
    });
    match written {
        Ok(()) if home.is_open_to_others() => Check::warn(
            "home",
            format!("other users can read {path}"),
            format!("chmod 700 {path}"),
        ),
        Ok(()) => Check::ok("home", path),
        Err(error) => Check::fail(
            "home",
            format!("{path} can't be written: {}", disk::write_reason(&error)),
            match error.kind() {
                std::io::ErrorKind::StorageFull => {
                    "free some space, or set GONGFU_HOME to another folder"
                }
                _ => "make it writable, or set GONGFU_HOME to another folder",
            },
        ),
    }
}

/// Checks that a folder's handle really holds: a link out of it must not be followed.
pub(super) fn links(home: &Home) -> Check {
    match follows_out(home) {
        Ok(false) => Check::ok("symlinks", "links that escape a folder are refused"),
        Ok(true) => Check::fail(
            "symlinks",
            "a link that escapes a folder was followed",
            "don't use gongfu on this system, and report it",
        ),
        Err(error) => Check::warn(
            "symlinks",
            format!("couldn't be tested: {error}"),
            "see the check of the home above",
        ),
    }
}

/// Plants a link out of a folder and reads through it; names are new, so that nothing that others
/// left or plant at the same time is in the way.
fn follows_out(home: &Home) -> std::io::Result<bool> {
    let root = home.open()?;
    let (folder, file) = (
        disk::temporary_name("doctor"),
        disk::temporary_name("doctor"),
    );
    root.dir().create_dir(&folder)?;
    let tried = root.replace(&file, b"x", false).and_then(|()| {
        let inside = root.below(&SkillPath::new(&folder).map_err(std::io::Error::other)?)?;
        inside.dir().symlink(format!("../{file}"), "out")?;
        let link = SkillPath::new("out").map_err(std::io::Error::other)?;
        Ok(inside.read(&link, 1).is_ok())
    });
    let _ = root.dir().remove_file(&file);
    let _ = root.dir().remove_dir_all(&folder);
    tried
}

/// Checks that the record of disabled skills can be read.
pub(super) fn switches(home: &Home) -> Check {
    let records = FileRecords::new(home.clone());
    let read = Switches::read(&records);
    match wiring::runtime().and_then(|runtime| Ok(runtime.block_on(read)?)) {
        Ok(switches) => Check::ok(
            "switches",
            format!(
                "{} disabled",
                table::count(switches.disabled.len(), "skill")
            ),
        ),
        Err(error) => Check::fail(
            "switches",
            error.to_string(),
            "repair the file, or move it away: then every skill is enabled",
        ),
    }
}
