//! `skill_check`: the findings of all enabled skills of the library.

use gongfu_core::library::{Library, Skill};
use gongfu_core::pipeline::StepError;
use gongfu_core::skill::check::{self, script};
use gongfu_core::skill::{self, Diagnostic, Folder, SKILL_FILE};
use gongfu_core::text;
use gongfu_hub::{Call, shelf};
use serde_json::{Map, Value, json};

use super::{Running, StepTool};

/// The skills that are shown in detail, unless a parameter says otherwise.
const LIMIT: usize = 50;
/// The highest limit.
const MAX_LIMIT: usize = 500;
/// The findings of a skill that are shown.
const MAX_FINDINGS: usize = 10;

pub(super) struct SkillCheck;

impl StepTool for SkillCheck {
    fn name(&self) -> &'static str {
        "skill_check"
    }

    fn run<'a>(&'a self, params: Map<String, Value>, call: &'a Call) -> Running<'a> {
        Box::pin(async move {
            let limit = limit(&params)?;
            let library = shelf::library(call).await;
            let library = library.map_err(|error| StepError::new(error.to_string()))?;
            Ok(report(&library, limit, call).await)
        })
    }
}

fn limit(params: &Map<String, Value>) -> Result<usize, StepError> {
    if let Some(name) = params.keys().find(|name| *name != "limit") {
        let what = format!("`skill_check` has no parameter `{name}`: it has `limit`");
        return Err(StepError::last(what));
    }
    let Some(limit) = params.get("limit") else {
        return Ok(LIMIT);
    };
    let limit = limit.as_u64().and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.filter(|limit| *limit <= MAX_LIMIT);
    limit.ok_or_else(|| {
        StepError::last(format!(
            "`limit` must be a whole number, at most {MAX_LIMIT}"
        ))
    })
}

async fn report(library: &Library, limit: usize, call: &Call) -> Value {
    let enabled = || library.skills().iter().filter(|skill| skill.enabled);
    let sum = |count: fn(&Skill) -> usize| enabled().map(|skill| count(skill)).sum::<usize>();
    let mut skills: Vec<&Skill> = enabled()
        .map(AsRef::as_ref)
        .filter(|skill| skill.findings.total() > 0)
        .collect();
    // The worst first.
    skills.sort_by_key(|skill| {
        let count = skill.findings;
        std::cmp::Reverse((count.errors, count.warnings, count.infos))
    });
    let with_findings = skills.len();
    let mut shown = Vec::new();
    for skill in skills.into_iter().take(limit) {
        shown.push(details(skill, call).await);
    }
    let unloadable = library.unloadable().iter().take(limit);
    let unloadable = unloadable.map(|left| {
        let findings = left.diagnostics.iter().take(MAX_FINDINGS);
        json!({ "path": left.path, "findings": findings.map(in_words).collect::<Vec<_>>() })
    });
    json!({
        "total": enabled().count(),
        "errors": sum(|skill| skill.findings.errors),
        "warnings": sum(|skill| skill.findings.warnings),
        "notes": sum(|skill| skill.findings.infos),
        "with_findings": with_findings,
        "skills": shown,
        "unloadable": unloadable.collect::<Vec<_>>(),
    })
}

async fn details(skill: &Skill, call: &Call) -> Value {
    let count = skill.findings;
    let mut findings = findings(skill, call).await;
    findings.sort_by_key(Diagnostic::severity);
    let findings = findings.iter().take(MAX_FINDINGS);
    json!({
        "name": skill.name.as_str(),
        "full_name": &*skill.full_name,
        "errors": count.errors,
        "warnings": count.warnings,
        "notes": count.infos,
        "findings": findings.map(in_words).collect::<Vec<_>>(),
    })
}

/// The findings in the SKILL.md, the list of files and the scripts of a skill, as they are now.
async fn findings(skill: &Skill, call: &Call) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let folder = Folder {
        name: skill.folder.file_name().to_owned(),
        files: skill.files.to_vec(),
    };
    for file in &folder.files {
        let is_document = file.path.as_str().eq_ignore_ascii_case(SKILL_FILE);
        let is_script = script::is_script(&file.path) && file.size <= script::MAX_SCRIPT as u64;
        if !is_document && !is_script {
            continue;
        }
        // One that is gone by now has no findings; the counts are those of the library.
        let Ok(bytes) = shelf::file(call, skill, &file.path).await else {
            continue;
        };
        if is_document {
            if let Some(document) = skill::load(&bytes, &folder.name, &mut found) {
                check::folder(&folder, &document, &mut found);
            }
        } else {
            script::check(&file.path, &bytes, &folder, &mut found);
        }
    }
    found
}

fn in_words(found: &Diagnostic) -> Value {
    let words = text::finding(&found.finding);
    let mut json = json!({
        "severity": found.severity().as_str(),
        "code": found.finding.code(),
        "message": words.message,
        "hint": words.hint,
    });
    if let (Some(file), Some(fields)) = (&found.file, json.as_object_mut()) {
        fields.insert("file".to_owned(), file.as_str().into());
    }
    json
}
