//! Secrets in the declaration of a connection: people see that they are there, and not what they are.

use std::borrow::Cow;

/// The text in place of a secret.
pub(super) const MASK: &str = "(a secret)";
/// The words in the name of a variable, a flag or a parameter whose value is a secret.
const SECRET_WORDS: [&str; 16] = [
    "APIKEY",
    "AUTH",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "JWT",
    "KEY",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PWD",
    "SECRET",
    "TOKEN",
];
/// The names of folders that look like those of secrets.
const FOLDERS: [&str; 2] = ["PWD", "OLDPWD"];

/// Returns true if the value of a variable is a secret, by its name.
pub(super) fn is_secret(name: &str) -> bool {
    if FOLDERS.contains(&name) {
        return false;
    }
    words(name).iter().any(|word| is_secret_word(word))
}

fn is_secret_word(word: &str) -> bool {
    let mut secrets = SECRET_WORDS.iter();
    secrets.any(|secret| word == *secret || (secret.len() > 4 && word.ends_with(secret)))
}

/// Returns true if another value of a variable needs no new approval: its name ends as those of tokens and keys do. Of
/// others, such as `GIT_CONFIG_KEY_0`, a value may decide what is started.
pub(super) fn is_rotated(name: &str) -> bool {
    let words = words(name);
    is_secret(name) && words.last().is_some_and(|last| is_secret_word(last))
}

/// The words of a name, as in `API_KEY`, `api-key` and `apiKey`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || was_lower && letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        was_lower = letter.is_ascii_lowercase();
        if let Some(word) = words.last_mut()
            && letter.is_ascii_alphanumeric()
        {
            word.push(letter.to_ascii_uppercase());
        }
    }
    words
}

/// The arguments of a program, without the values of flags that are secrets.
pub(super) fn masked_arguments(arguments: &[String]) -> impl Iterator<Item = Cow<'_, str>> {
    let mut is_value = false;
    arguments.iter().map(move |word| {
        let flag = word.strip_prefix('-').map(|rest| rest.split_once('='));
        let was_value = std::mem::take(&mut is_value);
        match flag {
            Some(Some((name, _))) if is_secret(name) => format!("-{name}={MASK}").into(),
            Some(None) => {
                // A word with a slash after it is the path of a file with a secret.
                is_value = is_secret(word) && !words(word).iter().any(|word| word == "FILE");
                word.into()
            }
            None if was_value => MASK.into(),
            _ => masked_address(word),
        }
    })
}

/// A text, without the password and the parameters of an address that are secrets.
pub(super) fn masked_address(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.into();
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let authority = match authority.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:{MASK}@{host}"),
            None => format!("{MASK}@{host}"),
        },
        None => authority.to_owned(),
    };
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parameters = query.split('&').map(|pair| match pair.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
        _ => pair.to_owned(),
    });
    let query: Vec<String> = parameters.collect();
    let query = query.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    format!("{scheme}://{authority}{path}{mark}{query}").into()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{is_rotated, is_secret, masked_address, masked_arguments};

    #[test]
    fn names_of_secrets_are_known() {
        let secret = [
            "GITHUB_TOKEN",
            "API_KEY",
            "APIKEY",
            "DB_PASS",
            "MYSQL_PWD",
            "PASSPHRASE",
            "JWT",
            "BEARER",
            "accessKey",
            "x-api-key",
            "OPENAIAPIKEY",
            "GITHUBTOKEN",
        ];
        for name in secret {
            assert!(is_secret(name) && is_rotated(name), "{name}");
        }
        assert!(is_secret("GIT_CONFIG_KEY_0") && !is_rotated("GIT_CONFIG_KEY_0"));
        for name in [
            "MONKEY",
            "NODE_OPTIONS",
            "PWD",
            "OLDPWD",
            "PATH",
            "COMPASS",
            "PATTERN",
            "KEYBOARD",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }

    #[test]
    fn values_of_secrets_are_masked() {
        let words = [
            "--token=t0p",
            "--api-key",
            "k3y",
            "-v",
            "--key-file",
            "/k",
            "plain",
            "--url=https://x/?token=t0p",
        ];
        let masked: Vec<String> = masked_arguments(&words.map(str::to_owned))
            .map(Cow::into_owned)
            .collect();
        let expected = [
            "--token=(a secret)",
            "--api-key",
            "(a secret)",
            "-v",
            "--key-file",
            "/k",
            "plain",
            "--url=https://x/?token=(a secret)",
        ];
        assert_eq!(masked, expected);
        let cases = [
            ("postgres://me:t0p@db/x", "postgres://me:(a secret)@db/x"),
            ("https://t0p@host", "https://(a secret)@host"),
            (
                "https://h/p?a=1&api_key=k&b=@",
                "https://h/p?a=1&api_key=(a secret)&b=@",
            ),
            ("https://h/p", "https://h/p"),
            ("no address", "no address"),
        ];
        for (text, expected) in cases {
            assert_eq!(masked_address(text), expected);
        }
    }
}
