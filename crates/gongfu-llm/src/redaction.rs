//! Takes out of a provider's message what must not be shown: the key, the request, control characters.
//!
//! Knows no provider.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use gongfu_core::port::{Message, ModelRequest};

/// The longest message that is shown, in characters.
const MAX_SHOWN: usize = 300;
/// The longest message that is looked at, in characters.
const MAX_READ: usize = 2000;
/// The part of a key that gives it away, in characters.
const KEY_PART: usize = 8;
/// The part of the request that gives it away, in characters.
const REQUEST_PART: usize = 24;
/// The distance between sampled parts: any repetition longer than `REQUEST_PART + STEP` is found.
const STEP: usize = 12;

/// The part of a provider's message that may be shown.
pub(crate) fn clean(text: &str, key: Option<&str>, request: &ModelRequest) -> String {
    let text: String = text.chars().take(MAX_READ).collect();
    let text = without_request(&text, request);
    let text = match key.filter(|key| !key.is_empty()) {
        Some(key) => without_key(text, key),
        None => text.to_owned(),
    };
    shorten(&visible(&text))
}

/// The message up to the place where it repeats the request.
fn without_request<'a>(text: &'a str, request: &ModelRequest) -> &'a str {
    let starts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let is_short = |of: &&str| (KEY_PART..2 * REQUEST_PART).contains(&of.len());
    let whole = texts(request)
        .map(str::trim)
        .filter(is_short)
        .filter_map(|of| text.find(of));
    let repeats = |start: usize, end: usize| {
        let part = text.get(start..end).unwrap_or_default();
        texts(request).any(|of| of.contains(part))
    };
    let parts = starts
        .windows(REQUEST_PART + 1)
        .enumerate()
        .step_by(STEP)
        .filter_map(|(at, window)| {
            let (&start, &end) = (window.first()?, window.last()?);
            if !repeats(start, end) {
                return None;
            }
            // The part may begin before the place that was looked at.
            let before = starts
                .get(..at)?
                .iter()
                .rev()
                .take_while(|&&start| repeats(start, end));
            Some(before.last().copied().unwrap_or(start))
        });
    let Some(end) = whole.chain(parts).min() else {
        return text;
    };
    text.get(..end).unwrap_or_default()
}

/// The texts that a request consists of.
fn texts(request: &ModelRequest) -> impl Iterator<Item = &str> {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text } | Message::Assistant { text, .. } | Message::Tool { text, .. } => {
            text.as_str()
        }
    });
    let tools = request.tools.iter().map(|tool| tool.description.as_str());
    [request.system.as_str()]
        .into_iter()
        .chain(messages)
        .chain(tools)
}

/// The key as it is, and in the forms in which a server may repeat it.
fn forms(key: &str) -> Vec<String> {
    let hex = |upper: bool| -> String {
        let pair = |byte: u8| {
            if upper {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            }
        };
        key.bytes().map(pair).collect()
    };
    let escaped = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    let mut forms = vec![hex(false), hex(true), key.bytes().map(escaped).collect()];
    // Its place among the encoded bytes decides which of three forms it has, and its end belongs to what follows.
    for from in 0..3 {
        let bytes = key.as_bytes().get(from..).unwrap_or_default();
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let mut form = engine.encode(bytes);
            form.pop();
            forms.push(form);
        }
    }
    forms.retain(|form| form.len() >= KEY_PART);
    forms.push(key.to_owned());
    forms
}

/// The message with each word masked that holds a part of the key.
fn without_key(text: &str, key: &str) -> String {
    let mut parts = Vec::new();
    for form in forms(key) {
        let letters: Vec<char> = form.chars().collect();
        let windows = letters.windows(KEY_PART.min(letters.len()));
        parts.extend(windows.map(|part| part.iter().collect::<String>()));
    }
    let is_border = |letter: char| letter.is_whitespace() || "\"'`,;()[]{}<>".contains(letter);
    text.split_inclusive(is_border)
        .map(|piece| {
            let word = piece.trim_end_matches(is_border);
            if parts.iter().any(|part| word.contains(part.as_str())) {
                format!("[key]{}", piece.strip_prefix(word).unwrap_or_default())
            } else {
                piece.to_owned()
            }
        })
        .collect()
}

/// The text on one line, with control characters written out.
fn visible(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.trim().chars() {
        match letter {
            '\n' | '\r' | '\t' => line.push(' '),
            // Those that change the direction hide text as well as control characters do.
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                line.extend(letter.escape_unicode());
            }
            _ if letter.is_control() => line.extend(letter.escape_unicode()),
            _ => line.push(letter),
        }
    }
    line
}

fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_SHOWN).collect();
    if short.len() < text.len() {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests;
