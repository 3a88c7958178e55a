//! Inputs, made up from numbers: put together from pieces, mutated from seeds and real files, or
//! nothing but random bytes.

use std::fmt::Write as _;

use super::line;
use super::nasty;
use super::property::Kind;
use crate::random::Random;

/// The largest input that is put together, in bytes.
pub(super) const LARGEST: usize = 64 * 1024;

/// Makes inputs.
pub(super) struct Generator {
    /// Real documents, to mutate.
    pub(super) real: Vec<Vec<u8>>,
}

/// Pieces that mean something to a reader of YAML, of Markdown or of a path.
const PIECES: [&str; 72] = [
    "---",
    "...",
    "- ",
    ": ",
    ":",
    "? ",
    "# ",
    "## ",
    "#",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "    ",
    "\"",
    "'",
    "''",
    "\\",
    "\\\"",
    "\\u00e9",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a ",
    "*a",
    "<<: ",
    "!!str ",
    "!x ",
    "%YAML 1.2",
    "|",
    ">-",
    "|+",
    "@",
    "`",
    "```",
    "~~~",
    "~",
    "null",
    "true",
    "0x",
    "1e9",
    ".inf",
    "-",
    "--",
    "=",
    "*",
    "**",
    "_",
    "<!--",
    "-->",
    "<b>",
    "[a](b)",
    "![",
    "](",
    "[^1]",
    "|a|b|\n|-|-|\n",
    "../",
    "./",
    "/",
    "\0",
    "\u{feff}",
    "\u{202e}",
    "\u{200b}",
    "\u{2028}",
    "e\u{301}",
    "技能",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{e0041}",
];

const KEYS: [&str; 18] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "version",
    "author",
    "tags",
    "hooks",
    "Name",
    "descripton", // typos: ignore
    "x y",
    "名",
    "",
    "\"name\"",
    "[a]",
    "0",
];

const VALUES: [&str; 24] = [
    "skill-name",
    "Skill Name",
    "d",
    "Use: this",
    "\"quoted\" then: more",
    "'it''s'",
    "[a, b]",
    "{a: b}",
    "[a",
    "|\n  x\n  y",
    ">-\n  x",
    "@x",
    "`y`",
    "- z",
    "*a",
    "&a b",
    "!t u",
    "~",
    "1.50",
    "true",
    "a # b",
    "\\",
    "",
    "用于: 文档",
];

impl Generator {
    /// An input of this kind.
    pub(super) fn input(&self, kind: Kind, random: &mut Random) -> Vec<u8> {
        let seeds = nasty::seeds(kind);
        match random.below(20) {
            0 => bytes(random),
            1..=3 => pieces(random).into_bytes(),
            4..=6 if !self.real.is_empty() && is_text(kind) => {
                let real = self.real.get(random.below(self.real.len()));
                mutated(real.cloned().unwrap_or_default(), seeds, random)
            }
            4..=11 => structured(kind, random),
            _ => mutated(random.pick(seeds).to_vec(), seeds, random),
        }
    }
}

fn is_text(kind: Kind) -> bool {
    matches!(kind, Kind::Document | Kind::Strict | Kind::Section)
}

fn bytes(random: &mut Random) -> Vec<u8> {
    (0..random.length(4096))
        .map(|_| random.next().to_le_bytes().first().copied().unwrap_or(0))
        .collect()
}

/// Pieces in any order; now and then one of them very often.
fn pieces(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.length(400) {
        let piece = random.pick(&PIECES);
        let times = if random.one_in(60) {
            random.length(2_000)
        } else {
            1
        };
        if text.len() + piece.len() * times > LARGEST {
            break;
        }
        text.push_str(&piece.repeat(times));
        if random.one_in(3) {
            text.push_str(random.pick(&VALUES));
        }
    }
    text
}

