//! The packages that what is run needs: which environment it is given, and what is proposed where nobody
//! says what it needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::dependency::{
    Failure, Kind, LONGEST, Language, Manifest, Texts, Unfit, declared, distributions, imported,
    is_told_by, missing, named, needs,
};
use gongfu_core::library::Skill;
use gongfu_core::port::Environment;
use gongfu_core::sandbox::Command;
use gongfu_core::skill::SkillPath;
use schemars::JsonSchema;
use serde::Serialize;

use super::Task;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;
use crate::tool::Context;

/// Which packages are installed without anybody being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Installs {
    /// Those that a skill says it needs.
    pub declared: bool,
    /// Those that its scripts import, where it says nothing.
    pub inferred: bool,
}

impl Default for Installs {
    /// What is declared, and no guess.
    fn default() -> Self {
        Self {
            declared: true,
            inferred: false,
        }
    }
}

/// An environment that a run had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Used {
    /// `python` or `node`.
    language: &'static str,
    /// What says which packages are in it.
    from: String,
    /// How many there are.
    packages: usize,
    /// What it is called by; see `gongfu env list`.
    key: String,
    /// Whether it was made for this run: later ones needn't wait for that.
    made: bool,
}

/// Packages that a run may lack, which nobody declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Proposed {
    /// `python` or `node`.
    language: &'static str,
    /// What wasn't found.
    missing: Vec<String>,
    /// The packages that all scripts of the skill would need, by what they import.
    packages: Vec<String>,
    /// The file in which a skill says what it needs, and which lacks these; missing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_in: Option<String>,
    /// What to do about it.
    pub(super) advice: String,
}

/// What a run is given, and what was said of it.
#[derive(Default)]
pub(super) struct Given {
    pub(super) environments: Vec<Environment>,
    pub(super) used: Vec<Used>,
    /// What says what is needed, by language.
    manifests: BTreeMap<Language, Manifest>,
    /// Why what is needed isn't there, by language, where no sandbox works in which it could be made.
    unmade: BTreeMap<Language, String>,
}

/// What the texts of a skill say of what it needs.
pub(crate) struct Told {
    texts: Texts,
    scripts: Vec<SkillPath>,
}

impl Told {
    /// What the skill itself says, to a run of these scripts. What runs left beside it says nothing: a script
    /// without a network would have words sent to the index.
    ///
    /// # Errors
    /// A file can't be read.
    async fn of(
        context: &Context,
        skill: &Skill,
        scripts: Vec<SkillPath>,
    ) -> Result<Self, ToolError> {
        let all = skill.files.iter().filter(|file| file.size <= LONGEST);
        let all = all.map(|file| &file.path);
        let mut texts = Texts::new();
        for path in all.filter(|path| is_told_by(path) || scripts.contains(path)) {
            if texts.contains_key(path) {
                continue;
            }
            let bytes = shelf::file(context, skill, path).await?;
            // What is no text says nothing.
            if let Ok(text) = String::from_utf8(bytes) {
                texts.insert(path.clone(), text);
            }
        }
        Ok(Self { texts, scripts })
    }

    fn declared(&self, language: Language) -> Result<Option<Manifest>, Unfit> {
        declared(language, &self.texts, &self.scripts)
    }
}

/// What a run of a task is given; what isn't there yet is made.
///
/// # Errors
/// What the skill says it needs can't be followed, or can't be had: its scripts would fail without.
pub(super) async fn given(context: &Context, task: &Task) -> Result<Given, ToolError> {
    let mut given = Given::default();
    let Some(skill) = &task.skill else {
        return Ok(given);
    };
    let needs = needs(&task.command);
    if !needs.python && !needs.node {
        return Ok(given);
    }
    let files = skill.files.iter().map(|file| &file.path);
    let scripts = named(&task.command, files);
    let told = Told::of(context, skill, scripts).await?;
    for language in Language::ALL {
        let is_needed = match language {
            Language::Python => needs.python,
            Language::Node => needs.node,
        };
        if is_needed {
            given
                .language(context, skill, language, &told, &task.command)
                .await?;
        }
    }
    Ok(given)
}

impl Given {
    async fn language(
        &mut self,
        context: &Context,
        skill: &Skill,
        language: Language,
        told: &Told,
        command: &Command,
    ) -> Result<(), ToolError> {
        let found = told.declared(language);
        let found = found.map_err(|unfit| problem(language, unfit.file.clone(), unfit.into()))?;
        let manifest = found.unwrap_or_else(|| imported(language, skill.files.iter()));
        if manifest.is_empty() {
            self.manifests.insert(language, manifest);
            return Ok(());
        }
        let owner = &context.actor.owner;
        let there = context.environments.find(owner, &manifest).await;
        let there = there.map_err(|error| Problem::broken("environments", &error).error())?;
        let wanted = if manifest.is_inferred() {
            // Whatever is guessed is for those that are written in the language.
            context.installs.inferred && names_language(command, language)
        } else {
            context.installs.declared
        };
        if let Some(environment) = there {
            self.take(&manifest, environment, false);
        } else if wanted {
            let heard = Arc::clone(&context.talk.heard);
            let made = context
                .environments
                .make(owner, skill, manifest.clone(), heard)
                .await;
            let made = made.map_err(|error| Problem::broken("environments", &error).error())?;
            match made {
                Ok(made) => {
                    context.hosts.leave(&made.contacts);
                    self.take(&manifest, made.environment, true);
                }
                // A guess may be wrong, and the script may do without.
                Err(failure) if manifest.is_inferred() => {
                    tracing::info!(skill = %skill.full_name, %failure, "what scripts import can't be installed");
                }
                // A sandbox that can't reach an index is no reason not to run what may do without; if it
                // doesn't, that is said.
                Err(failure) if failure.kind == Kind::Sandbox => {
                    self.unmade.insert(language, failure.why);
                }
                Err(failure) => return Err(problem(language, manifest.from(), failure)),
            }
        }
        self.manifests.insert(language, manifest);
        Ok(())
    }

