//! Where packages come from: the index that the operator configured, in gongfu's settings or in those of
//! the installers, and the hosts that it keeps its files at.
//!
//! Where none is configured it is the installer's own. Which one that is, it says itself, by what it asks for
//! before anybody named a host to it; and which hosts an index keeps files at, only the index knows. Both are
//! learned from what a build asked for and was refused, and kept.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::dependency::{Failure, Kind, Language};
use gongfu_core::network::{Destination, Rule, Rules};
use gongfu_core::sandbox::{Contact, Reach};
use gongfu_core::skill::SkillPath;
use serde::{Deserialize, Serialize};

use crate::disk::Root;
use crate::record::Record;

/// Where what was learned is kept, below the home.
const FILE: &str = "indexes.json";
pub(super) const LOCK: &str = "indexes.lock";
/// The longest file of settings of an installer, in bytes.
const LONGEST: u64 = 1024 * 1024;
/// At how many hosts an index may keep files.
const HOSTS: usize = 8;

/// Where the operator's settings say that packages come from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The index of Python's packages; without one the installer's own.
    pub index: Option<String>,
    /// Indexes that are asked besides.
    pub extra: Vec<String>,
    /// The registry of Node.js's packages; without one the installer's own.
    pub registry: Option<String>,
    /// Hosts that these keep files at, besides those that they name.
    pub hosts: Vec<Rule>,
    /// The certificates that are believed; without any the system's.
    pub certificates: Option<PathBuf>,
}

/// Files in which installers are told where packages come from, the most important first.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// Those of `uv`.
    pub uv: Vec<PathBuf>,
    /// Those of `pip`.
    pub pip: Vec<PathBuf>,
    /// Those of `npm`.
    pub npm: Vec<PathBuf>,
}

impl Sources {
    /// The same, where what isn't said yet is taken from the files of the installers.
    ///
    /// # Errors
    /// A file is there and can't be read.
    pub fn or_of(mut self, files: &Files) -> io::Result<Self> {
        let mut extra = Vec::new();
        for file in &files.uv {
            if self.index.is_none()
                && let Some(text) = text(file)?
            {
                (self.index, extra) = of_uv(&text).ok_or_else(|| {
                    let why = format!(
                        "{} is no TOML; mend it, or set `index` below `[dependencies]`",
                        file.display()
                    );
                    io::Error::new(io::ErrorKind::InvalidData, why)
                })?;
            }
        }
        for file in &files.pip {
            if self.index.is_none()
                && let Some(text) = text(file)?
            {
                self.index = of_ini(&text, "index-url");
            }
        }
        for file in &files.npm {
            if self.registry.is_none()
                && let Some(text) = text(file)?
            {
                self.registry = of_ini(&text, "registry");
            }
        }
        if self.extra.is_empty() {
            self.extra = extra;
        }
        Ok(self)
    }
}

fn text(file: &Path) -> io::Result<Option<String>> {
    let (Some(folder), Some(name)) = (
        file.parent(),
        file.file_name().and_then(|name| name.to_str()),
    ) else {
        return Ok(None);
    };
    let read = Root::open(folder).and_then(|root| {
        let path = SkillPath::new(name).map_err(io::Error::other)?;
        root.read(&path, LONGEST)
    });
    match read {
        Ok(content) => Ok(Some(String::from_utf8_lossy(&content.bytes).into_owned())),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(io::Error::new(
            error.kind(),
            format!("{} can't be read: {error}", file.display()),
        )),
    }
}

/// What a `uv.toml` says: the index, and others beside it; `None` where it is damaged.
fn of_uv(text: &str) -> Option<(Option<String>, Vec<String>)> {
    let table: toml::Table = text.parse().ok()?;
    let said = |table: &toml::Table, name: &str| Some(table.get(name)?.as_str()?.to_owned());
    let mut index = None;
    let mut extra = Vec::new();
    let named = table.get("index").and_then(toml::Value::as_array);
    for one in named
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table)
    {
        let Some(url) = said(one, "url") else {
            continue;
        };
        if one.get("default").and_then(toml::Value::as_bool) == Some(true) {
            index = Some(url);
        } else {
            extra.push(url);
        }
    }
    let others = table.get("extra-index-url").and_then(toml::Value::as_array);
    let others = others.into_iter().flatten().filter_map(toml::Value::as_str);
    extra.extend(others.map(str::to_owned));
    Some((index.or_else(|| said(&table, "index-url")), extra))
}

/// What a file of `name = value` says, as `pip.conf` and `.npmrc` are.
fn of_ini(text: &str, wanted: &str) -> Option<String> {
    let mut values = text.lines().filter_map(|line| {
        let line = line.trim();
        let (name, value) = line.split_once('=')?;
        let is_it = name.trim().replace('_', "-").eq_ignore_ascii_case(wanted);
        let value = value.trim().trim_matches(['"', '\'']);
        let is_plain = !value.is_empty() && !value.contains("${") && !line.starts_with(['#', ';']);
        (is_it && is_plain).then(|| value.to_owned())
    });
    values.next_back()
}

