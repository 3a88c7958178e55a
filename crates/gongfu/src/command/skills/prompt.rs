//! `gongfu skills use`: one skill of a source as a prompt, and its other files in a temporary folder.

use anyhow::Context as _;
use gongfu_core::skill::SkillPath;
use gongfu_files::disk::{Root, random_name};
use gongfu_import::discover::FoundSkill;
use gongfu_import::scope::Scope;
use gongfu_import::source::Source;

use crate::cli::SkillsUseArguments;
use crate::command::Outcome;
use crate::command::skill::add::{chosen, source};
use crate::command::skill::import::{Importer, failure};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::terminal::{Terminal, plain};
use crate::wiring;

pub(super) fn run(
    arguments: &SkillsUseArguments,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home(environment)?;
    let source = source(&arguments.source, None, environment)?;
    let mut names: Vec<String> = arguments.skill.clone().into_iter().collect();
    if let Source::Git(git) = &source {
        names.extend(git.skill.clone());
    }
    let base = environment.directory.as_deref();
    let base = base.context("there is no current folder")?;
    let scope = Scope::project(base);
    let importer = Importer::new(environment, &home, &scope)?;
    let download = importer.fetch(&source, &names, arguments.full_depth);
    let mut download = download.map_err(failure)?;
    let found = &mut download.delivery.discovery.skills;
    found.retain(FoundSkill::is_found_elsewhere);
    let skills = chosen(&download.delivery, &names, false).map_err(failure)?;
    if skills.len() != 1 {
        let known: Vec<String> = skills.iter().map(|skill| plain(&skill.name)).collect();
        let message = format!("the source has {} skills", skills.len());
        let hint = format!("name one of them with --skill: {}", known.join(", "));
        return Err(Failure::usage("MISSING_ARGUMENT", message, hint).into());
    }
    let mut staged = download.stage(skills.clone()).map_err(failure)?;
    let has_more = staged.iter().any(|skill| skill.files.len() > 1);
    if has_more {
        // It stays, as the prompt is followed later.
        let path = std::env::temp_dir().join(random_name("gongfu-use-"));
        let root = Root::create_private(&path);
        let root = root.context("the folder for temporary files can't be written")?;
        staged = download.stage_into(skills, &root).map_err(failure)?;
    }
    for skill in &staged {
        if !skill.findings.is_empty() {
            terminal.note(&format!("findings: {}", skill.findings.join(", ")));
        }
        let file = SkillPath::new(skill.found.document)?;
        let document = Root::open(&skill.staged)?.read(&file, u64::MAX)?;
        let mut prompt = b"Use this skill for what the user asks for next. Its SKILL.md has your instructions:\n\n<SKILL.md>\n".to_vec();
        prompt.extend(&document.bytes);
        prompt.extend(b"\n</SKILL.md>\n");
        if has_more {
            let folder = plain(&skill.staged.to_string_lossy());
            prompt.extend(
                format!("\nPaths in it are relative to {folder}, where its other files are.\n")
                    .bytes(),
            );
        }
        terminal.file(&prompt)?;
    }
    Ok(Outcome::Good)
}
