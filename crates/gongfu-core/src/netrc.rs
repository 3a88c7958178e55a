//! The logins in a `.netrc`: a person's user names and passwords by host, as curl, git and pip read them.

/// A login for one host.
#[derive(Clone, Default)]
struct Entry {
    /// `None` for every host (`default`).
    host: Option<String>,
    user: String,
    password: String,
}

impl Entry {
    fn fits(&self, host: &str, user: Option<&str>) -> bool {
        self.host.as_deref().is_none_or(|one| one == host)
            && user.is_none_or(|user| user == self.user)
            && !self.password.is_empty()
    }
}

/// The logins of a file.
#[derive(Clone, Default)]
pub struct Netrc(Vec<Entry>);

impl Netrc {
    /// Reads a file; what it doesn't understand it leaves out.
    pub fn parse(text: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut words = words(line).into_iter();
            while let Some(word) = words.next() {
                match &*word {
                    "machine" => entries.push(Entry {
                        host: Some(words.next().unwrap_or_default().to_ascii_lowercase()),
                        ..Entry::default()
                    }),
                    "default" => entries.push(Entry::default()),
                    // It goes on until an empty line.
                    "macdef" => {
                        lines.by_ref().find(|line| line.trim().is_empty());
                        break;
                    }
                    field @ ("login" | "user" | "password" | "account") => {
                        let (value, entry) = (words.next().unwrap_or_default(), entries.last_mut());
                        match (field, entry) {
                            ("login" | "user", Some(entry)) => entry.user = value,
                            ("password", Some(entry)) => entry.password = value,
                            _ => {}
                        }
                    }
                    _ => {}
                }
            }
        }
        Self(entries)
    }

    /// The user and the password for a host that the file names; those for every host (`default`) aren't among them.
    pub fn login_of(&self, host: &str) -> Option<(&str, &str)> {
        let mut named = self.0.iter().filter(|entry| entry.host.is_some());
        let entry = named.find(|entry| entry.fits(host, None))?;
        Some((&entry.user, &entry.password))
    }

    /// The user and the password for a host, or for this user of it.
    pub fn login(&self, host: &str, user: Option<&str>) -> Option<(&str, &str)> {
        // The first one counts, and `default` comes last.
        let entry = self.0.iter().find(|entry| entry.fits(host, user))?;
        Some((&entry.user, &entry.password))
    }
}

/// The words of a line, in quotation marks or not, up to a comment.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let mut word = String::new();
        let mut letters = rest.char_indices();
        let is_quoted = rest.starts_with('"');
        if is_quoted {
            letters.next();
        }
        let mut end = rest.len();
        while let Some((at, letter)) = letters.next() {
            if is_quoted && letter == '"' || !is_quoted && letter.is_whitespace() {
                end = at + letter.len_utf8();
                break;
            }
            let escaped = if letter == '\\' { letters.next() } else { None };
            word.push(escaped.map_or(letter, |(_, letter)| letter));
        }
        words.push(word);
        rest = rest.get(end..).unwrap_or_default().trim_start();
    }
    words
}
