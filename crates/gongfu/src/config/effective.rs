//! The settings as they apply: each value, and where it comes from.

use gongfu_files::Home;
use serde::Serialize;
use serde_json::Value;

use super::file;
use super::key::{self, Setting};
use crate::cli::{Places, Serving};
use crate::environment::Environment;

/// A setting as it applies.
#[derive(Debug, Serialize)]
pub(crate) struct Effective {
    pub(crate) key: String,
    /// Its value; null if it has no value.
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// The flag or variable that it comes from, where one alone decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'static str>,
}

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Origin {
    Default,
    File,
    Environment,
    Flag,
}

impl Origin {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File => "file",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}

/// Every setting as it applies with these flags.
///
/// # Errors
/// The settings file can't be read, or has mistakes.
pub(crate) fn all(
    home: &Home,
    environment: &Environment,
    places: &Places,
    serving: &Serving,
) -> anyhow::Result<Vec<Effective>> {
    let (config, table) = file::written(home)?;
    let values = serde_json::to_value(&config)?;
    let one = |setting: Setting| {
        let pointer = format!("/{}", setting.key.replace('.', "/"));
        let value = values.pointer(&pointer).cloned().unwrap_or_default();
        let mut path = setting.key.split('.');
        let first = path.next().and_then(|name| table.get(name));
        let is_written = path.fold(first, |value, name| value?.get(name)).is_some();
        let origin = if is_written {
            Origin::File
        } else {
            Origin::Default
        };
        let mut effective = Effective {
            key: setting.key,
            value,
            origin,
            name: None,
        };
        effective.apply(environment, places, serving);
        effective
    };
    Ok(key::settings().into_iter().map(one).collect())
}

impl Effective {
    /// Lets variables and flags win over the file, as they do where the setting is used.
    fn apply(&mut self, environment: &Environment, places: &Places, serving: &Serving) {
        let packages = &environment.packages;
        let text = |value: &Option<String>| value.clone().map(Value::from);
        // Over the file, over which the flags win; or only where the file says nothing.
        let (variable, name, is_fallback) = match self.key.as_str() {
            "discovery.home" => (
                environment.claude_global.map(Value::from),
                Some("LLP_ENABLE_CLAUDE_GLOBAL"),
                false,
            ),
            "server.listen" => (text(&environment.listen), Some("GONGFU_LISTEN"), false),
            "server.public_url" => (
                text(&environment.public_url),
                Some("GONGFU_PUBLIC_URL"),
                false,
            ),
            "sandbox.docker.socket" => (text(&environment.docker), Some("DOCKER_HOST"), false),
            "dependencies.index" => (text(&packages.index), None, true),
            "dependencies.registry" => (text(&packages.registry), None, true),
            "dependencies.proxy" => (text(&packages.proxy.https), None, true),
            "dependencies.extra_indexes" if !packages.extra.is_empty() => {
                (Some(packages.extra.clone().into()), None, true)
            }
            _ => (None, None, true),
        };
        if let Some(value) = variable
            && !(is_fallback && self.origin == Origin::File)
        {
            self.set(value, Origin::Environment, name);
        }
        match self.key.as_str() {
            "skills_dirs" if !places.skills_dirs.is_empty() || places.no_default_dirs => {
                let shown = |path: &std::path::PathBuf| Value::from(path.to_string_lossy());
                let mut all: Vec<Value> = places.skills_dirs.iter().map(shown).collect();
                if !places.no_default_dirs {
                    all.extend(self.value.as_array().into_iter().flatten().cloned());
                }
                self.set(all.into(), Origin::Flag, Some("--skills-dir"));
            }
            "discovery.home" | "discovery.built_in" if places.no_default_dirs => {
                self.set(false.into(), Origin::Flag, Some("--no-default-dirs"));
            }
            "server.listen" => {
                if let Some(address) = &serving.listen {
                    self.set(address.to_string().into(), Origin::Flag, Some("--listen"));
                } else if self.value.is_null() {
                    self.value = gongfu_server::Address::default().to_string().into();
                }
            }
            "server.public_url" => {
                if let Some(url) = &serving.public_url {
                    self.set(url.to_string().into(), Origin::Flag, Some("--public-url"));
                }
            }
            _ => {}
        }
    }

    fn set(&mut self, value: Value, origin: Origin, name: Option<&'static str>) {
        (self.value, self.origin, self.name) = (value, origin, name);
    }

    /// The value for people: as in the file, without the login of a URL.
    pub(crate) fn shown(&self) -> String {
        if self.value.is_null() {
            return "-".to_owned();
        }
        super::edit::shown(&without_logins(&self.value))
    }
}

/// A value whose URLs have no logins.
pub(crate) fn without_logins(value: &Value) -> Value {
    match value {
        Value::String(text) => without_login(text).into(),
        Value::Array(items) => items.iter().map(without_logins).collect(),
        other => other.clone(),
    }
}

/// A URL without its login; any other text as it is.
pub(crate) fn without_login(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}"),
        None => text.to_owned(),
    }
}
