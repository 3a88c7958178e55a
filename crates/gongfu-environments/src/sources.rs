//! The operator's settings of where packages come from: gongfu's own, or those of the installers.

mod ini;
mod proxy;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use gongfu_core::network::{Proxies, Rule};
use toml::{Table, Value};

use crate::url;
use gongfu_core::netrc::Netrc;

pub use ini::{NpmLogin, Variable};
pub use proxy::ProxySettings;

/// The indexes that packages come from.
#[derive(Clone, Default)]
pub struct Sources {
    /// The Python index; without one the default of `uv`. It may have a name before it (`name=https://…`).
    pub index: Option<String>,
    /// Further Python indexes.
    pub extra: Vec<String>,
    /// The npm registry; without one the default of `npm`.
    pub registry: Option<String>,
    /// Further hosts that a build may reach, at any address.
    pub hosts: Vec<Rule>,
    /// The CA certificates; without them the system's.
    pub certificates: Option<PathBuf>,
    /// The proxies on the way to Python's indexes.
    pub python_proxies: Proxies,
    /// The proxies on the way to the npm registry.
    pub node_proxies: Proxies,
    /// The operator's logins of `npm`.
    pub npm_logins: Vec<NpmLogin>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs may hold secrets.
        let mut shown = formatter.debug_struct("Sources");
        shown.field("hosts", &self.hosts).finish_non_exhaustive()
    }
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
    /// Those with logins for Python's indexes.
    pub netrc: Vec<PathBuf>,
}

impl Sources {
    /// Completes the sources from the settings of the installers.
    ///
    /// # Errors
    /// A file exists but can't be read, or a proxy is named in a way that can't be used.
    pub fn or_from(
        mut self,
        files: &InstallerFiles,
        proxy: &ProxySettings,
        variable: Variable<'_>,
    ) -> io::Result<Self> {
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
        let pip = texts(&files.pip)?;
        let first = |key: &str| pip.iter().find_map(|text| ini::value(text, key, &|_| None));
        if self.index.is_none() {
            self.index = first("index-url");
            // Those that go with an index that is configured elsewhere are configured there.
            let extra = pip
                .iter()
                .map(|text| ini::values(text, "extra-index-url", &|_| None));
            if self.extra.is_empty() {
                self.extra = extra
                    .into_iter()
                    .find(|urls| !urls.is_empty())
                    .unwrap_or_default();
            }
        }
        let npm = texts(&files.npm)?;
        let of_npm = |key: &str| npm.iter().find_map(|text| ini::value(text, key, variable));
        self.registry = self.registry.or_else(|| of_npm("registry"));
        // The first login for a place counts, as the first setting does.
        for login in npm.iter().flat_map(|text| ini::npm_logins(text, variable)) {
            if self.npm_logins.iter().all(|known| known.key != login.key) {
                self.npm_logins.push(login);
            }
        }
        let wrong = |why| io::Error::new(io::ErrorKind::InvalidData, why);
        if let Some(proxies) = proxy.proxies().map_err(wrong)? {
            self.python_proxies = proxies.clone();
            self.node_proxies = proxies;
        } else {
            let of = |url: Option<String>, name| proxy::server(&url.unwrap_or_default(), name);
            let server = of(first("proxy"), "`pip.conf`").map_err(wrong)?;
            self.python_proxies = proxy.with_bypasses(server.clone(), server);
            let http = of(of_npm("proxy"), "`.npmrc`").map_err(wrong)?;
            let https = of(of_npm("https-proxy"), "`.npmrc`").map_err(wrong)?;
            self.node_proxies = proxy.with_bypasses(https.or_else(|| http.clone()), http);
        }
        let netrc = texts(&files.netrc)?;
        let netrc = netrc
            .first()
            .map_or_else(Netrc::default, |text| Netrc::parse(text));
        for url in self.index.iter_mut().chain(&mut self.extra) {
            *url = with_login(url, &netrc, variable);
        }
        Ok(self)
    }
}

/// A URL of an index, without a name before it, and with the login that variables or `.netrc` have for it.
fn with_login(text: &str, netrc: &Netrc, variable: Variable<'_>) -> String {
    let (name, url) = split_name(text);
    let (user, password) = url::login(url).unzip();
    if password.flatten().is_some() {
        return url.to_owned();
    }
    let user = user.map(url::decoded);
    if let Some(name) = name {
        let one = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        };
        let name: String = name.chars().map(one).collect();
        let of = |field: &str| variable(&format!("UV_INDEX_{name}_{field}"));
        let (given, password) = (of("USERNAME"), of("PASSWORD"));
        if given.is_some() || password.is_some() {
            let user = given.or(user).unwrap_or_default();
            return url::with_login(url, &user, &password.unwrap_or_default());
        }
    }
    let host = url::endpoint(url).ok().map(|(endpoint, _)| endpoint.host());
    match host.and_then(|host| netrc.login(&host, user.as_deref())) {
        Some((user, password)) => url::with_login(url, user, password),
        None => url.to_owned(),
    }
}

/// The name that `uv` lets stand before the URL of an index.
fn split_name(text: &str) -> (Option<&str>, &str) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && name.chars().all(is_plain) => (Some(name), url),
        _ => (None, text),
    }
}

/// The texts of those files that exist.
fn texts(files: &[PathBuf]) -> io::Result<Vec<String>> {
    let texts = files.iter().map(|file| read(file));
    texts.filter_map(Result::transpose).collect()
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

/// The index of a `uv.toml`, and further ones, with their names; `None` if it is damaged.
fn parse_uv(text: &str) -> Option<(Option<String>, Vec<String>)> {
    let table: Table = text.parse().ok()?;
    let text = |table: &Table, key: &str| Some(table.get(key)?.as_str()?.to_owned());
    let list = |key: &str| {
        table
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut index = None;
    let mut extra = Vec::new();
    for one in list("index").filter_map(Value::as_table) {
        let url = text(one, "url").map(|url| match text(one, "name") {
            Some(name) => format!("{name}={url}"),
            None => url,
        });
        if one.get("default").and_then(Value::as_bool) == Some(true) {
            index = url;
        } else {
            extra.extend(url);
        }
    }
    extra.extend(list("extra-index-url").filter_map(|url| Some(url.as_str()?.to_owned())));
    Some((index.or_else(|| text(&table, "index-url")), extra))
}

/// The logins in a text as `.npmrc` has it, for tests.
#[cfg(test)]
pub(crate) fn npm_logins(text: &str) -> Vec<NpmLogin> {
    ini::npm_logins(text, &|_| None)
}

#[cfg(test)]
mod tests;
