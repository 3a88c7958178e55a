//! Just enough Rust to read the house rules out of source text: where code is, and where it is not.
//!
//! It must not know any rule. A real parser would be more exact, and would cost more to build than all
//! checks together.

pub(crate) mod paths;
#[cfg(test)]
mod tests;

/// A word (identifier or keyword) or a single mark of code, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// The text of the token.
    pub(crate) text: &'a str,
    /// The offset of its first byte.
    pub(crate) at: usize,
}

/// A `mod name;` or `mod name { … }` found in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// The names of the inline modules around it, outermost first.
    pub(crate) within: Vec<String>,
    /// The name of the module.
    pub(crate) name: String,
    /// The line of its declaration, from 1.
    pub(crate) line: usize,
    /// True when its text is in another file.
    pub(crate) in_file: bool,
    /// The value of `#[path = "…"]`.
    pub(crate) path: Option<String>,
    /// True under `#[cfg(test)]`, inherited from the inline modules around it.
    pub(crate) only_tests: bool,
}

/// The text with comments and literals blanked, each byte in its old place.
pub(crate) fn code_only(text: &str) -> String {
    let mut code = text.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let Some(end) = skipped_until(text, at) else {
            at += 1;
            continue;
        };
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// The comments to the end of a line, with their lines from 1.
pub(crate) fn comments(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        let width = text[at..].chars().next().map_or(1, char::len_utf8);
        let end = skipped_until(text, at).unwrap_or(at + width);
        if text[at..].starts_with("//") {
            found.push((line, &text[at..end]));
        }
        line += text[at..end].matches('\n').count();
        at = end;
    }
    found
}

/// The string literals, with the lines on which they begin, from 1.
pub(crate) fn strings(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        let width = text[at..].chars().next().map_or(1, char::len_utf8);
        let end = skipped_until(text, at).unwrap_or(at + width);
        if end > at + 1 && text[at..].starts_with(['"', 'r']) {
            found.push((line, &text[at..end]));
        }
        line += text[at..end].matches('\n').count();
        at = end;
    }
    found
}

/// The tokens of a text that [`code_only`] has blanked.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = code.char_indices().peekable();
    while let Some((at, first)) = rest.next() {
        if first.is_whitespace() {
            continue;
        }
        let mut end = at + first.len_utf8();
        if is_word(first) {
            while let Some((next, letter)) = rest.next_if(|(_, letter)| is_word(*letter)) {
                end = next + letter.len_utf8();
            }
        }
        found.push(Token {
            text: &code[at..end],
            at,
        });
    }
    found
}

/// The line of an offset, from 1.
pub(crate) fn line_at(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The lines on which an identifier or keyword stands in code.
pub(crate) fn lines_naming(text: &str, word: &str) -> Vec<usize> {
    if !text.contains(word) {
        return Vec::new();
    }
    let code = code_only(text);
    tokens(&code)
        .into_iter()
        .filter(|token| token.text == word)
        .map(|token| line_at(text, token.at))
        .collect()
}

/// The modules that a source file declares.
pub(crate) fn modules(text: &str) -> Vec<Module> {
    let code = code_only(text);
    let tokens = tokens(&code);
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut open: Vec<(String, usize, bool)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if open.last().is_some_and(|(_, level, _)| *level == depth) {
                    open.pop();
                }
            }
            "mod" => {
                let (Some(name), Some(mark)) = (tokens.get(index + 1), tokens.get(index + 2))
                else {
                    continue;
                };
                let in_file = mark.text == ";";
                if !(in_file || mark.text == "{") || !name.text.starts_with(is_word) {
                    continue;
                }
                let attributes = attributes(&tokens[..index]);
                let only_tests =
                    open.iter().any(|(_, _, only_tests)| *only_tests) || is_cfg_test(attributes);
                found.push(Module {
                    within: open.iter().map(|(name, _, _)| name.clone()).collect(),
                    name: name.text.to_owned(),
                    line: line_at(text, token.at),
                    in_file,
                    path: path_attribute(text, attributes),
                    only_tests,
                });
                if !in_file {
                    open.push((name.text.to_owned(), depth, only_tests));
                }
            }
            _ => {}
        }
    }
    found
}

/// The attributes and the visibility that stand just before a declaration.
pub(crate) fn attributes<'a, 'text>(before: &'a [Token<'text>]) -> &'a [Token<'text>] {
    let start = before
        .iter()
        .rposition(|token| matches!(token.text, ";" | "{" | "}"))
        .map_or(0, |index| index + 1);
    &before[start..]
}

/// True when `#[cfg(test)]` is among these attributes.
pub(crate) fn is_cfg_test(attributes: &[Token<'_>]) -> bool {
    attributes.windows(4).any(|four| {
        let texts = [four[0].text, four[1].text, four[2].text, four[3].text];
        texts == ["cfg", "(", "test", ")"]
    })
}

/// The value of `#[path = "…"]` among these attributes.
fn path_attribute(text: &str, attributes: &[Token<'_>]) -> Option<String> {
    let equals = attributes
        .windows(3)
        .find(|three| three[0].text == "[" && three[1].text == "path" && three[2].text == "=")?[2];
    text[equals.at..].split('"').nth(1).map(str::to_owned)
}

/// The end of the comment or literal that starts here, or nothing when code starts here.
fn skipped_until(text: &str, at: usize) -> Option<usize> {
    let rest = &text.as_bytes()[at..];
    let end = match rest {
        [b'/', b'/', ..] => rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len()),
        [b'/', b'*', ..] => block_comment(rest),
        [b'"', ..] => string(rest),
        [b'r', b'"' | b'#', ..] if starts_literal(text, at) => raw_string(rest)?,
        [b'\'', ..] => character(&text[at..])?,
        _ => return None,
    };
    Some(at + end)
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                at += 2;
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// A raw string after its `r`, or nothing for a raw identifier.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let body = 2 + hashes;
    let closing = |at: &usize| {
        rest[*at] == b'"'
            && rest.len() - at > hashes
            && rest[at + 1..=at + hashes].iter().all(|byte| *byte == b'#')
    };
    Some(
        (body..rest.len())
            .find(closing)
            .map_or(rest.len(), |at| at + 1 + hashes),
    )
}

/// A character literal, or nothing for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let first = rest[1..].chars().next()?;
    if first == '\\' {
        let tail = rest.as_bytes().get(3..)?;
        return tail.iter().position(|byte| *byte == b'\'').map(|at| at + 4);
    }
    let end = 1 + first.len_utf8();
    (rest.as_bytes().get(end) == Some(&b'\'')).then_some(end + 1)
}

/// True when the `r` here may start a raw string: no word runs into it, save `b` and `c`.
fn starts_literal(text: &str, at: usize) -> bool {
    let before = &text[..at];
    let before = before
        .strip_suffix(['b', 'c'])
        .filter(|rest| !rest.ends_with(is_word))
        .unwrap_or(before);
    !before.ends_with(is_word)
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
