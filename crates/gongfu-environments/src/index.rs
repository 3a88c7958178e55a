//! The index of a build, and the hosts that the build may reach.
//!
//! These are the index itself, the hosts that the operator allows, and the hosts at which the index says that
//! its files are.

mod secrets;

use std::collections::BTreeMap;
use std::fmt;

use gongfu_core::dependency::{Failure, FailureKind, Language};
use gongfu_core::network::{Endpoint, Rule, Rules};
use gongfu_core::sandbox::{BuildReach, Reach};

use crate::recipe::Recipe;
use crate::sources::{NpmLogin, Sources};
use crate::url::{self, endpoint, urls, without_login, without_secrets};
use secrets::Secrets;

/// The limit of hosts that an index may name for its files.
const MAX_FILE_HOSTS: usize = 8;
/// Gives `npm` the operator's logins, in a file that is gone with the step.
const WRITE_NPM_LOGINS: &str = "printf '%s' \"$NPM_LOGINS\" > /tmp/npmrc || exit 1
unset NPM_LOGINS
";

/// The index that packages of a language come from.
#[derive(Clone)]
pub(crate) struct Index {
    language: Language,
    /// Its URL, perhaps with a secret; `None` until the installer has named its default.
    pub(crate) url: Option<String>,
    extra: Vec<String>,
    /// The hosts of the indexes and those that the operator allows, at any address.
    hosts: Vec<Rule>,
    /// The hosts that the operator allows.
    operator_hosts: Vec<Rule>,
    /// The hosts of the files, at public addresses or those of the indexes.
    file_hosts: Vec<Rule>,
    /// The addresses and plain hosts of the indexes, and the operator's proxies.
    build: BuildReach,
    npm_logins: Vec<NpmLogin>,
}

impl Index {
    /// The index that the operator configured for a language.
    ///
    /// # Errors
    /// A URL isn't of https or http, or has no host.
    pub(crate) fn configured(language: Language, sources: &Sources) -> Result<Self, Failure> {
        let (url, extra, proxies) = match language {
            Language::Python => (
                &sources.index,
                sources.extra.clone(),
                &sources.python_proxies,
            ),
            Language::Node => (&sources.registry, Vec::new(), &sources.node_proxies),
        };
        let mut index = Self {
            language,
            url: url.clone(),
            extra,
            hosts: Vec::new(),
            operator_hosts: sources.hosts.clone(),
            file_hosts: Vec::new(),
            build: BuildReach {
                proxies: proxies.clone(),
                ..BuildReach::default()
            },
            npm_logins: sources.npm_logins.clone(),
        };
        for url in url.iter().chain(&index.extra.clone()) {
            let (endpoint, is_plain) = endpoint(url).map_err(|why| wrong(url, &why))?;
            index.open(endpoint, is_plain);
        }
        index.hosts.extend(sources.hosts.iter().cloned());
        Ok(index)
    }

    /// Lets the build reach a host of the operator.
    fn open(&mut self, endpoint: Endpoint, is_plain: bool) {
        match &endpoint {
            Endpoint::Name(destination) => self.hosts.push(Rule::exactly(destination)),
            Endpoint::Address(address) => self.build.addresses.push(*address),
        }
        if is_plain {
            self.build.plain.push(endpoint);
        }
    }

    /// Takes the first URL that an installer printed for its default.
    ///
    /// # Errors
    /// It printed none.
    pub(crate) fn set_default(&mut self, printed: &str) -> Result<(), Failure> {
        let mut urls = urls(printed).filter(|url| url.starts_with("https://"));
        let url = urls.next().ok_or_else(|| {
            let why = "the installer doesn't say which index it uses; set `index` and `registry` below `[dependencies]` in the settings";
            Failure::new(FailureKind::IndexUnreachable, why)
        })?;
        let (endpoint, is_plain) = endpoint(url).map_err(|why| wrong(url, &why))?;
        self.open(endpoint, is_plain);
        self.url = Some(url.to_owned());
        Ok(())
    }

    /// Adds the hosts of the file URLs that the index answered.
    pub(crate) fn add_file_hosts(&mut self, printed: &str) {
        for (endpoint, is_plain) in urls(printed).filter_map(|url| endpoint(url).ok()) {
            if is_plain {
                self.add_plain_file_host(endpoint);
                continue;
            }
            // No index can name an address.
            let Endpoint::Name(destination) = endpoint else {
                continue;
            };
            let rule = Rule::exactly(&destination);
            if self.file_hosts.len() < MAX_FILE_HOSTS
                && !self.hosts.contains(&rule)
                && !self.file_hosts.contains(&rule)
            {
                self.file_hosts.push(rule);
            }
        }
    }

    /// Adds a host of files by plain HTTP, if an index is plain as well, and it has the host of that one or the
    /// operator allows it.
    fn add_plain_file_host(&mut self, endpoint: Endpoint) {
        let urls = self.url.iter().chain(&self.extra);
        let indexes = urls.filter_map(|url| url::endpoint(url).ok());
        let plain: Vec<Endpoint> = indexes
            .filter_map(|(index, is_plain)| is_plain.then_some(index))
            .collect();
        let is_allowed = match &endpoint {
            Endpoint::Name(host) => self.operator_hosts.iter().any(|rule| rule.allows(host)),
            Endpoint::Address(_) => false,
        };
        let is_of_index = plain.iter().any(|index| index.host() == endpoint.host());
        let known = &self.build.plain;
        if !plain.is_empty()
            && (is_allowed || is_of_index)
            && !known.contains(&endpoint)
            && known.len() < plain.len() + MAX_FILE_HOSTS
        {
            self.open(endpoint, true);
        }
    }

