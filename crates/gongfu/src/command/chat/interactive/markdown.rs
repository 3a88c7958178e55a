//! Markdown for a terminal: a block as painted lines. Nothing in it reaches the terminal as a command.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use crate::terminal::shown;

/// The default width, and the minimum width of text, in columns.
const WIDTH: usize = 80;
const LEAST: usize = 10;
/// The deepest list or quote that is indented.
const MAX_DEPTH: usize = 8;

/// The paints of a letter, as bits.
type Style = u8;
const BOLD: Style = 1;
const ITALIC: Style = 2;
const DIM: Style = 4;
const LINK: Style = 8;
const CODE: Style = 16;
const STRUCK: Style = 32;
/// The codes of the terminal for each of them.
const CODES: [(Style, &str); 6] = [
    (BOLD, "1"),
    (ITALIC, "3"),
    (DIM, "2"),
    (LINK, "4"),
    (CODE, "36"),
    (STRUCK, "9"),
];

/// Text with a style for each letter.
type Text = Vec<(char, Style)>;

/// A block of Markdown as lines for a terminal of so many columns.
pub(super) fn rendered(block: &str, width: Option<usize>) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page {
        width: width.unwrap_or(WIDTH),
        ..Page::default()
    };
    for event in Parser::new_ext(block, options) {
        page.take(event);
    }
    page.flush();
    page.lines.join("\n")
}

#[derive(Default)]
struct Page {
    width: usize,
    lines: Vec<String>,
    text: Text,
    /// The styles that are open.
    styles: Vec<Style>,
    /// The beginning of each line: once, and from then on.
    indents: Vec<(Option<String>, &'static str)>,
    /// The number of the next item of each open list; `None` without numbers.
    lists: Vec<Option<u64>>,
    /// The addresses of open links, with the start of their text.
    links: Vec<(String, usize)>,
    is_code: bool,
    table: Vec<Vec<Text>>,
    is_gap: bool,
}

impl Page {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) if self.is_code => self.add(&text, CODE),
            Event::Text(text)
            | Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.add(&text, 0),
            Event::Code(text) => self.add(&text, CODE),
            Event::SoftBreak => self.add(" ", 0),
            Event::HardBreak => self.flush(),
            Event::TaskListMarker(is_done) => self.add(if is_done { "☑ " } else { "☐ " }, 0),
            Event::Rule => {
                let dashes = "─".repeat(self.width.min(WIDTH));
                self.add(&dashes, DIM);
                self.flush();
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Table(_) => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                let is_title = level == HeadingLevel::H1;
                self.styles.push(if is_title { BOLD | LINK } else { BOLD });
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.indents.push((None, "│ "));
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                self.gap();
                self.indents.push((None, "  "));
                self.is_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.trim().is_empty()
                {
                    self.add(language.trim(), DIM);
                    self.flush();
                }
            }
            Tag::List(first) => {
                self.flush();
                if self.lists.is_empty() {
                    self.gap();
                }
                self.lists.push(first);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number = number.saturating_add(1);
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                self.indents.push((Some(bullet), "   "));
            }
            Tag::TableHead | Tag::TableRow => self.table.push(Vec::new()),
            Tag::Emphasis => self.styles.push(ITALIC),
            Tag::Strong => self.styles.push(BOLD),
            Tag::Strikethrough => self.styles.push(STRUCK),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.text.len()));
                self.styles.push(LINK);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.indents.pop();
                self.is_gap = true;
            }
            TagEnd::Item => {
                self.flush();
                self.indents.pop();
            }
            TagEnd::CodeBlock => {
                self.code();
                self.indents.pop();
                self.is_code = false;
                self.is_gap = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.is_gap = self.lists.is_empty();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.text);
                if let Some(row) = self.table.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => self.table(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                let Some((address, start)) = self.links.pop() else {
                    return;
                };
                let said = self.text.iter().skip(start).map(|(letter, _)| *letter);
                // The words of a link may name another address than its own.
                if said.collect::<String>() != address {
                    self.add(&format!(" ({address})"), DIM);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, text: &str, style: Style) {
        let style = self.styles.iter().fold(style, |all, style| all | style);
        // What is before a letter decides whether it shapes an emoji or hides something.
        let before = self.text.last().map_or(' ', |(letter, _)| *letter);
        let text = format!("{before}{text}");
        let text = shown(&text);
        let letters = text.chars().skip(1);
        let letters = letters.map(|letter| if letter == '\t' { ' ' } else { letter });
        self.text.extend(letters.map(|letter| (letter, style)));
    }

    /// Adds an empty line before a block, except before the first one and inside a list item.
    fn gap(&mut self) {
        let is_item = self.indents.last().is_some_and(|(once, _)| once.is_some());
        if (self.is_gap || !self.lines.is_empty()) && !is_item {
            let indent = self.indent();
            self.lines.push(indent.trim_end().to_owned());
        }
        self.is_gap = false;
    }

    /// The beginning of the next line.
    fn indent(&mut self) -> String {
        let mut text = String::new();
        for (once, always) in self.indents.iter_mut().take(MAX_DEPTH) {
            match once.take() {
                Some(once) => text.push_str(&once),
                None => text.push_str(always),
            }
        }
        text
    }

    fn room(&self) -> usize {
        let depth = self.indents.len().min(MAX_DEPTH);
        self.width.saturating_sub(3 * depth).max(LEAST)
    }

    /// Writes the text so far, broken between words.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        let room = self.room();
        for paragraph in text.split(|(letter, _)| *letter == '\n') {
            for line in wrapped(paragraph, room) {
                let line = format!("{}{}", self.indent(), painted(line));
                self.lines.push(line);
            }
        }
    }

    /// Writes code as it is.
    fn code(&mut self) {
        let mut text = std::mem::take(&mut self.text);
        if text.last().is_some_and(|(letter, _)| *letter == '\n') {
            text.pop();
        }
        for line in text.split(|(letter, _)| *letter == '\n') {
            let line = format!("{}{}", self.indent(), painted(line));
            self.lines.push(line.trim_end().to_owned());
        }
    }

    /// Writes a table in columns, or one line per cell if the columns don't fit.
    fn table(&mut self) {
        let mut rows = std::mem::take(&mut self.table);
        for cell in rows.first_mut().into_iter().flatten() {
            for (_, style) in cell {
                *style |= BOLD;
            }
        }
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let longest = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| columns_of(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(longest).collect();
        if widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1) <= self.room() {
            for (index, row) in rows.into_iter().enumerate() {
                for (cell, width) in row.into_iter().zip(&widths) {
                    let blanks = width.saturating_sub(columns_of(&cell)) + 2;
                    self.text.extend(cell);
                    self.text.extend(std::iter::repeat_n((' ', 0), blanks));
                }
                let line = std::mem::take(&mut self.text);
                let line = format!("{}{}", self.indent(), painted(&line));
                self.lines.push(line.trim_end().to_owned());
                if index == 0 {
                    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                    let indent = self.indent();
                    self.lines.push(format!("{indent}{}", rule.join("  ")));
                }
            }
            return;
        }
        let mut rows = rows.into_iter();
        let names = rows.next().unwrap_or_default();
        let has_rows = rows.len() > 0;
        if !has_rows {
            for name in &names {
                self.text.extend(name);
                self.flush();
            }
        }
        for row in rows {
            for (name, cell) in names.iter().zip(row) {
                self.text.extend(name);
                self.text.extend([(':', 0), (' ', 0)]);
                self.text.extend(cell);
                self.flush();
            }
            self.lines.push(String::new());
        }
        if has_rows {
            self.lines.pop();
        }
    }
}

