//! URLs of indexes: where they lead, and the secrets in them.

use gongfu_core::network::{Endpoint, HostError};

/// The URLs in a text, of https and of http.
pub(crate) fn urls(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.match_indices("http").map(|(at, _)| at);
    starts.filter_map(|at| {
        let rest = text.get(at..)?;
        let is_end = |c: char| c.is_whitespace() || "\"'<>()[]{},".contains(c);
        let is_url = rest.starts_with("https://") || rest.starts_with("http://");
        rest.split(is_end).next().filter(|_| is_url)
    })
}

/// The host of a URL, and true if it is reached by plain HTTP.
///
/// # Errors
/// The text says what is wrong, without the URL.
pub(crate) fn endpoint(url: &str) -> Result<(Endpoint, bool), String> {
    let (rest, is_plain) = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => (rest, false),
        (_, Some(rest)) => (rest, true),
        _ => return Err("doesn't use https or http".to_owned()),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let port = if is_plain { 80 } else { 443 };
    let has_port = !host.ends_with(']') && host.contains(':');
    let endpoint = if has_port {
        host.parse()
    } else {
        format!("{host}:{port}").parse()
    };
    let endpoint = endpoint.map_err(|error| match error {
        HostError::Address => {
            "has an address in an unusual spelling; write 10.0.0.1 or [fd00::1]".to_owned()
        }
        error => format!("has no usable host ({error})"),
    })?;
    Ok((endpoint, is_plain))
}

/// The user and the password in a URL, as they are written there.
pub(crate) fn login(url: &str) -> Option<(&str, Option<&str>)> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (login, _) = authority.rsplit_once('@')?;
    let (user, password) = login
        .split_once(':')
        .map_or((login, None), |(user, password)| (user, Some(password)));
    Some((user, password))
}

/// The URL without its user and password.
pub(crate) fn without_login(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://").filter(|_| login(url).is_some()) else {
        return url.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// A URL without user, password, query and fragment.
pub(crate) fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let rest = rest.rsplit('@').next().unwrap_or_default();
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{rest}")
}

/// Puts a user and a password into a URL.
pub(crate) fn with_login(url: &str, user: &str, password: &str) -> String {
    let url = without_login(url);
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (user, password) = (encoded(user), encoded(password));
            format!("{scheme}://{user}:{password}@{rest}")
        }
        None => url,
    }
}

/// A text as it stands in a URL (RFC 3986, 2.1).
fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

/// A part of a URL as it was meant.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() {
            behind.get(2..).unwrap_or_default()
        } else {
            behind
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Everything in a URL that is nobody else's business.
pub(crate) fn secrets(url: &str) -> Vec<String> {
    let mut secrets = Vec::new();
    if let Some((user, password)) = login(url) {
        // A user without a password is a token.
        let secret = password.filter(|password| !password.is_empty());
        let secret = secret.unwrap_or(user);
        secrets.extend([
            secret.to_owned(),
            decoded(secret),
            encoded(&decoded(secret)),
        ]);
    }
    let query = url.split_once('?').map(|(_, query)| query);
    let values = query
        .into_iter()
        .flat_map(|query| query.split(['&', '#', '=']).skip(1).step_by(2));
    secrets.extend(values.map(str::to_owned));
    secrets
}
