//! Diagnostics as a good compiler prints them: what, where, the line itself, how to fix it.

use std::collections::HashMap;
use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use gongfu_core::skill::{Diagnostic, Severity, SkillPath};
use gongfu_files::disk::Root;
use gongfu_library::check::Verdict;

use crate::terminal::{plain, shown};

/// The longest line of a file that is shown, in bytes; of a longer one its start is.
const MAX_LINE_BYTES: usize = 160;

/// The diagnostics of one skill on their way to a person.
pub(crate) struct Report<'a> {
    skill: &'a Verdict,
    root: Option<Root>,
    /// Files that were read, as they are shown; `None` where one can't be.
    files: HashMap<String, Option<String>>,
    here: Option<&'a Path>,
    renderer: Renderer,
}

impl<'a> Report<'a> {
    /// A report on a skill; paths are shown as seen from `here`.
    pub(crate) fn new(skill: &'a Verdict, here: Option<&'a Path>, color: bool) -> Self {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        Self {
            skill,
            root: Root::open(&skill.path).ok(),
            files: HashMap::new(),
            here,
            renderer: renderer.decor_style(DecorStyle::Ascii),
        }
    }

    /// One diagnostic as text, with an empty line behind it.
    pub(crate) fn render(&mut self, found: &Diagnostic) -> String {
        let text = gongfu_core::text::finding(&found.finding);
        let level = match found.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Info => Level::NOTE,
        };
        let shown = match &found.file {
            Some(file) => self.skill.path.join(file),
            None => self.skill.path.clone(),
        };
        let shown = self
            .here
            .and_then(|here| shown.strip_prefix(here).ok())
            .unwrap_or(&shown);
        let path = plain(&shown.to_string_lossy());
        let title = level
            .primary_title(plain(&text.message))
            .id(found.finding.code());
        let file = found.file.as_deref();
        let line = file.and_then(|file| excerpt(self.text(file)?, found));
        let hint = if found.fixable() {
            format!("{} (--fix does it)", plain(&text.hint))
        } else {
            plain(&text.hint)
        };
        let help = Level::HELP.message(hint);
        let group = if let Some(line) = line {
            let marked = AnnotationKind::Primary.span(line.start..line.end);
            let snippet = Snippet::source(line.text)
                .line_start(line.number)
                .path(path);
            title.element(snippet.annotation(marked)).element(help)
        } else {
            let origin = Origin::path(path);
            let origin = match found.position {
                Some(at) => origin.line(at.line).char_column(at.column),
                None => origin,
            };
            title.element(origin).element(help)
        };
        format!("{}\n\n", self.renderer.render(&[group]))
    }

    /// A file of the skill as it is shown.
    fn text(&mut self, file: &str) -> Option<&str> {
        let root = self.root.as_ref()?;
        let read = || {
            let path = SkillPath::new(file).ok()?;
            let bytes = root.read(&path, 16 * 1024 * 1024).ok()?.bytes;
            let text = String::from_utf8(bytes).ok()?;
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            // A line feed alone ends a line here, as everywhere in a report.
            let lines: Vec<_> = text.split('\r').map(shown).collect();
            Some(lines.join("\r"))
        };
        self.files
            .entry(file.to_owned())
            .or_insert_with(read)
            .as_deref()
    }
}

/// The line that a diagnostic is about, with the part of it that is marked.
struct Line {
    text: String,
    number: usize,
    start: usize,
    end: usize,
}

fn excerpt(text: &str, found: &Diagnostic) -> Option<Line> {
    let at = found.position?;
    let line = text.split('\n').nth(at.line - 1)?.trim_end();
    let start = line
        .char_indices()
        .nth(at.column - 1)
        .map_or(line.len(), |(offset, _)| offset);
    if start >= MAX_LINE_BYTES || line.contains('\r') {
        return None;
    }
    let wanted = found.span.as_ref().map_or(1, |span| span.len().max(1));
    let end = line
        .floor_char_boundary((start + wanted).min(MAX_LINE_BYTES))
        .max(start);
    let shown = line.floor_char_boundary(MAX_LINE_BYTES);
    let mut text = line.get(..shown)?.to_owned();
    if shown < line.len() {
        text.push('…');
    }
    Some(Line {
        end: end.min(text.len()),
        text,
        number: at.line,
        start,
    })
}
