//! The body: what a template left in it, and the format's budget of 500 lines and 5,000 tokens.

use crate::skill::diagnostic::Diagnostic;
use crate::skill::finding::Finding;
use crate::skill::placeholder;
use crate::skill::source_text::SourceText;

const MAX_LINES: usize = 500;
const MAX_TOKENS: usize = 5_000;

/// Finds bodies that are empty, unwritten, or longer than the format advises.
pub fn check(source: &SourceText, body: usize, diagnostics: &mut Vec<Diagnostic>) {
    let text = source.text.get(body..).unwrap_or_default();
    if text.trim().is_empty() {
        diagnostics.push(source.found(Finding::BodyEmpty, body, body));
        return;
    }
    let is_reported =
        |found: &Diagnostic| matches!(found.finding, Finding::TemplateUntouched { .. });
    if let Some((at, line)) = placeholder::in_body(text)
        && !diagnostics.iter().any(is_reported)
    {
        let finding = Finding::TemplateUntouched {
            text: line.to_owned(),
        };
        let start = body + at;
        diagnostics.push(source.found(finding, start, start + line.len()));
    }
    let lines = text.lines().count();
    let tokens = estimated_tokens(text);
    if lines > MAX_LINES || tokens > MAX_TOKENS {
        diagnostics.push(source.found(Finding::BodyTooLong { lines, tokens }, body, body));
    }
}

/// A rough count of model tokens: four bytes of ASCII, or one character of another script, a token.
pub fn estimated_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii / 4 + other
}
