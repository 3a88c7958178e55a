//! Diagnostics as a good compiler prints them: what, where, the line itself, how to mend it.

use std::path::Path;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use gongfu_core::skill::check::hidden;
use gongfu_core::skill::{Diagnostic, Severity, SkillPath};
use gongfu_store::check::Checked;
use gongfu_store::disk::Root;

use crate::terminal::plain;

/// The longest line of a file that is shown, in bytes; of a longer one its start is.
const MOST: usize = 160;

/// Renders the diagnostics of one skill, one text each; paths are shown as seen from `here`.
pub(crate) fn render(skill: &Checked, here: Option<&Path>, color: bool) -> Vec<String> {
    let root = Root::open(&skill.path).ok();
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    }
    .decor_style(DecorStyle::Ascii);
    skill
        .diagnostics
        .iter()
        .map(|found| one(skill, root.as_ref(), found, here, &renderer))
        .collect()
}

fn one(
    skill: &Checked,
    root: Option<&Root>,
    found: &Diagnostic,
    here: Option<&Path>,
    renderer: &Renderer,
) -> String {
    let text = gongfu_core::text::finding(&found.finding);
    let level = match found.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::NOTE,
    };
    let shown = match &found.file {
        Some(file) => skill.path.join(file),
        None => skill.path.clone(),
    };
    let shown = here
        .and_then(|here| shown.strip_prefix(here).ok())
        .unwrap_or(&shown);
    let path = plain(&shown.to_string_lossy());
    let title = level
        .primary_title(plain(&text.message))
        .id(found.finding.code());
    let line = found
        .file
        .as_deref()
        .and_then(|file| excerpt(root?, file, found));
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
    format!("{}\n\n", renderer.render(&[group]))
}

/// What a terminal would hide or obey is shown as a mark.
fn visible(character: char) -> char {
    let kept = matches!(character, '\n' | '\r' | '\t');
    if hidden::is_hidden(character) || (character.is_control() && !kept) {
        char::REPLACEMENT_CHARACTER
    } else {
        character
    }
}

/// The line that a diagnostic is about, with the part of it that is marked.
struct Line {
    text: String,
    number: usize,
    start: usize,
    end: usize,
}

fn excerpt(root: &Root, file: &str, found: &Diagnostic) -> Option<Line> {
    let at = found.position?;
    let bytes = root
        .read(&SkillPath::new(file).ok()?, 16 * 1024 * 1024)
        .ok()?
        .bytes;
    let text = String::from_utf8(bytes).ok()?;
    let text: String = text.chars().map(visible).collect();
    let line = text
        .strip_prefix('\u{feff}')
        .unwrap_or(&text)
        .split(['\n'])
        .nth(at.line - 1)?
        .trim_end();
    let start = line
        .char_indices()
        .nth(at.column - 1)
        .map_or(line.len(), |(offset, _)| offset);
    if start >= MOST || line.contains('\r') {
        return None;
    }
    let wanted = found.span.as_ref().map_or(1, |span| span.len().max(1));
    let end = line
        .floor_char_boundary((start + wanted).min(MOST))
        .max(start);
    let shown = line.floor_char_boundary(MOST);
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
