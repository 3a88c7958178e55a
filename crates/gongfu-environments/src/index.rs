//! The index of a build, and the hosts that the build may reach.
//!
//! These are the index itself, the hosts that the operator allows, and the hosts at which the index says that
//! its files are.

use gongfu_core::dependency::{Failure, FailureKind, Language};
use gongfu_core::network::{Destination, Rule, Rules};
use gongfu_core::sandbox::Reach;

use crate::sources::Sources;

/// The limit of hosts that an index may name for its files.
const MAX_FILE_HOSTS: usize = 8;

/// The index that packages of a language come from.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    /// Its URL, perhaps with a secret; `None` until the installer has named its default.
    pub(crate) url: Option<String>,
    extra: Vec<String>,
    /// The hosts of the indexes and those that the operator allows, at any address.
    hosts: Vec<Rule>,
    /// The hosts of the files, at public addresses or those of the indexes.
    file_hosts: Vec<Rule>,
}

impl Index {
    /// The index that the operator configured for a language.
    ///
    /// # Errors
    /// A URL isn't of https, or has no host that can be granted.
    pub(crate) fn configured(language: Language, sources: &Sources) -> Result<Self, Failure> {
        let (url, extra) = match language {
            Language::Python => (sources.index.clone(), sources.extra.clone()),
            Language::Node => (sources.registry.clone(), Vec::new()),
        };
        let mut hosts = Vec::new();
        for url in url.iter().chain(&extra) {
            hosts.push(Rule::exactly(&destination(url)?));
        }
        hosts.extend(sources.hosts.iter().cloned());
        Ok(Self {
            url,
            extra,
            hosts,
            file_hosts: Vec::new(),
        })
    }

    /// Takes the first URL that an installer printed for its default.
    ///
    /// # Errors
    /// It printed none.
    pub(crate) fn set_default(&mut self, printed: &str) -> Result<(), Failure> {
        let url = urls(printed).next().ok_or_else(|| {
            let why = "the installer doesn't say which index it uses; set `index` and `registry` below `[dependencies]` in the settings";
            Failure::new(FailureKind::IndexUnreachable, why)
        })?;
        self.hosts.push(Rule::exactly(&destination(url)?));
        self.url = Some(url.to_owned());
        Ok(())
    }

    /// Adds the hosts of the file URLs that the index answered.
    pub(crate) fn add_file_hosts(&mut self, printed: &str) {
        let hosts = urls(printed).filter_map(|url| destination(url).ok());
        for rule in hosts.map(|host| Rule::exactly(&host)) {
            if self.file_hosts.len() < MAX_FILE_HOSTS
                && !self.hosts.contains(&rule)
                && !self.file_hosts.contains(&rule)
            {
                self.file_hosts.push(rule);
            }
        }
    }

    /// The hosts that a build may reach.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            rules: Rules([&*self.hosts, &*self.file_hosts].concat()),
            private: Rules(self.hosts.clone()),
            beside: Rules(self.file_hosts.clone()),
        }
    }

    /// The URLs of further indexes in the form of an installer; `None` if there are none.
    pub(crate) fn extra(&self) -> Option<String> {
        (!self.extra.is_empty()).then(|| self.extra.join(" "))
    }

    /// The URL without secrets, for people.
    pub(crate) fn shown(&self) -> String {
        let own = || "the installer's own".to_owned();
        self.url.as_deref().map_or_else(own, without_secrets)
    }
}

/// The URLs of https in a text.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("https://").map(|(at, _)| at);
    starts.filter_map(|at| {
        let is_end = |c: char| c.is_whitespace() || "\"'<>()[]{},".contains(c);
        text.get(at..)?.split(is_end).next()
    })
}

/// The host and port of an index.
fn destination(url: &str) -> Result<Destination, Failure> {
    let wrong = |why: &str| {
        let why = format!(
            "the index {} {why}; set `index` or `registry` below `[dependencies]` in the settings",
            without_secrets(url)
        );
        Failure::new(FailureKind::IndexUnreachable, why)
    };
    let Some(rest) = url.strip_prefix("https://") else {
        return Err(wrong("isn't reached by https"));
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let mut host = authority.rsplit('@').next().unwrap_or_default().to_owned();
    if !host.contains(':') {
        host.push_str(":443");
    }
    host.parse()
        .map_err(|error| wrong(&format!("has no host that can be granted ({error})")))
}

/// A URL without user, password, query and fragment.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{rest}")
}

#[cfg(test)]
mod tests;