    fn take(&mut self, manifest: &Manifest, environment: Environment, made: bool) {
        if environment.mount.is_some() {
            self.used.push(Used {
                language: manifest.language.as_str(),
                from: manifest.from(),
                packages: environment.record.packages.len(),
                key: short(&environment.record.key),
                made,
            });
        }
        self.environments.push(environment);
    }

    /// What is proposed to somebody whose program didn't find what it imports.
    pub(super) async fn proposed(
        &self,
        context: &Context,
        skill: &Skill,
        said: &str,
    ) -> Vec<Proposed> {
        let mut proposed = Vec::new();
        for language in Language::ALL {
            let of_it = missing(said).into_iter();
            let lacks: Vec<String> = of_it
                .filter(|(of, _)| *of == language)
                .map(|(_, name)| name)
                .collect();
            let Some(manifest) = self.manifests.get(&language).filter(|_| !lacks.is_empty()) else {
                continue;
            };
            let mut modules: Vec<String> = lacks.clone();
            if manifest.is_inferred() {
                let owner = &context.actor.owner;
                let imports = context.environments.imports(owner, skill, manifest).await;
                if let Ok(Ok(imports)) = imports {
                    modules.extend(imports.modules.into_keys());
                }
            }
            let packages = distributions(language, modules.iter().map(String::as_str));
            let declared_in = (!manifest.is_inferred()).then(|| manifest.from());
            let names = packages.join(", ");
            let advice = match (&declared_in, self.unmade.get(&language)) {
                (Some(file), Some(why)) => {
                    format!("what {file} names can't be installed on this machine: {why}")
                }
                (Some(file), None) => format!("add {names} to {file} of the skill"),
                (None, _) => format!(
                    "nothing says what the skill needs: write {names} into its {}; or a person has it installed by `gongfu env build {} --inferred`",
                    match language {
                        Language::Python => "requirements.txt",
                        Language::Node => "package.json",
                    },
                    skill.full_name
                ),
            };
            proposed.push(Proposed {
                language: language.as_str(),
                missing: lacks,
                packages,
                declared_in,
                advice,
            });
        }
        proposed
    }
}

/// Whether a command runs something of a language for certain.
fn names_language(command: &Command, language: Language) -> bool {
    let needs = needs(command);
    match language {
        Language::Python => needs.python && !needs.node,
        Language::Node => needs.node && !needs.python,
    }
}

/// The beginning of a key, which is enough for people.
pub(crate) fn short(key: &str) -> String {
    key.chars().take(12).collect()
}

/// An environment that can't be made, as the problem of a call.
pub(crate) fn problem(language: Language, from: String, failure: Failure) -> ToolError {
    let error = match failure.kind {
        Kind::Sandbox => Problem::SandboxUnavailable {
            reason: failure.why,
        },
        _ => Problem::Dependencies {
            language,
            from,
            failure,
        },
    };
    error.error()
}

/// Everything that a skill says it needs, whatever of it is run: what it says itself, else each of its
/// scripts; with `inferred` also what they import.
///
/// # Errors
/// What it says can't be followed.
pub(crate) async fn all(
    context: &Context,
    skill: &Skill,
    inferred: bool,
) -> Result<Vec<Manifest>, ToolError> {
    let files = skill.files.iter().map(|file| &file.path);
    let scripts: Vec<SkillPath> = files
        .filter(|path| path.extension() == "py")
        .cloned()
        .collect();
    let told = Told::of(context, skill, scripts.clone()).await?;
    let unfit = |language, unfit: Unfit| problem(language, unfit.file.clone(), unfit.into());
    let mut all: Vec<Manifest> = Vec::new();
    for language in Language::ALL {
        let whole = declared(language, &told.texts, &[]).map_err(|error| unfit(language, error))?;
        let of_scripts = scripts
            .iter()
            .filter(|_| language == Language::Python && whole.is_none());
        let mut found = Vec::new();
        for script in of_scripts {
            let one = declared(language, &told.texts, std::slice::from_ref(script));
            found.extend(one.map_err(|error| unfit(language, error))?);
        }
        found.extend(whole);
        if found.is_empty() && inferred {
            found.push(imported(language, skill.files.iter()));
        }
        for manifest in found.into_iter().filter(|manifest| !manifest.is_empty()) {
            if !all.contains(&manifest) {
                all.push(manifest);
            }
        }
    }
    Ok(all)
}