/// What was learned of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Learned {
    /// The index itself, where nobody configured one.
    index: Option<Rule>,
    /// Where it keeps files.
    files: Vec<Rule>,
    /// Whether it was asked.
    asked: bool,
}

/// All that was learned, by language and what is configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Known {
    indexes: BTreeMap<String, Learned>,
}

/// Where the packages of a language come from.
#[derive(Debug, Clone)]
pub(super) struct Index {
    /// What an installer is told; nothing where it is its own.
    pub(super) url: Option<String>,
    /// What it is told of others.
    pub(super) extra: Vec<String>,
    /// The certificates that are believed.
    pub(super) certificates: Option<PathBuf>,
    /// What it is known by.
    name: String,
    /// What the operator said may be reached.
    configured: Vec<Rule>,
    learned: Learned,
}

impl Index {
    /// The index of a language, with what was learned of it before.
    pub(super) fn of(
        language: Language,
        sources: &Sources,
        record: &Record,
    ) -> Result<Self, Failure> {
        let (url, extra) = match language {
            Language::Python => (sources.index.clone(), sources.extra.clone()),
            Language::Node => (sources.registry.clone(), Vec::new()),
        };
        let mut configured = Vec::new();
        for url in url.iter().chain(&extra) {
            configured.push(Rule::exactly(&destination(url)?));
        }
        configured.extend(sources.hosts.iter().cloned());
        let shown = url
            .as_deref()
            .map_or_else(|| "the installer's own".to_owned(), shown);
        let name = format!("{} {shown}", language.as_str());
        let known: Known = record.read(FILE).map_err(|error| unusable(&error))?;
        let learned = known.indexes.get(&name).cloned().unwrap_or_default();
        Ok(Self {
            url,
            extra,
            certificates: sources.certificates.clone(),
            name,
            configured,
            learned,
        })
    }

    /// What it is, for people, without anything secret.
    pub(super) fn shown(&self) -> String {
        match (&self.url, &self.learned.index) {
            (Some(url), _) => shown(url),
            (None, Some(host)) => host.to_string(),
            (None, None) => "the installer's own".to_owned(),
        }
    }

    /// What a build may reach: the index wherever it is, and what it names where others may go as well.
    pub(super) fn reach(&self) -> Reach {
        let mut private = self.configured.clone();
        private.extend(self.learned.index.clone());
        let mut rules = private.clone();
        rules.extend(self.learned.files.iter().cloned());
        Reach {
            rules: Rules(rules),
            private: Rules(private),
            beside: Rules(self.learned.files.clone()),
            is_watched: true,
        }
    }

    /// Whether it wasn't asked yet where it is and where it keeps files.
    pub(super) fn is_new(&self) -> bool {
        !self.learned.asked
    }

    /// Writes down that it was asked.
    pub(super) fn is_asked(&mut self, record: &Record) -> Result<(), Failure> {
        self.learned.asked = true;
        self.keep(record)
    }

    fn keep(&self, record: &Record) -> Result<(), Failure> {
        let learned = self.learned.clone();
        let changed = record.change(FILE, |known: &mut Known| {
            known.indexes.insert(self.name.clone(), learned);
        });
        changed.map_err(|error| unusable(&error))
    }

    /// Takes up what was asked for and wasn't granted, by what no skill has a say in; answers what may be
    /// reached besides from now on.
    pub(super) fn learn(
        &mut self,
        contacts: &[Contact],
        record: &Record,
    ) -> Result<Option<Rule>, Failure> {
        let reach = self.reach();
        let asked = contacts.iter().filter(|contact| contact.refused.is_some());
        let asked = asked.filter_map(|contact| contact.host.parse::<Destination>().ok());
        let mut new: Vec<Rule> = Vec::new();
        for destination in asked.filter(|destination| !reach.rules.allow(destination)) {
            new.push(Rule::exactly(&destination));
        }
        let before = self.learned.clone();
        if self.url.is_none() && self.learned.index.is_none() {
            // Nobody has named any host to it yet: what it asks for by itself is its own.
            self.learned.index = new.first().cloned();
        } else {
            for rule in &new {
                if self.learned.files.len() < HOSTS && !self.learned.files.contains(rule) {
                    self.learned.files.push(rule.clone());
                }
            }
        }
        if self.learned == before {
            return Ok(None);
        }
        self.keep(record)?;
        Ok(new.into_iter().next())
    }
}

fn unusable(error: &io::Error) -> Failure {
    Failure::new(
        Kind::Other,
        format!("what is known of the package index can't be kept: {error}"),
    )
}