    /// The hosts that a build may reach.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            rules: Rules([&*self.hosts, &*self.file_hosts].concat()),
            private: Rules(self.hosts.clone()),
            beside: Rules(self.file_hosts.clone()),
            build: Some(self.build.clone()),
            grantee: None,
        }
    }

    /// The variables that only steps see which reach the index: they may hold secrets.
    pub(crate) fn variables(&self, recipe: &Recipe) -> BTreeMap<String, String> {
        let mut variables = BTreeMap::new();
        let mut set = |name: &str, value: String| variables.insert(name.to_owned(), value);
        if let Some(url) = &self.url {
            // `npm` takes no login from a URL.
            let url = match self.language {
                Language::Python => url.clone(),
                Language::Node => without_login(url),
            };
            set(recipe.index_variable, url);
        }
        if let Some(name) = recipe.extra_indexes_variable
            && !self.extra.is_empty()
        {
            set(name, self.extra.join(" "));
        }
        match self.language {
            // `uv` doesn't read it.
            Language::Python if !self.build.plain.is_empty() => {
                let plain: Vec<String> = self.build.plain.iter().map(ToString::to_string).collect();
                set("PIP_TRUSTED_HOST", plain.join(" "));
            }
            Language::Node => {
                set("NPM_LOGINS", self.npm_config());
                set("npm_config_userconfig", "/tmp/npmrc".to_owned());
            }
            Language::Python => {}
        }
        variables
    }

    /// The lines with which the script of a step begins that reaches the index.
    pub(crate) fn script_start(&self) -> &'static str {
        match self.language {
            Language::Python => "",
            Language::Node => WRITE_NPM_LOGINS,
        }
    }

    /// The user's settings of `npm`: the logins for the registry and the hosts that the operator allows.
    fn npm_config(&self) -> String {
        let logins = self.url_login().into_iter().chain(self.logins().cloned());
        let lines = logins.map(|login| {
            let value = serde_json::Value::from(login.value.expose());
            format!("{}={value}\n", login.key)
        });
        lines.collect()
    }

    /// The operator's logins of `npm` that are for this registry or an allowed host.
    fn logins(&self) -> impl Iterator<Item = &NpmLogin> {
        let registry = self.url.as_deref().and_then(|url| endpoint(url).ok());
        let (registry, is_plain) =
            registry.map_or((None, false), |(host, is_plain)| (Some(host), is_plain));
        self.npm_logins.iter().filter(move |login| {
            let scheme = if is_plain { "http:" } else { "https:" };
            let Ok((host, _)) = endpoint(&format!("{scheme}{}", login.key)) else {
                return false;
            };
            let is_allowed = match &host {
                Endpoint::Name(host) => self.operator_hosts.iter().any(|rule| rule.allows(host)),
                Endpoint::Address(_) => false,
            };
            is_allowed || registry.as_ref() == Some(&host)
        })
    }

    /// The login in the URL of a registry.
    fn url_login(&self) -> Option<NpmLogin> {
        let url = self.url.as_deref()?;
        let (user, password) = url::login(url)?;
        let plain = without_login(url);
        let (_, place) = plain.split_once(':')?;
        let place = place.split(['?', '#']).next()?.trim_end_matches('/');
        let login = [
            url::decoded(user),
            url::decoded(password.unwrap_or_default()),
        ]
        .join(":");
        Some(NpmLogin::basic(place, &login))
    }

    /// Everything that an installer could print and nobody may read.
    pub(crate) fn secrets(&self) -> Secrets {
        let urls = self.url.iter().chain(&self.extra);
        let urls = urls.flat_map(|url| url::secrets(url));
        let login = self.url_login();
        let logins = login.iter().chain(&self.npm_logins);
        let logins = logins.flat_map(NpmLogin::secrets);
        Secrets::new(urls.chain(logins))
    }

    /// The URL without secrets, for people.
    pub(crate) fn shown(&self) -> String {
        let own = || "the installer's own".to_owned();
        self.url.as_deref().map_or_else(own, without_secrets)
    }

    /// The URLs of plain HTTP, for people.
    pub(crate) fn plain_shown(&self) -> Vec<String> {
        let urls = self.url.iter().chain(&self.extra);
        let plain = urls.filter(|url| url.starts_with("http://"));
        plain.map(|url| without_secrets(url)).collect()
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Index");
        shown.field("url", &self.shown()).finish_non_exhaustive()
    }
}

/// The failure of an index that can't be used.
fn wrong(url: &str, why: &str) -> Failure {
    let why = format!(
        "the index {} {why}; set `index` or `registry` below `[dependencies]` in the settings",
        without_secrets(url)
    );
    Failure::new(FailureKind::IndexUnreachable, why)
}

#[cfg(test)]
mod tests;
