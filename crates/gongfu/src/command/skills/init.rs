//! `gongfu skills init`: a SKILL.md to fill in, in a new folder or in the current one.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use gongfu_core::skill::{SKILL_FILE, SkillPath, draft, placeholder};
use gongfu_files::disk::{self, Root};
use serde_json::json;

use crate::command::Outcome;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};

pub(super) fn run(
    name: Option<&str>,
    json: bool,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let current = environment.directory.as_deref();
    let current = current.context("there is no current folder")?;
    if let Some(name) = name.filter(|name| SkillPath::new(name).is_err()) {
        let message = format!("{} can't be a folder here", plain(name));
        let hint = "pass a name, or a path below the current folder";
        return Err(Failure::usage("INVALID_VALUE", message, hint).into());
    }
    let folder = current.join(name.unwrap_or_default());
    let own = current.file_name().map(|own| own.to_string_lossy());
    let called = name.map_or_else(|| own.unwrap_or_default().into_owned(), str::to_owned);
    let file = folder.join(SKILL_FILE);
    let shown = plain(&file.to_string_lossy());
    let is_new = match write(&folder, &called) {
        Ok(()) => true,
        // A second run changes nothing, and is no failure.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => {
            let message = format!("{shown} can't be written: {}", disk::write_reason(&error));
            let hint = "check the permissions of the folder";
            return Err(Failure::new("FOLDER_UNWRITABLE", message, hint).into());
        }
    };
    if json {
        terminal
            .json(&json!({ "name": called, "path": file.to_string_lossy(), "created": is_new }))?;
        return Ok(Outcome::Good);
    }
    terminal.line(&shown)?;
    terminal.note(&if is_new {
        format!("next: fill it in, then run gongfu skill check {shown}")
    } else {
        "it is there already, and was left as it is".to_owned()
    });
    Ok(Outcome::Good)
}

fn write(folder: &Path, name: &str) -> std::io::Result<()> {
    let root = Root::create(folder)?;
    let file: PathBuf = SKILL_FILE.into();
    let text = draft::document(name, placeholder::DESCRIPTION, "");
    root.create_exact(&file, 0o644)?.write_all(text.as_bytes())
}