/// An input in the form of its kind.
fn structured(kind: Kind, random: &mut Random) -> Vec<u8> {
    let text = match kind {
        Kind::Document | Kind::Strict => document(random),
        Kind::Yaml => {
            let mut yaml = String::new();
            mapping(0, &mut yaml, random);
            yaml
        }
        Kind::Name => name(random),
        Kind::Path => path(random),
        Kind::Section => markdown(random),
        Kind::Arguments => call(random),
        Kind::Command => line::line(random, LARGEST),
    };
    if is_text(kind) && random.one_in(12) {
        encoded(&text, random)
    } else {
        text.into_bytes()
    }
}

/// The text in one of the ways in which editors save it.
fn encoded(text: &str, random: &mut Random) -> Vec<u8> {
    match random.below(4) {
        0 => text.replace('\n', "\r\n").into_bytes(),
        1 => format!("\u{feff}{text}").into_bytes(),
        2 => format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect(),
        _ => format!("\u{feff}{text}")
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect(),
    }
}

fn document(random: &mut Random) -> String {
    let mut text = String::new();
    if random.one_in(10) {
        text.push_str(random.pick(&["\n", " \n", "text\n", "\u{feff}"]));
    }
    text.push_str(random.pick(&["---\n", "---\n", "---\n", "--- \n", "----\n", ""]));
    mapping(0, &mut text, random);
    text.push_str(random.pick(&["---\n", "---\n", "---\n", "...\n", "  ---\n", "---", ""]));
    text.push_str(&markdown(random));
    text
}

/// Some fields, perhaps with more of them below.
fn mapping(depth: usize, text: &mut String, random: &mut Random) {
    for _ in 0..=random.below(7) {
        let indent = "  ".repeat(depth);
        let key = random.pick(&KEYS);
        let _ = match random.below(10) {
            0 if depth < 40 && text.len() < LARGEST => {
                let _ = writeln!(text, "{indent}{key}:");
                mapping(depth + 1 + random.below(3), text, random);
                Ok(())
            }
            1 => writeln!(text, "{indent}{key}: {}", flow(random.below(12), random)),
            2 => writeln!(text, "{indent}- {}", random.pick(&VALUES)),
            3 => writeln!(
                text,
                "{indent}{key}: {}{}",
                random.pick(&VALUES),
                pieces_few(random)
            ),
            _ => writeln!(text, "{indent}{key}: {}", random.pick(&VALUES)),
        };
    }
}

fn pieces_few(random: &mut Random) -> String {
    (0..random.below(5)).map(|_| random.pick(&PIECES)).collect()
}

fn flow(depth: usize, random: &mut Random) -> String {
    if depth == 0 {
        return random.pick(&VALUES).to_owned();
    }
    let inner = flow(depth - 1, random);
    match random.below(3) {
        0 => format!("[{inner}]"),
        1 => format!("{{{}: {inner}}}", random.pick(&KEYS)),
        _ => format!("[{}, {inner}", random.pick(&VALUES)),
    }
}

fn markdown(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..random.below(12) {
        let _ = match random.below(8) {
            0 => writeln!(
                text,
                "{} {}",
                "#".repeat(1 + random.below(7)),
                random.pick(&VALUES)
            ),
            1 => writeln!(text, "{}\n===", random.pick(&VALUES)),
            2 => writeln!(text, "```\n# {}\n```", random.pick(&VALUES)),
            3 => writeln!(
                text,
                "[{}](references/{}.md)",
                random.pick(&KEYS),
                random.pick(&KEYS)
            ),
            4 => writeln!(
                text,
                "{}- {}",
                "  ".repeat(random.below(9)),
                random.pick(&VALUES)
            ),
            5 => writeln!(
                text,
                "{}{}",
                "> ".repeat(random.below(9)),
                random.pick(&VALUES)
            ),
            6 => writeln!(text, "{}", pieces_few(random)),
            _ => writeln!(text, "\n{}\n", random.pick(&VALUES)),
        };
    }
    text
}

fn name(random: &mut Random) -> String {
    let parts = [
        "alpha", "skills", "nested", "my", "Skill", "-", "_", "/", " ", "..", "pdf", "技能",
    ];
    (0..=random.below(6)).map(|_| random.pick(&parts)).collect()
}

