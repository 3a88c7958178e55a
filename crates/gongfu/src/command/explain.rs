//! `gongfu explain`: what a code means, with an example and the way to fix it.

mod account;
mod own;

use gongfu_core::near;
use gongfu_core::text;
use gongfu_hub::ErrorCode;
use serde::Serialize;

use self::account::ACCOUNTS;
use self::own::OWN;
use super::Outcome;
use crate::cli::ExplainArguments;
use crate::failure::Failure;
use crate::terminal::{Paint, Terminal, plain};

/// The explanation of a code.
#[derive(Serialize)]
struct Entry {
    code: &'static str,
    kind: &'static str,
    meaning: &'static str,
    example: &'static str,
    fix: &'static str,
}

pub(super) fn run(
    arguments: &ExplainArguments,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let entries = entries();
    let Some(wanted) = &arguments.code else {
        return list(&entries, arguments.json, terminal);
    };
    let wanted = wanted
        .trim()
        .trim_start_matches("error")
        .trim_matches(['[', ']']);
    let found = entries
        .iter()
        .find(|entry| entry.code.eq_ignore_ascii_case(wanted));
    let Some(entry) = found else {
        let list = "`gongfu explain` lists all codes";
        let hint = match near::meant(wanted, entries.iter().map(|entry| entry.code)) {
            Some(near) => format!("did you mean `gongfu explain {near}`? {list}"),
            None => format!("codes are in brackets, as in error[CODE]; {list}"),
        };
        let message = format!("there is no code `{}`", plain(wanted));
        return Err(Failure::usage("UNKNOWN_CODE", message, hint).into());
    };
    if arguments.json {
        terminal.json(entry)?;
        return Ok(Outcome::Good);
    }
    let title = terminal.paint(Paint::Bold, entry.code);
    terminal.line(&format!("{title}  {}\n", entry.kind))?;
    terminal.line(&format!("{}\n", entry.meaning))?;
    terminal.line("Example:")?;
    for line in entry.example.lines() {
        terminal.text(&format!("    {line}\n"))?;
    }
    terminal.line(&format!("\nFix: {}", entry.fix))?;
    Ok(Outcome::Good)
}

fn list(entries: &[Entry], json: bool, terminal: &mut Terminal) -> anyhow::Result<Outcome> {
    if json {
        terminal.json(&entries)?;
        return Ok(Outcome::Good);
    }
    let width = entries.iter().map(|entry| entry.code.len()).max();
    let width = width.unwrap_or_default();
    for entry in entries {
        let code = terminal.paint(Paint::Bold, &format!("{:<width$}", entry.code));
        let meaning = text::first_sentence(entry.meaning, 100);
        terminal.line(&format!("{code}  {:<7}  {meaning}", entry.kind))?;
    }
    terminal.note(&format!(
        "{} codes; gongfu explain CODE explains one",
        entries.len()
    ));
    Ok(Outcome::Good)
}

/// Every code: of findings first, then of failures.
fn entries() -> Vec<Entry> {
    let findings = text::explanations().map(|explained| Entry {
        code: explained.code,
        kind: explained.severity.as_str(),
        meaning: explained.meaning,
        example: explained.example,
        fix: explained.fix,
    });
    let errors = ErrorCode::ALL.iter().map(|code| {
        let (example, fix) = code.example_and_fix();
        Entry {
            code: code.as_str(),
            kind: "failure",
            meaning: code.meaning(),
            example,
            fix,
        }
    });
    let own = OWN.iter().chain(&ACCOUNTS);
    let own = own.map(|&(code, meaning, example, fix)| Entry {
        code,
        kind: "failure",
        meaning,
        example,
        fix,
    });
    findings.chain(errors).chain(own).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::entries;

    /// The Rust files of a folder and below.
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
        found
    }

    /// The first text after each of these marks that looks like a code.
    fn codes(text: &str) -> Vec<String> {
        let marks = ["Failure::new(", "Failure::usage(", ".problem("];
        let is_code = |text: &str| {
            let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
            text.len() > 3 && text.bytes().all(is_letter)
        };
        let calls = marks.iter().flat_map(|mark| text.split(mark).skip(1));
        let first = calls.filter_map(|call| call.trim_start().strip_prefix('"')?.split('"').next());
        first
            .filter(|text| is_code(text))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn every_code_is_explained_once() {
        let entries = entries();
        let known: BTreeSet<&str> = entries.iter().map(|entry| entry.code).collect();
        assert_eq!(known.len(), entries.len());
        for entry in &entries {
            let texts = [entry.meaning, entry.example, entry.fix];
            assert!(texts.iter().all(|text| !text.is_empty()), "{}", entry.code);
        }
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut used = Vec::new();
        for path in sources(&root.join("src")) {
            used.extend(codes(&std::fs::read_to_string(path).unwrap()));
        }
        let server = std::fs::read_to_string(root.join("../gongfu-server/src/problem.rs"));
        let quoted = server.unwrap();
        let quoted = quoted.split('"').filter(|text| !text.contains(' '));
        let shouted = quoted.filter(|text| {
            text.len() > 3
                && text
                    .bytes()
                    .all(|byte| byte == b'_' || byte.is_ascii_uppercase())
        });
        used.extend(shouted.map(str::to_owned));
        assert!(used.len() > 15, "{used:?}");
        for code in used {
            assert!(known.contains(&*code), "{code}");
        }
    }
}
