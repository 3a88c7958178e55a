//! A skill as another server offers it (SEP-2640): its words and files are data, checked before a person sees them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::definition::canonical;
use crate::skill::{Digest, SKILL_FILE, SkillName, SkillPath};
use crate::text::{clipped, visible};

/// The most bytes of JSON that the skills of a server take; those beyond are left out.
const MAX_SKILLS_BYTES: usize = 8 * 1024 * 1024;
/// The limits of a skill that every host accepts.
const MAX_FILES: usize = 512;
const MAX_SIZE: u64 = 16 * 1024 * 1024;
/// The longest URI, in bytes.
const MAX_URI: usize = 2_048;
/// The longest frontmatter, in bytes of JSON.
const MAX_FRONTMATTER: usize = 64 * 1024;
/// The longest description that a model is told, in characters: what the format allows.
const MAX_DESCRIPTION: usize = 1_024;

/// A skill of another server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedSkill {
    /// The URI of its SKILL.md.
    pub uri: String,
    /// Every field of its frontmatter, as the server says.
    pub frontmatter: Map<String, Value>,
    /// All its files, by path.
    pub files: Vec<OfferedFile>,
}

/// A file of such a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedFile {
    /// Its path in the skill.
    pub path: SkillPath,
    /// Its path as the URI writes it, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The digest of its content: `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

/// An entry that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its URI, as far as it has one.
    pub uri: String,
    /// Why, for people.
    pub why: String,
}

/// The skills that a server offers now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillOffer {
    /// Those that can be used, in the server's order.
    pub skills: Vec<OfferedSkill>,
    /// The others.
    pub left_out: Vec<LeftOut>,
    /// Why they can't be listed, where they can't.
    pub failure: Option<String>,
}

/// Reads the entries of a server's list, page by page.
#[derive(Debug, Default)]
pub struct SkillList {
    offer: SkillOffer,
    seen: BTreeSet<String>,
    /// The length of the skills so far, as JSON.
    bytes: usize,
}

impl SkillList {
    /// Reads an entry. One that can't be used costs only itself.
    pub fn add(&mut self, entry: &Value) {
        match self.checked(entry) {
            Ok(skill) => self.offer.skills.push(skill),
            Err(why) => {
                let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default();
                let uri = clipped(&visible(uri), 120, '…');
                self.offer.left_out.push(LeftOut { uri, why });
            }
        }
    }

    fn checked(&mut self, entry: &Value) -> Result<OfferedSkill, String> {
        let skill = OfferedSkill::read(entry)?;
        if self.seen.contains(&skill.uri) {
            return Err("it is listed twice".to_owned());
        }
        let length = serde_json::to_vec(&skill).map_or(usize::MAX, |bytes| bytes.len());
        if length > MAX_SKILLS_BYTES - self.bytes {
            return Err("the server offers more skills than gongfu keeps".to_owned());
        }
        self.bytes += length;
        self.seen.insert(skill.uri.clone());
        Ok(skill)
    }

    /// The number of entries so far.
    pub fn len(&self) -> usize {
        self.offer.skills.len() + self.offer.left_out.len()
    }

    /// Returns true before the first entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offer, once every page is read.
    pub fn into_offer(self) -> SkillOffer {
        self.offer
    }
}

impl SkillOffer {
    /// An offer that can't be had, for people.
    pub fn failed(why: String) -> Self {
        Self {
            failure: Some(why),
            ..Self::default()
        }
    }
}

impl OfferedSkill {
    /// Reads an entry of `skills/list`.
    ///
    /// # Errors
    /// Why it can't be used, for people.
    pub fn read(entry: &Value) -> Result<Self, String> {
        let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default();
        let root = root(uri)?;
        let frontmatter = entry.get("frontmatter").and_then(Value::as_object);
        let frontmatter = frontmatter.ok_or("it has no frontmatter")?;
        let length = serde_json::to_vec(frontmatter).map_or(usize::MAX, |bytes| bytes.len());
        if length > MAX_FRONTMATTER {
            return Err("its frontmatter is longer than 64 KiB".to_owned());
        }
        let text = |field: &str| frontmatter.get(field).and_then(Value::as_str);
        let name = SkillName::new(text("name").unwrap_or_default());
        let name = name.map_err(|error| error.to_string())?;
        if text("name") != Some(name.as_str()) || !name.is_plain_in_uri() {
            return Err("its name has characters that can't stand in a URI".to_owned());
        }
        if root.trim_end_matches('/').rsplit('/').next() != Some(name.as_str()) {
            return Err("its name isn't the last part of its URI".to_owned());
        }
        if text("description").is_none_or(|text| text.trim().is_empty()) {
            return Err("it has no description".to_owned());
        }
        let files = match entry.get("resources") {
            Some(Value::Array(files)) => files,
            Some(Value::String(kind)) if kind == "dynamic" => {
                return Err("it has no digests, so nothing of it can be approved".to_owned());
            }
            _ => return Err("it lists no files".to_owned()),
        };
        Ok(Self {
            uri: uri.to_owned(),
            frontmatter: frontmatter.clone(),
            files: read_files(root, files)?,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        let root = root(&self.uri).unwrap_or_default();
        let name = root.trim_end_matches('/').rsplit('/').next();
        name.unwrap_or_default()
    }

    /// The description for models: hidden characters are visible, and a very long one is cut.
    pub fn description(&self) -> String {
        let text = self.frontmatter.get("description");
        let text = text.and_then(Value::as_str).unwrap_or_default();
        clipped(&visible(text), MAX_DESCRIPTION, ' ')
    }

    /// The parts of its path, from the server's name for its source to its own name.
    pub fn parts(&self) -> Vec<&str> {
        let root = root(&self.uri).unwrap_or_default();
        let path = root.split_once("://").map_or(root, |(_, path)| path);
        path.split('/').filter(|part| !part.is_empty()).collect()
    }

    /// The URI of a file, as the server writes it.
    pub fn uri_of(&self, file: &OfferedFile) -> String {
        let path = file.written.as_deref().unwrap_or(file.path.as_str());
        format!("{}{path}", root(&self.uri).unwrap_or_default())
    }

    /// A file by its path.
    pub fn file(&self, path: &SkillPath) -> Option<&OfferedFile> {
        let at = self
            .files
            .binary_search_by(|file| file.path.cmp(path))
            .ok()?;
        self.files.get(at)
    }

    /// The digest of all that it says: that of its files is part of it.
    pub fn digest(&self) -> Digest {
        let frontmatter = canonical(&Value::Object(self.frontmatter.clone()));
        let all = json!([self.uri, frontmatter, self.files]);
        Digest::of(all.to_string().as_bytes())
    }

    /// The skill as lines of text, in which a person sees every character.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (field, value) in &self.frontmatter {
            let value = match value {
                // A line of it must not look like a line of gongfu's own.
                Value::String(value) => value.trim_end().replace('\n', "\n  "),
                value => canonical(value).to_string(),
            };
            let _ = writeln!(text, "{}: {value}", field.replace('\n', " "));
        }
        for file in &self.files {
            let OfferedFile {
                path, size, digest, ..
            } = file;
            let _ = writeln!(text, "file: {path}, {size} bytes, {digest}");
        }
        visible(&text).into_owned()
    }

