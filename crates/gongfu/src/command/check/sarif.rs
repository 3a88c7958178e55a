//! Findings as SARIF 2.1.0 (OASIS), which code scanning services and editors read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gongfu_core::skill::{Diagnostic, SKILL_FILE, Severity};
use gongfu_core::text;
use gongfu_hub::surface::address;
use gongfu_library::check::Verdict;
use serde_json::{Value, json};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The base of relative paths; services put the root of the repository in its place.
const ROOT: &str = "%SRCROOT%";

/// The log of one run over these skills; paths below `here` are relative.
pub(super) fn log(skills: &[Verdict], here: Option<&Path>) -> Value {
    let found = || {
        let skills = skills.iter();
        skills.flat_map(|skill| skill.diagnostics.iter().map(move |found| (skill, found)))
    };
    let codes: BTreeSet<&str> = found().map(|(_, found)| found.finding.code()).collect();
    let codes: Vec<&str> = codes.into_iter().collect();
    let rules: Vec<Value> = codes
        .iter()
        .map(|code| rule(code, found().map(|(_, found)| found)))
        .collect();
    let results: Vec<Value> = found()
        .map(|(skill, found)| result(skill, found, &codes, here))
        .collect();
    let mut run = json!({
        "tool": {
            "driver": {
                "name": "gongfu",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    });
    if let Some(here) = here {
        run["originalUriBaseIds"] = json!({ ROOT: { "uri": format!("{}/", uri(here)) } });
    }
    json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] })
}

fn rule<'a>(code: &str, mut found: impl Iterator<Item = &'a Diagnostic>) -> Value {
    let severity = found.find(|found| found.finding.code() == code);
    let mut rule = json!({
        "id": code,
        "defaultConfiguration": { "level": level(severity.map_or(Severity::Error, Diagnostic::severity)) },
    });
    if let Some(explained) = text::explanation(code) {
        rule["shortDescription"] = json!({ "text": explained.meaning });
        rule["help"] = json!({ "text": explained.fix });
    }
    rule
}

fn result(skill: &Verdict, found: &Diagnostic, codes: &[&str], here: Option<&Path>) -> Value {
    let code = found.finding.code();
    let text = text::finding(&found.finding);
    // Services show a finding about a whole file at its first line.
    let (line, column) = found.position.map_or((1, 1), |at| (at.line, at.column));
    let place = json!({
        "artifactLocation": artifact(&file(skill, found), here),
        "region": { "startLine": line, "startColumn": column },
    });
    json!({
        "ruleId": code,
        "ruleIndex": codes.iter().position(|known| *known == code),
        "level": level(found.severity()),
        "message": { "text": format!("{}; {}", text.message, text.hint) },
        "locations": [{ "physicalLocation": place }],
    })
}

/// The file that a finding is about; services show none for a folder, so the SKILL.md stands for it.
fn file(skill: &Verdict, found: &Diagnostic) -> PathBuf {
    match &found.file {
        Some(file) => skill.path.join(file),
        None if skill.loadable => skill.path.join(SKILL_FILE),
        None => skill.path.clone(),
    }
}

fn artifact(path: &Path, here: Option<&Path>) -> Value {
    let relative = here.and_then(|here| path.strip_prefix(here).ok());
    match relative {
        Some(relative) if !relative.as_os_str().is_empty() => {
            // Before the first slash, a colon would end a scheme.
            let uri = address::encode_path(&slashes(relative)).replace(':', "%3A");
            json!({ "uri": uri, "uriBaseId": ROOT })
        }
        _ => json!({ "uri": uri(path) }),
    }
}

fn uri(path: &Path) -> String {
    let path = slashes(path);
    format!(
        "file:///{}",
        address::encode_path(path.trim_start_matches('/'))
    )
}

fn slashes(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}
