//! Skills with the sections that say when to use them taken out, and those sections' items.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use gongfu_core::skill::{SKILL_FILE, SKILL_FILE_LOWER, document, section};

use crate::corpus::files_below;
use crate::random::Random;

/// Skills to search.
pub(super) struct Collection {
    pub(super) skills: Vec<Skill>,
}

/// A skill of the collection.
pub(super) struct Skill {
    /// Its folder below the collection's.
    pub(super) folder: String,
    /// The SKILL.md without the sections that say when to use it.
    pub(super) document: String,
    /// The items that those sections list.
    pub(super) items: Vec<String>,
}

/// A query, and the skill that it should find.
pub(super) struct Question<'a> {
    pub(super) text: &'a str,
    pub(super) skill: usize,
}

impl Collection {
    /// Reads every skill below a folder; of several with one body, the first.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let files =
            files_below(folder).with_context(|| format!("{} can't be read", folder.display()))?;
        let paths = files.into_iter().filter(|path| {
            let name = path.file_name();
            name.is_some_and(|name| name == SKILL_FILE || name == SKILL_FILE_LOWER)
        });
        let mut bodies = HashSet::new();
        let mut skills = Vec::new();
        for path in paths {
            let bytes = std::fs::read(&path)?;
            let below = path.parent().unwrap_or(&path);
            let name = below.file_name().unwrap_or_default().to_string_lossy();
            let Some(found) = document::parse(&bytes, &name) else {
                continue;
            };
            if !bodies.insert(found.body().trim().to_owned()) {
                continue;
            }
            let folder = below.strip_prefix(folder).unwrap_or(below);
            let (hidden, items) = without_use(found.body());
            let front = found.source.text.get(..found.body).unwrap_or_default();
            skills.push(Skill {
                folder: folder.to_string_lossy().into_owned(),
                document: format!("{front}{hidden}"),
                items,
            });
        }
        Ok(Self { skills })
    }

    /// One question a skill, chosen by chance.
    pub(super) fn questions(&self, seed: u64) -> Vec<Question<'_>> {
        let mut random = Random::new(seed);
        let mut questions = Vec::new();
        for (skill, entry) in self.skills.iter().enumerate() {
            if !entry.items.is_empty() {
                let text = &entry.items[random.below(entry.items.len())];
                questions.push(Question { text, skill });
            }
        }
        questions
    }

    /// All questions.
    pub(super) fn every_question(&self) -> Vec<Question<'_>> {
        let skills = self.skills.iter().enumerate();
        skills
            .flat_map(|(skill, entry)| entry.items.iter().map(move |text| Question { text, skill }))
            .collect()
    }
}

/// Headings of sections that say when to use a skill begin or are like these.
const USES: [&str; 5] = [
    "when to use",
    "use when",
    "when should",
    "when to apply",
    "trigger",
];

/// A body without the sections that say when to use it, and the items that they list.
fn without_use(body: &str) -> (String, Vec<String>) {
    let headings = section::headings(body);
    let mut kept = String::new();
    let mut items = Vec::new();
    let mut at = 0;
    for (number, heading) in headings.iter().enumerate() {
        let text = heading.text.to_lowercase();
        let says_when = USES.iter().any(|when| match *when {
            "trigger" => text
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word.starts_with(when)),
            _ => text.contains(when),
        });
        if !says_when || heading.start < at {
            continue;
        }
        let behind = headings.iter().skip(number + 1);
        let next = behind.clone().find(|next| next.level <= heading.level);
        let end = next.map_or(body.len(), |next| next.start);
        kept.push_str(&body[at..heading.start]);
        items.extend(listed(&body[heading.start..end]));
        at = end;
    }
    kept.push_str(&body[at..]);
    (kept, items)
}

/// The list items of a section that have 4 to 25 words, without markup; none from code.
fn listed(text: &str) -> Vec<String> {
    let code = section::code(text);
    let mut items = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if code.iter().any(|range| range.contains(&start)) {
            continue;
        }
        let Some(item) = item(line.trim()) else {
            continue;
        };
        let item = plain(item);
        if (4..=25).contains(&item.split_whitespace().count()) {
            items.push(item);
        }
    }
    items
}

fn item(line: &str) -> Option<&str> {
    for sign in ["- ", "* ", "+ "] {
        if let Some(rest) = line.strip_prefix(sign) {
            return Some(rest);
        }
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    (digits > 0).then_some(())?;
    rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))
}

/// A line without links, emphasis and code marks.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        text.push_str(&rest[..open]);
        let inside = &rest[open + 1..];
        let link = inside.find("](").and_then(|label| {
            let close = inside[label..].find(')')?;
            Some((label, label + close + 1))
        });
        if let Some((label, end)) = link {
            text.push_str(&inside[..label]);
            rest = &inside[end..];
        } else {
            text.push('[');
            rest = inside;
        }
    }
    text.push_str(rest);
    text.replace(['*', '`'], "")
        .replace("__", "")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::without_use;

    #[test]
    fn the_section_is_hidden_and_its_items_are_asked() {
        let body = "# A\n\nintro\n\n## When to Use This Skill\n\n- make a [good](x.md) **plan** now\n- too short\n```\n- this one is code here\n```\n### Triggers\n1. four words are enough\n\n## Steps\n\n- not asked for at all\n";
        let (kept, items) = without_use(body);
        assert_eq!(kept, "# A\n\nintro\n\n## Steps\n\n- not asked for at all\n");
        assert_eq!(items, ["make a good plan now", "four words are enough"]);
    }
}
