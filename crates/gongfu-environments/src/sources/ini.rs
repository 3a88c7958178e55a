//! Files of `name = value` lines, such as `pip.conf` and `.npmrc`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_core::network::Secret;

/// The fields of a login in `.npmrc`.
const LOGIN_FIELDS: [&str; 4] = ["_authToken", "_auth", "username", "_password"];

/// A variable of the operator's environment.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A login of `npm` for a place such as `//host/path/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NpmLogin {
    /// The place and the field: `//host/path/:_authToken`.
    pub(crate) key: String,
    pub(crate) value: Secret,
}

impl NpmLogin {
    /// The login of a user with a password, separated by a colon.
    pub(crate) fn basic(place: &str, login: &str) -> Self {
        Self {
            key: format!("{place}/:_auth"),
            value: Secret::new(STANDARD.encode(login)),
        }
    }

    /// The secrets in it, in each form in which they could be printed.
    pub(crate) fn secrets(&self) -> Vec<String> {
        if self.key.ends_with(":username") {
            return Vec::new();
        }
        let mut secrets = vec![self.value.expose().to_owned()];
        let is_encoded = self.key.ends_with(":_auth") || self.key.ends_with(":_password");
        let bytes = STANDARD
            .decode(self.value.expose())
            .ok()
            .filter(|_| is_encoded);
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            secrets.extend(
                text.split_once(':')
                    .map(|(_, password)| password.to_owned()),
            );
            secrets.push(text);
        }
        secrets
    }
}

/// The value of the last line with a name.
pub(super) fn value(text: &str, wanted: &str, variable: Variable<'_>) -> Option<String> {
    values(text, wanted, variable).pop()
}

/// The values of the last line with a name, and of the indented lines that continue it.
pub(super) fn values(text: &str, wanted: &str, variable: Variable<'_>) -> Vec<String> {
    let mut values = Vec::new();
    let mut is_continued = false;
    for line in text.lines() {
        if is_continued && line.starts_with([' ', '\t']) {
            // A comment is no value.
            let is_value = !line.trim_start().starts_with(['#', ';']);
            values.extend(
                line.split_whitespace()
                    .filter(|_| is_value)
                    .map(str::to_owned),
            );
            continue;
        }
        is_continued = false;
        let Some((name, value)) = line.trim().split_once('=') else {
            continue;
        };
        // A comment has another name.
        if name.trim().replace('_', "-").eq_ignore_ascii_case(wanted) {
            is_continued = true;
            values = value.split_whitespace().map(str::to_owned).collect();
        }
    }
    let values = values
        .iter()
        .filter_map(|value| filled(unquoted(value), variable));
    values.filter(|value| !value.is_empty()).collect()
}

/// The logins in an `.npmrc`.
pub(super) fn npm_logins(text: &str, variable: Variable<'_>) -> Vec<NpmLogin> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("//"));
    let logins = lines.filter_map(|line| {
        // A place may have no `=`, a token may.
        let (key, value) = line.split_once('=')?;
        let key = filled(key.trim(), variable)?;
        let (_, field) = key.rsplit_once(':')?;
        let value = filled(unquoted(value.trim()), variable)?;
        (LOGIN_FIELDS.contains(&field) && !value.is_empty()).then(|| NpmLogin {
            key: key.clone(),
            value: Secret::new(value),
        })
    });
    logins.collect()
}

fn unquoted(value: &str) -> &str {
    value.trim_matches(['"', '\''])
}

/// A value with its `${VARIABLE}`s filled in; `None` if one isn't set.
fn filled(value: &str, variable: Variable<'_>) -> Option<String> {
    let mut filled = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}')?;
        filled.push_str(before);
        match name.strip_suffix('?') {
            // `npm` takes such a one for nothing where it isn't set.
            Some(name) => filled.push_str(&variable(name).unwrap_or_default()),
            None => filled.push_str(&variable(name)?),
        }
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}
