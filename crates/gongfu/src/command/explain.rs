//! `gongfu explain`: what a code means, with an example and the way to fix it.

use gongfu_core::near;
use gongfu_core::text;
use gongfu_hub::ErrorCode;
use serde::Serialize;

use super::Outcome;
use crate::cli::ExplainArguments;
use crate::terminal::{Paint, Terminal, plain};

/// The most codes that are suggested for an unknown one.
const MAX_NEAREST: usize = 3;

/// The codes of the command line and the HTTP server.
const OWN: [(&str, &str, &str, &str); 33] = [
    (
        "UNKNOWN_COMMAND",
        "There is no such command.",
        "gongfu skil list",
        "Use a command of `gongfu --help`; the message names the nearest one.",
    ),
    (
        "UNKNOWN_OPTION",
        "The command has no such option.",
        "gongfu list --jsn",
        "Use an option of `gongfu COMMAND --help`.",
    ),
    (
        "INVALID_VALUE",
        "An option or argument has a value that it can't have.",
        "gongfu run pdf --timeout abc -- ls",
        "Pass a value that the message describes.",
    ),
    (
        "MISSING_VALUE",
        "An option needs a value.",
        "gongfu list --source",
        "Pass the value after the option.",
    ),
    (
        "FOLDER_NOT_FOUND",
        "A folder that was passed, or the folders of skills, don't exist.",
        "gongfu list --skills-dir ./nosuch",
        "Fix the path, or create the folder.",
    ),
    (
        "UNKNOWN_SOURCE",
        "There is no source of skills with this id.",
        "gongfu list --source user-claud",
        "Use one of the ids that the message lists.",
    ),
    (
        "USAGE",
        "The command line can't be understood: arguments are missing, too many, or exclude each other.",
        "gongfu skill check --json --format sarif",
        "See the command's usage: gongfu COMMAND --help.",
    ),
    (
        "FAILED",
        "The system refused something that the command needs, such as reading or writing a file.",
        "gongfu skill new report, in a folder that is read-only",
        "Do what the message says. If it says nothing helpful, run gongfu doctor.",
    ),
    (
        "UNKNOWN_CODE",
        "There is no error or finding with this code.",
        "gongfu explain name-mising", // typos: ignore
        "List all codes: gongfu explain.",
    ),
    (
        "EMPTY_QUERY",
        "A search without words finds nothing.",
        "gongfu search \"\"",
        "Describe the task in a few words.",
    ),
    (
        "APPROVAL_UNKNOWN",
        "No command with this id waits for approval.",
        "gongfu approve allow 1",
        "Use an id of `gongfu approve list`.",
    ),
    (
        "ADDRESS_UNAVAILABLE",
        "The server can't listen at its address: another program does, or the address isn't of this machine.",
        "gongfu serve, twice",
        "Stop the other server, or choose an address: gongfu serve --listen 127.0.0.1:0.",
    ),
    (
        "NOT_FOUND",
        "The server has nothing at this address.",
        "GET /mpc",
        "MCP is at /mcp; /health and /metrics are for operators.",
    ),
    (
        "METHOD_NOT_ALLOWED",
        "The address doesn't take this HTTP method.",
        "PUT /mcp",
        "Use a method of the `Allow` header.",
    ),
    (
        "TRANSPORT_GONE",
        "The client uses the HTTP+SSE transport of 2024-11-05, which isn't served.",
        "GET /sse",
        "Configure the client for Streamable HTTP at /mcp.",
    ),
    (
        "HOST_MALFORMED",
        "The request names no host, or several.",
        "a request without a Host header",
        "Send one Host header.",
    ),
    (
        "HOST_UNKNOWN",
        "The request is for another host: a page of the web may be misusing a name that leads to this machine.",
        "a request to http://example.com that reaches 127.0.0.1",
        "Use the address that `gongfu serve` prints, or pass the public one as --public-url.",
    ),
    (
        "ORIGIN_FOREIGN",
        "The request comes from a page of another origin.",
        "fetch() on a page of the web",
        "Call the server from a program, or from its own origin.",
    ),
    (
        "UNAUTHENTICATED",
        "The server can't tell that the caller is its own user.",
        "a client of another user, or through a proxy",
        "Send the token in gongfu's home as `Authorization: Bearer TOKEN`.",
    ),
    (
        "HOME_UNUSABLE",
        "gongfu's home can't be used, because a file is where a folder must be.",
        "GONGFU_HOME=/etc/passwd gongfu serve",
        "Set GONGFU_HOME to a folder that gongfu may write to.",
    ),
    (
        "CONFIG_INVALID",
        "The settings file has mistakes, so nothing was done.",
        "memory_mib = \"much\" in config.toml",
        "Fix each line that the message names; gongfu config check lists all of them.",
    ),
    (
        "CONFIG_UNKNOWN_KEY",
        "There is no setting with this name.",
        "gongfu config get sandbox.memory",
        "Use a name of `gongfu config show`.",
    ),
    (
        "CONFIG_VALUE",
        "The setting can't have this value.",
        "gongfu config set sandbox.memory_mib much",
        "Pass a value that the message describes.",
    ),
    (
        "CONFIG_UNREADABLE",
        "The settings file can't be read.",
        "config.toml that belongs to another user",
        "Fix the permissions of the file that the message names.",
    ),
    (
        "CONFIG_UNWRITABLE",
        "The settings file can't be written; it is unchanged.",
        "gongfu config set on a read-only disk",
        "Make the file writable, or edit it where it comes from.",
    ),
    (
        "SOURCE_NOT_FOUND",
        "The folder to add doesn't exist.",
        "gongfu source add ./nosuch",
        "Create the folder, or fix the path.",
    ),
    (
        "SOURCE_NOT_A_FOLDER",
        "The path to add is not a folder.",
        "gongfu source add skills.zip",
        "Pass the folder that holds the skills; unpack an archive first.",
    ),
    (
        "SOURCE_NAME",
        "The path of the folder is not UTF-8, which settings need.",
        "gongfu source add a folder with a Latin-1 name",
        "Rename the folder, or pass it with --skills-dir.",
    ),
    (
        "SOURCE_UNKNOWN",
        "The settings don't list this folder.",
        "gongfu source remove user-claude",
        "See `gongfu source list`; default folders are disabled in the settings.",
    ),
    (
        "LOG_SINCE",
        "The time isn't one that can be read.",
        "gongfu log --since yesterdy", // typos: ignore
        "Pass a duration such as 30m, 6h or 2d, or a time such as 2026-11-24T08:00:00Z.",
    ),
    (
        "NO_TERMINAL",
        "A question has to be asked, and there is no terminal.",
        "gongfu uninstall in a script",
        "Pass --yes, or run it in a terminal.",
    ),
    (
        "NO_PROJECT",
        "The folder is not a project that programs may work on.",
        "gongfu skill new x --in project, in /",
        "Go to a project, or pass --workspace.",
    ),
    (
        "RELATIVE_WORKSPACE",
        "An entry for all projects can't have a relative workspace.",
        "gongfu client install cursor -- --workspace .",
        "Leave it out, add --scope project, or use an absolute path.",
    ),
];

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
    let wanted = wanted.trim();
    let found = entries
        .iter()
        .find(|entry| entry.code.eq_ignore_ascii_case(wanted));
    let Some(entry) = found else {
        let nearest = near::nearest_first(wanted, entries.iter().map(|entry| entry.code));
        let nearest: Vec<&str> = nearest.into_iter().take(MAX_NEAREST).collect();
        let hint = format!(
            "did you mean {}? `gongfu explain` lists all codes",
            nearest.join(", ")
        );
        let message = format!("there is no code `{}`", plain(wanted));
        terminal.problem("UNKNOWN_CODE", &message, &hint);
        return Ok(Outcome::WrongUse);
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
    let own = OWN.iter().map(|&(code, meaning, example, fix)| Entry {
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
