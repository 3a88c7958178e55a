//! A SKILL.md as a document: read leniently, with what is wrong in its frontmatter.

use serde_json::{Map, Value};

use super::SKILL_FILE;
use super::diagnostic::Diagnostic;
use super::draft;
use super::field;
use super::finding::Finding;
use super::frontmatter::{self, Frontmatter};
use super::name::SkillName;
use super::section;
use super::severity::Severity;
use super::source_text::SourceText;

/// The largest SKILL.md that is read, in bytes.
pub const MAX_SKILL_FILE: u64 = 16 * 1024 * 1024;
/// The longest stand-in for a missing description, in characters.
const MAX_STAND_IN: usize = 300;

/// A SKILL.md that could be read.
#[derive(Debug, Clone)]
pub struct Document {
    /// Its name: the declared one where it can be addressed, else the folder's.
    pub name: SkillName,
    /// The declared description, else the first paragraph, else the first heading, else nothing.
    pub description: String,
    /// Every field of the frontmatter.
    pub frontmatter: Map<String, Value>,
    /// The text that all places are in.
    pub source: SourceText,
    /// Offset of the body in the text.
    pub body: usize,
}

impl Document {
    /// The text behind the frontmatter.
    pub fn body(&self) -> &str {
        self.source.text.get(self.body..).unwrap_or_default()
    }
}

/// Reads a SKILL.md without judging it; `None` for what [`super::load`] refuses.
pub fn parse(bytes: &[u8], folder: &str) -> Option<Document> {
    read(bytes, folder, &mut Vec::new())
}

/// The meaning of a file, apart from its form: enough to check that a fix kept it.
#[derive(Debug, PartialEq)]
pub(super) struct Essence {
    description: String,
    fields: Map<String, Value>,
    body: String,
}

/// The parts that a fix is meant to change.
#[derive(Debug, Default)]
pub(super) struct Purpose<'a> {
    /// The name that it writes.
    pub(super) name: Option<&'a str>,
    /// True if it writes the description that was taken from the text.
    pub(super) description: bool,
    /// True if it writes the allowed tools in another form.
    pub(super) tools: bool,
}

impl Essence {
    pub(super) fn of(document: &Document) -> Self {
        Self {
            description: document.description.clone(),
            fields: document.frontmatter.clone(),
            body: document.body().trim_start().to_owned(),
        }
    }

    /// Returns true if `after` says the same, but for what a fix is meant to change.
    pub(super) fn is_kept_by(&self, after: &Self, purpose: &Purpose<'_>) -> bool {
        let mut wanted = self.fields.clone();
        if let Some(name) = purpose.name {
            wanted.insert("name".to_owned(), name.into());
        }
        if purpose.description {
            let description = self.description.as_str();
            wanted.insert("description".to_owned(), description.into());
        }
        let mut given = after.fields.clone();
        if purpose.tools {
            for fields in [&mut wanted, &mut given] {
                if let Some(tools) = fields.get_mut("allowed-tools") {
                    *tools = field::tools(tools).into();
                }
            }
        }
        wanted == given && self.description == after.description && self.body == after.body
    }
}

/// Reads a file as a fix needs it: its meaning and its findings.
pub(super) fn essence(bytes: &[u8], folder: &str) -> (Option<Essence>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let document = read(bytes, folder, &mut diagnostics);
    (document.as_ref().map(Essence::of), diagnostics)
}

/// The text behind the frontmatter of a SKILL.md, as [`Document::body`] has it, without reading the
/// frontmatter; `None` for what [`super::load`] refuses.
pub fn body(bytes: &[u8]) -> Option<String> {
    let mut source = decoded(bytes, &mut Vec::new())?;
    let body = frontmatter::body(&source);
    Some(source.text.split_off(body))
}

/// The text of a file, unless it is refused.
fn decoded(bytes: &[u8], diagnostics: &mut Vec<Diagnostic>) -> Option<SourceText> {
    let refused = |finding, diagnostics: &mut Vec<Diagnostic>| {
        diagnostics.push(Diagnostic::about_file(finding, SKILL_FILE));
        None
    };
    if bytes.len() as u64 > MAX_SKILL_FILE {
        let (bytes, limit) = (bytes.len() as u64, MAX_SKILL_FILE);
        return refused(Finding::SkillFileTooLarge { bytes, limit }, diagnostics);
    }
    let Some(source) = SourceText::decode(bytes, SKILL_FILE, diagnostics) else {
        return refused(Finding::SkillFileNotText, diagnostics);
    };
    if source.text.trim().is_empty() {
        return refused(Finding::SkillFileEmpty, diagnostics);
    }
    Some(source)
}

/// Reads a SKILL.md and checks its frontmatter; `None` for what is refused.
pub fn read(bytes: &[u8], folder: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Document> {
    let source = decoded(bytes, diagnostics)?;
    let frontmatter = Frontmatter::read(&source, diagnostics);
    let name = field::check(&source, &frontmatter, folder, diagnostics);
    let declared = field::description(&source, &frontmatter, &name, diagnostics);
    let body = frontmatter.body;
    let body_text = source.text.get(body..).unwrap_or_default();
    let description = declared.unwrap_or_else(|| {
        let summary = section::summary(body_text).map(|text| shortened(&text));
        if frontmatter.present {
            report_description(&source, &frontmatter, summary.is_some(), diagnostics);
        } else if let Some(summary) = &summary {
            add_frontmatter(&source, folder, summary, diagnostics);
        }
        summary.unwrap_or_default()
    });
    Some(Document {
        name,
        description,
        frontmatter: frontmatter.to_json(),
        source,
        body,
    })
}

fn report_description(
    source: &SourceText,
    frontmatter: &Frontmatter,
    stand_in: bool,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut known = diagnostics.iter();
    if !known.any(|known| known.finding == Finding::DescriptionNotText) {
        let at = frontmatter.span.start;
        let finding = Finding::DescriptionMissing { stand_in };
        diagnostics.push(source.found(finding, at, at));
    }
}

/// Offers the frontmatter that says what is read without one.
fn add_frontmatter(
    source: &SourceText,
    folder: &str,
    description: &str,
    diagnostics: &mut [Diagnostic],
) {
    let mut known = diagnostics.iter_mut();
    let missing = known.find(|known| known.finding == Finding::FrontmatterMissing);
    if let Some(found) = missing.filter(|_| field::is_writable_name(folder)) {
        let newline = source.newline();
        let lines = draft::frontmatter(folder, description).replace('\n', newline);
        let edit = source.edit(0, 0, format!("{lines}{newline}"));
        *found = match edit {
            Some(edit) => found.clone().with_fix(vec![edit]),
            None => return,
        };
    }
}

/// Returns true if a skill with these findings is valid: none of them is an error.
pub fn is_valid(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .all(|found| found.severity() != Severity::Error)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_STAND_IN) {
        None => text.to_owned(),
        Some((end, _)) => {
            let cut = text.get(..end).unwrap_or_default();
            let whole_words = cut.rsplit_once(' ').map_or(cut, |(before, _)| before);
            format!("{whole_words} …")
        }
    }
}
