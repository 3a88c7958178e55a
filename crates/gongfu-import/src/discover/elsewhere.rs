//! Plugins that a marketplace lists in other places.
//!
//! Their sources are only told: a document doesn't decide which servers gongfu asks. A person who wants one adds it.

use std::path::Path;

use gongfu_core::skill::SkillPath;
use serde::Serialize;
use serde_json::Value;

use crate::source::Source;

/// A plugin of a marketplace that is in another place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginElsewhere {
    /// Its name.
    pub name: String,
    /// Its source, as a person types it.
    pub source: String,
}

/// The longest name of a plugin, in bytes.
const MAX_NAME: usize = 100;

/// Reads an entry of a marketplace: its source is one of GitHub, of git, or of npm.
///
/// One that gongfu can't add is left out, and so is one that a person would type as something else: characters that mean
/// something to a shell, a registry of its own, a server of this machine.
pub(super) fn read(entry: &Value) -> Option<PluginElsewhere> {
    let name = entry.get("name")?.as_str()?.to_owned();
    let place = SourceEntry::of(entry.get("source")?)?;
    let source = place.words();
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "._-/:@#+^~".contains(character);
    let is_typed = !source.starts_with(['-', '~', '#']) && source.chars().all(is_plain);
    let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain);
    let read = Source::parse(&source, Path::new("/"), None).ok()?;
    (is_typed && is_name && place.is_meant_by(&read)).then_some(PluginElsewhere { name, source })
}

/// The source that an entry names.
#[derive(Debug)]
struct SourceEntry {
    /// The package, or the repository.
    place: String,
    is_package: bool,
    /// The folder of a repository of GitHub. Other repositories have no short form with one: all of it is searched.
    folder: Option<String>,
    version: Option<String>,
}

impl SourceEntry {
    fn of(source: &Value) -> Option<Self> {
        // An empty member is like none; one of another type is an error.
        let member = |key| match source.get(key) {
            None => Some(None),
            Some(Value::String(text)) => Some(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => None,
        };
        let kind = member("source")??;
        if kind == "npm" {
            return Some(Self {
                // The same name may be another package in another registry.
                place: member("package")?.filter(|_| source.get("registry").is_none())?,
                is_package: true,
                folder: None,
                version: member("version")?,
            });
        }
        let key = match kind.as_str() {
            "github" => "repo",
            "url" | "git-subdir" => "url",
            _ => return None,
        };
        let mut place = member(key)??;
        let mut folder = None;
        if let Some(path) = member("path")? {
            let path = path.strip_prefix("./").unwrap_or(&path);
            let short = place.strip_prefix("https://github.com/").unwrap_or(&place);
            let short = short.trim_end_matches('/');
            let short = short.strip_suffix(".git").unwrap_or(short);
            let is_short = !short.contains(':') && short.split('/').count() == 2;
            folder = Some(path.trim_matches('/').to_owned()).filter(|path| !path.is_empty());
            folder = folder.filter(|_| is_short);
            if folder.is_some() {
                place = String::from(short);
            }
        }
        Some(Self {
            place,
            is_package: false,
            folder,
            version: member("sha")?.or(member("ref")?),
        })
    }

    /// The source as a person types it.
    fn words(&self) -> String {
        let (before, mark) = if self.is_package {
            ("npm:", '@')
        } else {
            ("", '#')
        };
        let mut words = format!("{before}{}", self.place);
        if let Some(folder) = &self.folder {
            words = format!("{words}/{folder}");
        }
        if let Some(version) = &self.version {
            words = format!("{words}{mark}{version}");
        }
        words
    }

    /// Returns true if those words mean this source.
    fn is_meant_by(&self, source: &Source) -> bool {
        match source {
            Source::Git(git) => {
                let folder = git.folder.as_ref().map(SkillPath::as_str);
                let is_remote = !git.url.starts_with("file:") && !git.url.starts_with("http:");
                !self.is_package
                    && is_remote
                    && git.skill.is_none()
                    && folder == self.folder.as_deref()
                    && git.reference == self.version
            }
            Source::Npm(name, version) => {
                self.is_package && *name == self.place && *version == self.version
            }
            Source::Local(_) | Source::Web(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn source(source: Value) -> Option<String> {
        let read = super::read(&json!({ "name": "tools", "source": source }));
        read.map(|plugin| plugin.source)
    }

    #[test]
    fn each_form_is_written_as_a_person_types_it() {
        let forms = [
            (json!({ "source": "github", "repo": "o/r" }), "o/r"),
            (
                json!({ "source": "github", "repo": "o/r", "ref": "v1", "sha": "abc123" }),
                "o/r#abc123",
            ),
            (
                json!({ "source": "url", "url": "https://gitlab.com/g/r.git", "ref": "v2" }),
                "https://gitlab.com/g/r.git#v2",
            ),
            (
                json!({ "source": "git-subdir", "url": "https://github.com/o/r.git", "path": "./plugins/a/" }),
                "o/r/plugins/a",
            ),
            (
                json!({ "source": "git-subdir", "url": "https://github.com/o/r/", "path": "a", "sha": "", "ref": "v1" }),
                "o/r/a#v1",
            ),
            (
                json!({ "source": "git-subdir", "url": "git@example.com:o/r.git", "path": "plugins/a" }),
                "git@example.com:o/r.git",
            ),
            (
                json!({ "source": "npm", "package": "@a/b", "version": "^1.2" }),
                "npm:@a/b@^1.2",
            ),
        ];
        for (form, expected) in forms {
            assert_eq!(source(form).as_deref(), Some(expected));
        }
    }

    #[test]
    fn nothing_that_acts_in_a_shell_or_on_this_machine_is_told() {
        let forms = [
            json!({ "source": "github", "repo": "o/r", "ref": "$(touch x)" }),
            json!({ "source": "git-subdir", "url": "o/r", "path": "a;b" }),
            json!({ "source": "url", "url": "/etc" }),
            json!({ "source": "url", "url": "file:///srv/r" }),
            json!({ "source": "url", "url": "ext::sh" }),
            json!({ "source": "url", "url": "--upload-pack=x" }),
            json!({ "source": "url", "url": "https://me:secret@example.com/r.git" }),
            json!({ "source": "npm", "package": "x y" }),
            json!({ "source": "npm", "package": "x", "version": 1 }),
            json!({ "source": "npm", "package": "x", "registry": "https://npm.example.com" }),
            json!({ "source": "github", "repo": "o/r", "ref": "v1@beta" }),
            json!({ "source": "git-subdir", "url": "o/r", "path": "a#b" }),
            json!({ "source": "git-subdir", "url": "o/r", "path": "a@b" }),
            json!({ "source": "github", "repo": "o/r@x" }),
            json!({ "source": "pip", "repo": "o/r" }),
            json!({ "source": "url", "url": "http://127.0.0.1:8080/r.git" }),
            json!({ "source": "github" }),
            json!("./plugins/a"),
        ];
        for form in forms {
            assert_eq!(source(form.clone()), None, "{form}");
        }
        for name in ["", "a\nplugin b is in another place", &"a".repeat(101)] {
            let entry = json!({ "name": name, "source": { "source": "github", "repo": "o/r" } });
            assert_eq!(super::read(&entry), None, "{name}");
        }
    }
}