/// The host and port of an index.
fn destination(url: &str) -> Result<Destination, Failure> {
    let wrong = |why: &str| {
        let why = format!(
            "the index {} {why}; set `index` or `registry` below `[dependencies]` in the settings",
            shown(url)
        );
        Failure::new(Kind::IndexUnreachable, why)
    };
    let Some(rest) = url.strip_prefix("https://") else {
        return Err(wrong("isn't reached by https"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = if host.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:443")
    };
    host.parse()
        .map_err(|error| wrong(&format!("has no host that can be granted ({error})")))
}

/// A URL without who asks, and by which secret.
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use gongfu_core::dependency::Language;
    use gongfu_core::sandbox::Contact;

    use super::{Files, Index, LOCK, Sources, destination, of_ini, of_uv, shown};
    use crate::home::Home;
    use crate::record::Record;

    fn refused(host: &str) -> Contact {
        Contact {
            host: host.to_owned(),
            refused: Some("not granted".to_owned()),
        }
    }

    #[test]
    fn the_first_host_is_the_index_and_those_after_it_are_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::new(Home::at(folder.path()), LOCK);
        let sources = Sources::default();
        let mut index = Index::of(Language::Python, &sources, &record).unwrap();
        assert!(index.reach().rules.is_empty() && !index.reach().is_off());
        assert_eq!(index.learn(&[], &record).unwrap(), None);
        assert!(
            index
                .learn(
                    &[refused("index.example:443"), refused("other.example:443")],
                    &record
                )
                .unwrap()
                .is_some()
        );
        assert_eq!(index.reach().private.0.len(), 1);
        assert!(
            index
                .learn(
                    &[refused("index.example:443"), refused("files.example:443")],
                    &record
                )
                .unwrap()
                .is_some()
        );
        // What was asked for and refused for another reason isn't learned again.
        assert_eq!(
            index
                .learn(&[refused("files.example:443")], &record)
                .unwrap(),
            None
        );
        let again = Index::of(Language::Python, &sources, &record).unwrap();
        assert_eq!(again.reach(), index.reach());
        let reach = again.reach();
        assert_eq!(
            (
                reach.private.0.len(),
                reach.beside.0.len(),
                reach.rules.0.len()
            ),
            (1, 1, 2)
        );
        // Another index has to say for itself.
        let sources = Sources {
            index: Some("https://user:secret@mirror.example/simple".to_owned()),
            ..sources
        };
        let other = Index::of(Language::Python, &sources, &record).unwrap();
        assert_eq!(other.reach().rules.0.len(), 1);
        assert!(!format!("{:?}", other.shown()).contains("secret"));
        for number in 0..20 {
            let _ = index
                .learn(&[refused(&format!("f{number}.example:443"))], &record)
                .unwrap();
        }
        assert_eq!(index.reach().beside.0.len(), super::HOSTS);
    }

    #[test]
    fn settings_of_installers_are_read() {
        let uv = "[[index]]\nurl = \"https://a.example/simple\"\ndefault = true\n[[index]]\nname = \"b\"\nurl = \"https://b.example\"\n";
        let (index, extra) = of_uv(uv).unwrap();
        assert_eq!(index.as_deref(), Some("https://a.example/simple"));
        assert_eq!(extra, ["https://b.example"]);
        assert_eq!(of_uv("[["), None);
        let pip = "[global]\n# index-url = https://no.example\nindex-url = https://a.example/simple\ntimeout = 3\n";
        assert_eq!(
            of_ini(pip, "index-url").as_deref(),
            Some("https://a.example/simple")
        );
        assert_eq!(
            of_ini(
                "@a:registry=https://no.example\nregistry=https://r.example/\n",
                "registry"
            )
            .as_deref(),
            Some("https://r.example/")
        );
        assert_eq!(of_ini("registry=${HOST}\n", "registry"), None);
        let folder = tempfile::tempdir().unwrap();
        let root = crate::disk::Root::open(folder.path()).unwrap();
        root.replace("pip.conf", pip.as_bytes(), false).unwrap();
        let files = Files {
            pip: vec![
                folder.path().join("none/pip.conf"),
                folder.path().join("pip.conf"),
            ],
            ..Files::default()
        };
        let read = Sources::default().or_of(&files).unwrap();
        assert_eq!(read.index.as_deref(), Some("https://a.example/simple"));
        let said = Sources {
            index: Some("https://said.example".to_owned()),
            ..Sources::default()
        };
        assert_eq!(
            said.or_of(&files).unwrap().index.as_deref(),
            Some("https://said.example")
        );
    }

    #[test]
    fn an_index_is_a_name_reached_by_https() {
        assert_eq!(
            destination("https://a.example/simple").unwrap().to_string(),
            "a.example:443"
        );
        assert_eq!(
            destination("https://me:key@a.example:8443/")
                .unwrap()
                .to_string(),
            "a.example:8443"
        );
        for url in [
            "http://a.example",
            "a.example",
            "https://127.0.0.1/simple",
            "https://[::1]/",
            "https:///",
            "file:///x",
        ] {
            assert!(destination(url).is_err(), "{url}");
        }
        assert_eq!(
            shown("https://me:key@a.example:8443/x?token=y"),
            "https://a.example:8443/x"
        );
    }
}
