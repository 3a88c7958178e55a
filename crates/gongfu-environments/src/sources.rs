//! The operator's settings of where packages come from: gongfu's own, or those of the installers.

use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::network::Rule;
use toml::{Table, Value};

/// The indexes that packages come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The Python index; without one the default of `uv`.
    pub index: Option<String>,
    /// Further Python indexes.
    pub extra: Vec<String>,
    /// The npm registry; without one the default of `npm`.
    pub registry: Option<String>,
    /// Further hosts that a build may reach, at any address.
    pub hosts: Vec<Rule>,
    /// The CA certificates; without them the system's.
    pub certificates: Option<PathBuf>,
}

/// The settings files of the installers, the most important first.
#[derive(Debug, Clone, Default)]
pub struct InstallerFiles {
    /// Those of `uv`.
    pub uv: Vec<PathBuf>,
    /// Those of `pip`.
    pub pip: Vec<PathBuf>,
    /// Those of `npm`.
    pub npm: Vec<PathBuf>,
}

impl Sources {
    /// Completes the sources from the settings of the installers.
    ///
    /// # Errors
    /// A file exists but can't be read.
    pub fn or_from(mut self, files: &InstallerFiles) -> io::Result<Self> {
        for file in &files.uv {
            if self.index.is_none()
                && let Some(text) = read(file)?
            {
                let (index, extra) = parse_uv(&text).ok_or_else(|| {
                    let file = file.display();
                    let why =
                        format!("{file} isn't TOML; fix it, or set `index` below `[dependencies]`");
                    io::Error::new(io::ErrorKind::InvalidData, why)
                })?;
                self.index = index;
                if self.extra.is_empty() {
                    self.extra = extra;
                }
            }
        }
        let ini_files = [
            (&files.pip, "index-url", &mut self.index),
            (&files.npm, "registry", &mut self.registry),
        ];
        for (files, key, setting) in ini_files {
            for file in files {
                if setting.is_none()
                    && let Some(text) = read(file)?
                {
                    *setting = ini_value(&text, key);
                }
            }
        }
        Ok(self)
    }
}

/// The text of a file; `None` if it does not exist.
#[expect(
    clippy::disallowed_methods,
    reason = "settings of the operator, at the paths that installers read"
)]
fn read(file: &Path) -> io::Result<Option<String>> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            kind => {
                let why = format!("{} can't be read: {error}", file.display());
                Err(io::Error::new(kind, why))
            }
        },
    }
}

/// The index of a `uv.toml`, and further ones; `None` if it is damaged.
fn parse_uv(text: &str) -> Option<(Option<String>, Vec<String>)> {
    let table: Table = text.parse().ok()?;
    let url = |table: &Table, key: &str| Some(table.get(key)?.as_str()?.to_owned());
    let list = |key: &str| {
        table
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut index = None;
    let mut extra = Vec::new();
    for named in list("index").filter_map(Value::as_table) {
        if named.get("default").and_then(Value::as_bool) == Some(true) {
            index = url(named, "url");
        } else {
            extra.extend(url(named, "url"));
        }
    }
    extra.extend(list("extra-index-url").filter_map(|url| Some(url.as_str()?.to_owned())));
    Some((index.or_else(|| url(&table, "index-url")), extra))
}

/// A value in a file of `name = value` lines, such as `pip.conf` and `.npmrc`.
fn ini_value(text: &str, wanted: &str) -> Option<String> {
    let mut values = text.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once('=')?;
        let is_wanted = name.trim().replace('_', "-").eq_ignore_ascii_case(wanted);
        let value = value.trim().trim_matches(['"', '\'']);
        // A comment has another name; a value with a variable is for npm alone.
        (is_wanted && !value.is_empty() && !value.contains("${")).then(|| value.to_owned())
    });
    values.next_back()
}

#[cfg(test)]
mod tests;