fn path(random: &mut Random) -> String {
    let parts = [
        "references",
        "guide.md",
        "..",
        ".",
        "",
        "vault",
        "canary.txt",
        "up",
        "out",
        "root",
        "process",
        "{base}",
        "skills",
        "alpha",
        "relative",
        "absolute",
        "circle",
        "one",
        "pipe",
        "inner",
        "SKILL.md",
        "scripts",
        "run.sh",
        "etc",
        "...",
        "~",
        "C:",
        "%2e%2e",
        "descriptors",
    ];
    let parts: Vec<&str> = (0..=random.below(7)).map(|_| random.pick(&parts)).collect();
    parts.join(random.pick(&["/", "/", "/", "/", "//", "/./", "\\"]))
}

fn call(random: &mut Random) -> String {
    let tools = [
        "skill_list",
        "skill_load",
        "skill_read",
        "skill_read",
        "skill_write",
        "skill_create",
        "skill_search",
        "file_list",
        "file_read",
        "file_write",
        "load_skill_metadata",
        "load_skill",
        "read_reference_file",
        "skills_ls",
        "skills_read",
        "skills_write",
        "skills_create",
        "read_skill",
        "autosnippet_list_skills",
        "autosnippet_load_skill",
        "nothing",
    ];
    let names = [
        "skill_name",
        "path",
        "section",
        "part",
        "start_line",
        "end_line",
        "start_column",
        "limit",
        "after",
        "source",
        "include_disabled",
        "query",
        "name",
        "file_name",
        "skillName",
        "content",
        "old_text",
        "new_text",
        "description",
        "instructions",
        "offset",
    ];
    let mut arguments = serde_json::Map::new();
    if !random.one_in(4) {
        arguments.insert("skill_name".to_owned(), "alpha".into());
    }
    for _ in 0..random.below(4) {
        let key = random.pick(&names);
        let value = match random.below(9) {
            0 => serde_json::Value::Null,
            1 => random.below(12).into(),
            2 => random.next().into(),
            3 => (-1).into(),
            4 => random.one_in(2).into(),
            5 => serde_json::json!([{ "a": random.pick(&VALUES) }]),
            6 => pieces_few(random).into(),
            7 => name(random).into(),
            _ => path(random).into(),
        };
        arguments.insert(key.to_owned(), value);
    }
    serde_json::json!({ "tool": random.pick(&tools), "arguments": arguments }).to_string()
}

/// Changes an input in a few places.
fn mutated(mut input: Vec<u8>, seeds: &[&[u8]], random: &mut Random) -> Vec<u8> {
    for _ in 0..random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.length(64)).min(input.len());
        match random.below(9) {
            0 => {
                input.drain(at..end);
            }
            1 => {
                let copy = input.get(at..end).unwrap_or_default().to_vec();
                let times = 1 + random.length(200);
                if input.len() + copy.len() * times <= LARGEST {
                    input.splice(at..at, copy.repeat(times));
                }
            }
            2 | 3 => {
                input.splice(at..at, random.pick(&PIECES).bytes());
            }
            4 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            5 => {
                let other = random.pick(seeds);
                let from = random.below(other.len() + 1);
                input.splice(
                    at..end,
                    other.get(from..).unwrap_or_default().iter().copied(),
                );
            }
            6 => {
                input.splice(at..end, random.pick(&PIECES).bytes());
            }
            7 => input.truncate(at),
            _ => {
                input.splice(at..at, random.pick(&VALUES).bytes());
            }
        }
    }
    input
}

#[cfg(test)]
mod tests {
    use super::Generator;
    use crate::prove::property::Kind;
    use crate::random::Random;

    #[test]
    fn inputs_come_again_with_their_seed_and_differ() {
        let generator = Generator { real: Vec::new() };
        for kind in Kind::ALL {
            let made = |number| generator.input(kind, &mut Random::of_input(1, number));
            let all: std::collections::BTreeSet<Vec<u8>> = (0..200).map(made).collect();
            assert!(all.len() > 100, "{}: {}", kind.as_str(), all.len());
            assert_eq!(made(7), made(7));
        }
    }
}