    /// Returns true if its frontmatter has characters that a screen hides.
    pub fn has_hidden_characters(&self) -> bool {
        let text = Value::Object(self.frontmatter.clone()).to_string();
        visible(&text) != text
    }
}

/// The folder of a SKILL.md by its URI, with the last slash.
fn root(uri: &str) -> Result<&str, String> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\\".contains(&byte);
    if uri.len() > MAX_URI || !uri.bytes().all(is_plain) {
        return Err("its URI is too long, or has characters that no URI has".to_owned());
    }
    let folder = uri
        .strip_suffix(SKILL_FILE)
        .filter(|root| root.ends_with('/'));
    folder.ok_or_else(|| format!("its URI doesn't end in /{SKILL_FILE}"))
}

fn read_files(root: &str, entries: &[Value]) -> Result<Vec<OfferedFile>, String> {
    if entries.len() > MAX_FILES {
        return Err(format!("it has more than {MAX_FILES} files"));
    }
    let mut files = Vec::with_capacity(entries.len());
    for entry in entries {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default();
        let uri = text("uri");
        let shown = clipped(&visible(uri), 120, '…');
        let written = uri.strip_prefix(root).filter(|_| uri.len() <= MAX_URI);
        let written = written.ok_or_else(|| format!("a file isn't inside of it: {shown}"))?;
        let path = path(written).ok_or_else(|| format!("a file has no usable path: {shown}"))?;
        let digest: Digest = text("digest")
            .parse()
            .map_err(|error| format!("{path}: {error}"))?;
        let size = entry.get("size").and_then(Value::as_u64);
        let size = size.ok_or_else(|| format!("{path} has no size"))?;
        files.push(OfferedFile {
            written: (path.as_str() != written).then(|| written.to_owned()),
            path,
            digest: digest.to_string(),
            size,
        });
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let is_twice = |pair: &&[OfferedFile]| matches!(pair, [one, other] if one.path == other.path);
    if let Some([twice, ..]) = files.windows(2).find(is_twice) {
        return Err(format!("{} is listed twice", twice.path));
    }
    let is_file = |path: &SkillPath| files.binary_search_by(|file| file.path.cmp(path)).is_ok();
    let is_below_file = |file: &&OfferedFile| {
        let mut folders = std::iter::successors(Some(file.path.parent()), |path| {
            (!path.is_root()).then(|| path.parent())
        });
        folders.any(|folder| is_file(&folder))
    };
    if let Some(file) = files.iter().find(is_below_file) {
        return Err(format!("a file is the folder of {} as well", file.path));
    }
    let is_own = |file: &OfferedFile| file.path.as_str() == SKILL_FILE && file.written.is_none();
    if !files.iter().any(is_own) {
        return Err(format!("its files have no {SKILL_FILE}"));
    }
    let size = files
        .iter()
        .fold(0_u64, |all, file| all.saturating_add(file.size));
    if size > MAX_SIZE {
        return Err("its files have more than 16 MiB".to_owned());
    }
    Ok(files)
}

/// The path that a part of a URI writes; `None` for one that leads elsewhere, or that somebody could read otherwise.
fn path(written: &str) -> Option<SkillPath> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'%' => {
                let pair = after.get(..2)?;
                let is_hexadecimal = pair.iter().all(u8::is_ascii_hexdigit);
                let pair = std::str::from_utf8(pair).ok().filter(|_| is_hexadecimal)?;
                let decoded = u8::from_str_radix(pair, 16).ok()?;
                if decoded == b'/' {
                    return None;
                }
                bytes.push(decoded);
                rest = after.get(2..)?;
            }
            b'?' | b'#' => return None,
            plain => {
                bytes.push(plain);
                rest = after;
            }
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    let path = SkillPath::new(&text).ok()?;
    (path.as_str() == text && !path.is_root()).then_some(path)
}

/// Returns true if two frontmatters say the same. A number is its value: `1` and `1.0` are one.
pub fn same_fields(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let is_same = |(name, value): (&String, &Value)| {
        other.get(name).is_some_and(|other| is_same(value, other))
    };
    one.len() == other.len() && one.iter().all(is_same)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => same_fields(one, other),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len() && pairs.all(|(one, other)| is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| Some(one) == other.as_f64())
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests;
