//! The settings file on disk: read once, and replaced as a whole.
//!
//! A link is followed and stays: many people keep their configuration in a repository.

use std::path::Path;

use gongfu_files::Home;

use super::Config;
use super::check::{self, Mistake};
use super::edit;
use super::invalid;
use super::key::Setting;
use crate::client::Snapshot;
use crate::failure::Failure;
use crate::home;
use crate::terminal::plain;

/// The attempts while other programs write the file.
const ATTEMPTS: usize = 8;

/// Reads the file, which may be missing.
///
/// # Errors
/// It is there and can't be read.
pub(crate) fn read(path: &Path) -> Result<Snapshot, Failure> {
    Snapshot::read(path).map_err(|problem| {
        let path = plain(&path.to_string_lossy());
        let message = format!("{path} can't be used: {}", problem.message);
        let hint = "fix the file, or move it away: then the defaults apply";
        Failure::new("CONFIG_UNREADABLE", message, hint)
    })
}

/// Writes a setting, or removes it; answers whether that changed the file, and the mistakes that are left in it.
///
/// `value` makes the value from the text of the file as it is now, again when another program writes it meanwhile.
///
/// # Errors
/// The file can't be read or written, isn't TOML, or the value is wrong: then nothing is written.
pub(crate) fn write(
    home: &Home,
    setting: &Setting,
    value: impl Fn(&str) -> Result<Option<toml_edit::Value>, Failure>,
) -> Result<(bool, Vec<Mistake>), Failure> {
    let path = home.config();
    home::open(home)?;
    for attempt in 1.. {
        let before = read(&path)?;
        let text = before.text.as_deref().unwrap_or_default();
        let value = value(text)?;
        let edited = edit::edited(text, &setting.key, value.as_ref());
        let edited = edited.map_err(|mistake| invalid(&path, text, &[mistake]))?;
        let mistakes = check::mistakes(&edited);
        let of_key = mistakes
            .iter()
            .find(|one| one.key.as_deref() == Some(&setting.key));
        if let (Some(mistake), Some(_)) = (of_key, value) {
            let hint = setting.hint();
            return Err(Failure::new("CONFIG_VALUE", &mistake.message, hint));
        }
        if edited == text {
            return Ok((false, mistakes));
        }
        // It may hold the password of an index.
        let is_new = before.text.is_none();
        match before.write(&edited, is_new) {
            Ok(()) => return Ok((true, mistakes)),
            Err(problem) if problem.code == "FILE_CHANGED" && attempt < ATTEMPTS => {}
            Err(problem) => {
                let path = plain(&path.to_string_lossy());
                let message = format!("{path} is unchanged: {}", problem.message);
                return Err(Failure::new("CONFIG_UNWRITABLE", message, problem.hint));
            }
        }
    }
    Ok((false, Vec::new()))
}

/// The settings of a home as they are written in its file.
///
/// # Errors
/// The file can't be read, or has mistakes.
pub(super) fn written(home: &Home) -> anyhow::Result<(Config, toml::Table)> {
    let config = Config::read(home)?;
    let text = read(&home.config())?.text.unwrap_or_default();
    Ok((config, toml::from_str(&text).unwrap_or_default()))
}
