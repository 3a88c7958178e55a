//! Plugins that a marketplace lists in other places.
//!
//! Their sources are only told: a document doesn't decide which servers gongfu asks. A person who wants one adds it.

use std::path::Path;

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

/// Reads an entry of a marketplace: its source is one of GitHub, of git, or of npm.
///
/// One that gongfu can't add is left out, and so is one with characters that mean something to a shell.
pub(super) fn read(entry: &Value) -> Option<PluginElsewhere> {
    let name = entry.get("name")?.as_str()?.to_owned();
    let source = words(entry.get("source")?)?;
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "._-/:@#+^~".contains(character);
    if source.starts_with(['-', '~', '#']) || !source.chars().all(is_plain) {
        return None;
    }
    let read = Source::parse(&source, Path::new("/"), None).ok()?;
    let is_remote = match &read {
        Source::Git(git) => !git.url.starts_with("file:"),
        Source::Npm(..) => true,
        Source::Local(_) | Source::Web(_) => false,
    };
    is_remote.then_some(PluginElsewhere { name, source })
}

fn words(source: &Value) -> Option<String> {
    let member = |key| source.get(key).and_then(Value::as_str);
    if member("source")? == "npm" {
        let version = member("version").map(|version| format!("@{version}"));
        return Some(format!(
            "npm:{}{}",
            member("package")?,
            version.unwrap_or_default()
        ));
    }
    let mut place = member("repo").or(member("url"))?.to_owned();
    if let Some(path) = member("path") {
        let path = path.strip_prefix("./").unwrap_or(path).trim_matches('/');
        let repository = place.strip_prefix("https://github.com/").unwrap_or(&place);
        let repository = repository.strip_suffix(".git").unwrap_or(repository);
        // Only a repository of GitHub has a short form with a folder; of others, all of it is searched.
        let is_short = !repository.contains(':') && repository.split('/').count() == 2;
        if is_short && !path.is_empty() {
            place = format!("{repository}/{path}");
        }
    }
    let version = member("sha").or(member("ref"));
    let version = version.map(|version| format!("#{version}"));
    Some(place + &version.unwrap_or_default())
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
            json!({ "source": "github" }),
            json!("./plugins/a"),
        ];
        for form in forms {
            assert_eq!(source(form.clone()), None, "{form}");
        }
    }
}