/// The columns that a text takes.
fn columns_of(text: &[(char, Style)]) -> usize {
    let text: String = text.iter().map(|(letter, _)| *letter).collect();
    text.width()
}

/// Lines of at most so many columns, broken between words; a longer word is a line of its own.
fn wrapped(text: &[(char, Style)], room: usize) -> Vec<&[(char, Style)]> {
    let mut lines = Vec::new();
    let (mut start, mut end, mut columns) = (0, 0, 0);
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|(letter, _)| *letter == ' ').count();
        let word = rest.iter().skip(blanks);
        let length = word
            .clone()
            .take_while(|(letter, _)| *letter != ' ')
            .count();
        let word = text
            .get(at + blanks..at + blanks + length)
            .unwrap_or_default();
        let width = columns_of(word);
        if columns > 0 && columns + blanks + width > room {
            lines.extend(text.get(start..end));
            (start, columns) = (at + blanks, width);
        } else {
            columns += blanks + width;
        }
        at += blanks + length;
        if length > 0 {
            end = at;
        }
    }
    lines.extend(text.get(start..end).filter(|line| !line.is_empty()));
    lines
}

/// A line with the codes of its styles.
fn painted(line: &[(char, Style)]) -> String {
    let (mut text, mut now) = (String::new(), 0);
    for (letter, style) in line {
        if *style != now {
            if now != 0 {
                text.push_str("\u{1b}[0m");
            }
            let codes = CODES.iter().filter(|(bit, _)| style & bit != 0);
            let codes: Vec<&str> = codes.map(|(_, code)| *code).collect();
            if !codes.is_empty() {
                let _ = write!(text, "\u{1b}[{}m", codes.join(";"));
            }
            now = *style;
        }
        text.push(*letter);
    }
    if now != 0 {
        text.push_str("\u{1b}[0m");
    }
    text
}

#[cfg(test)]
mod tests;
