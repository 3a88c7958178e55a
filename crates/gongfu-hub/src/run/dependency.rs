//! The packages of a run: the environments that it gets, and proposals where it lacks packages.

use gongfu_core::dependency::{
    Failure, FailureKind, Language, MAX_FILE, Manifest, ManifestError, PackageSpec, Requirements,
    Texts, added_packages, guesses, inferred, is_known_package, is_manifest, languages,
    missing_modules, named_scripts, parse, requirement_problem, shortened,
};
use gongfu_core::library::Skill;
use gongfu_core::port::{Environment, PortError};
use gongfu_core::skill::SkillPath;
use schemars::JsonSchema;
use serde::Serialize;

use super::RunRequest;
use crate::call::{Call, Event};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// The limit of what an answer tells that was left out.
const MAX_LEFT_OUT: usize = 20;
/// The limit of modules that an answer proposes packages for.
const MAX_PROPOSED: usize = 50;
/// The length of a key for people.
const SHORT_KEY: usize = 12;

/// A package environment that a run used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EnvironmentReport {
    /// `python` or `node`.
    language: &'static str,
    /// The files that declare its packages.
    from: String,
    /// The number of its packages.
    packages: usize,
    /// Its name in `gongfu env list`.
    key: String,
    /// Built for this run; later ones don't wait for it.
    made: bool,
    /// Packages that aren't installed, and why; and other parts of the files that are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

/// Packages that a run may lack, because the skill doesn't declare them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PackageProposal {
    /// `python` or `node`.
    language: &'static str,
    /// The modules that weren't found.
    missing: Vec<String>,
    /// The packages that the scripts would need, by their imports.
    packages: Vec<String>,
    /// Those of them that aren't in gongfu's table: anybody can publish a package under the name of
    /// a module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
    /// The file that declares packages, but not these; missing if the skill has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_in: Option<String>,
    /// How to fix it.
    pub(super) advice: String,
}

/// The packages of a run.
#[derive(Default)]
pub(super) struct RunPackages {
    pub(super) environments: Vec<Environment>,
    pub(super) reports: Vec<EnvironmentReport>,
    /// The manifest of each language, with the reason why it couldn't be built, although the run went on.
    manifests: Vec<(Manifest, Option<String>)>,
}

/// Provides the packages of a run: builds the environments that don't exist yet.
///
/// # Errors
/// A manifest of the skill can't be followed, or its packages can't be installed: scripts would fail
/// without them.
pub(super) async fn provide(call: &Call, request: &RunRequest) -> Result<RunPackages, ToolError> {
    let mut provided = RunPackages::default();
    let Some(skill) = &request.skill else {
        return Ok(provided);
    };
    let languages = languages(&request.command);
    if languages.is_empty() {
        return Ok(provided);
    }
    let files = skill.files.iter().map(|file| &file.path);
    let scripts = named_scripts(&request.command, files);
    let texts = texts(call, skill, &scripts).await?;
    for &language in &languages {
        let manifest = parse(language, &texts, &scripts);
        let manifest = manifest.map_err(|error| invalid(language, error))?;
        let added = match language {
            Language::Python => added_packages(&request.command),
            Language::Node => Vec::new(),
        };
        let (manifest, refused) = with_added(manifest, &added);
        let installs = call.space.installs();
        // Guesses are for commands that certainly run the language.
        let may_guess = installs.inferred && languages == [language];
        let mut manifest = match manifest {
            Some(manifest) if may_guess => completed(call, skill, manifest, &scripts).await?,
            Some(manifest) => manifest,
            None => guessed(call, skill, language, &scripts).await?,
        };
        manifest.warnings.extend(refused.iter().cloned());
        let is_allowed = if manifest.is_inferred() {
            may_guess
        } else {
            installs.declared
        };
        let problem = provided.add(call, skill, &manifest, is_allowed).await?;
        provided.report_refused(&manifest, refused);
        provided.manifests.push((manifest, problem));
    }
    Ok(provided)
}

/// A manifest with what it leaves out of the packages that the scripts of a command can't start without.
async fn completed(
    call: &Call,
    skill: &Skill,
    manifest: Manifest,
    scripts: &[SkillPath],
) -> Result<Manifest, ToolError> {
    if scripts.is_empty() || !manifest.may_be_incomplete() {
        return Ok(manifest);
    }
    let imported = inferred(manifest.language, skill.files.iter(), scripts);
    let environments = call.space.environments();
    match environments
        .imports(skill, &imported)
        .await
        .map_err(broken)?
    {
        Ok(imports) => Ok(manifest.completed(scripts, &imports)),
        // What is declared may do.
        Err(failure) => {
            tracing::info!(skill = %skill.full_name, %failure, "the imports of scripts can't be read");
            Ok(manifest)
        }
    }
}

/// A manifest of what the scripts of a command import; of all scripts of the skill, if a person has that installed.
async fn guessed(
    call: &Call,
    skill: &Skill,
    language: Language,
    scripts: &[SkillPath],
) -> Result<Manifest, ToolError> {
    let all = inferred(language, skill.files.iter(), &[]);
    let environments = call.space.environments();
    if all.is_empty() || environments.find(&all).await.map_err(broken)?.is_some() {
        return Ok(all);
    }
    Ok(inferred(language, skill.files.iter(), scripts))
}

/// A manifest with the packages that the command adds, and those that it can't. Nobody but an agent vouches for them,
/// so that they have to be in the table.
fn with_added(manifest: Option<Manifest>, added: &[String]) -> (Option<Manifest>, Vec<String>) {
    let is_declared = manifest.is_some();
    let mut manifest = manifest.unwrap_or_else(|| Manifest {
        language: Language::Python,
        files: Vec::new(),
        packages: PackageSpec::Requirements(Requirements::default()),
        warnings: Vec::new(),
        allowed: Vec::new(),
    });
    let mut refused = Vec::new();
    for line in added {
        let name = line.split(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
        let name = name.into_iter().next().unwrap_or_default();
        let why = match (&mut manifest.packages, requirement_problem(line)) {
            (_, Some(why)) => why,
            (PackageSpec::Requirements(requirements), None)
                if !requirements.is_lock && is_known_package(Language::Python, name) =>
            {
                requirements.lines.push(line.clone());
                continue;
            }
            (PackageSpec::Requirements(requirements), None) if !requirements.is_lock => format!(
                "`{line}` isn't in gongfu's list of known packages, and anyone can publish under that name; add it to the skill's requirements.txt"
            ),
            (_, None) => format!("`{line}` can't be added to a lock; add it to the skill"),
        };
        refused.push(format!("left out: --with {why}"));
    }
    let has_any = is_declared || !manifest.is_empty();
    (has_any.then_some(manifest), refused)
}

impl RunPackages {
    /// Adds the environment of a manifest; answers why it couldn't be built, where the run can go on.
    async fn add(
        &mut self,
        call: &Call,
        skill: &Skill,
        manifest: &Manifest,
        is_allowed: bool,
    ) -> Result<Option<String>, ToolError> {
        if manifest.is_empty() {
            return Ok(None);
        }
        let environments = call.space.environments();
        if let Some(environment) = environments.find(manifest).await.map_err(broken)? {
            self.take(manifest, environment, false);
            return Ok(None);
        }
        if !is_allowed {
            return Ok(None);
        }
        let listener = call.events.listener();
        let built = environments.build(skill, manifest.clone(), listener).await;
        match built.map_err(broken)? {
            Ok(built) => {
                call.events.send(Event::Contacts(&built.contacts));
                self.take(manifest, built.environment, true);
                Ok(None)
            }
            // A guess may be wrong, and the script may do without it.
            Err(failure) if manifest.is_inferred() => {
                tracing::info!(skill = %skill.full_name, %failure, "the imports of scripts can't be installed");
                Ok(Some(failure.why))
            }
            // The script may do without packages as well; if not, the proposal tells the reason.
            Err(failure) if failure.kind == FailureKind::Sandbox => Ok(Some(failure.why)),
            Err(failure) => Err(problem(manifest.language, manifest.origin(), failure)),
        }
    }

    fn take(&mut self, manifest: &Manifest, environment: Environment, is_new: bool) {
        let built = environment.record.left_out.iter();
        let left_out = manifest.warnings.iter();
        let left_out = left_out.chain(built.filter(|line| !manifest.warnings.contains(line)));
        let left_out = shortened(left_out.cloned(), MAX_LEFT_OUT);
        if environment.mount.is_some() || !left_out.is_empty() {
            self.reports.push(EnvironmentReport {
                language: manifest.language.as_str(),
                from: manifest.origin(),
                packages: environment.record.packages.len(),
                key: environment.record.key.chars().take(SHORT_KEY).collect(),
                made: is_new,
                left_out,
            });
        }
        self.environments.push(environment);
    }

    /// Reports the additions that were refused, where the run got no environment whose report has them.
    fn report_refused(&mut self, manifest: &Manifest, mut refused: Vec<String>) {
        let language = manifest.language.as_str();
        let is_reported = self
            .reports
            .iter()
            .any(|report| report.language == language);
        if refused.is_empty() || is_reported {
            return;
        }
        refused.truncate(MAX_LEFT_OUT);
        self.reports.push(EnvironmentReport {
            language,
            from: manifest.origin(),
            packages: 0,
            key: String::new(),
            made: false,
            left_out: refused,
        });
    }

    /// Proposes packages to a program whose output says that it didn't find a module.
    pub(super) async fn proposals(
        &self,
        call: &Call,
        skill: &Skill,
        output: &str,
    ) -> Vec<PackageProposal> {
        let all_missing = missing_modules(output);
        let mut proposals = Vec::new();
        for (manifest, sandbox_problem) in &self.manifests {
            let language = manifest.language;
            let missing = all_missing.iter().filter(|(of, _)| *of == language);
            let missing = missing.map(|(_, module)| module.clone());
            let missing: Vec<String> = missing.take(MAX_PROPOSED).collect();
            if missing.is_empty() {
                continue;
            }
            let mut modules = missing.clone();
            if manifest.is_inferred() {
                let imports = call.space.environments().imports(skill, manifest).await;
                if let Ok(Ok(imports)) = imports {
                    modules.extend(imports.modules.into_keys());
                }
            }
            modules.truncate(MAX_PROPOSED);
            let guesses = guesses(language, modules.iter().map(String::as_str));
            let unknown = guesses.iter().filter(|guess| !guess.is_known);
            let unknown: Vec<String> = unknown.map(|guess| guess.package.clone()).collect();
            let packages = guesses.into_iter().map(|guess| guess.package);
            let packages: Vec<String> = packages.collect();
            let declared_in = (!manifest.is_inferred()).then(|| manifest.origin());
            let names = packages.join(", ");
            let advice = match (&declared_in, sandbox_problem) {
                (Some(file), Some(why)) => {
                    format!("the packages of {file} can't be installed on this machine: {why}")
                }
                (Some(file), None) => format!("add {names} to {file} of the skill"),
                (None, problem) => {
                    let file = match language {
                        Language::Python => "requirements.txt",
                        Language::Node => "package.json",
                    };
                    let problem = problem.as_ref().map(|why| format!(" (now: {why})"));
                    let allow = unknown.iter().map(|name| format!(" --allow {name}"));
                    format!(
                        "the skill declares none; add {names} to its {file}, or a person can install them with `gongfu env build {} --inferred{}`{}",
                        skill.full_name,
                        allow.collect::<String>(),
                        problem.unwrap_or_default()
                    )
                }
            };
            proposals.push(PackageProposal {
                language: language.as_str(),
                missing,
                packages,
                unknown,
                declared_in,
                advice,
            });
        }
        proposals
    }
}

/// The texts of the manifests of a skill and of these scripts. Files that runs wrote beside the skill don't
/// count: a script without a network could send words to the index by them.
async fn texts(call: &Call, skill: &Skill, scripts: &[SkillPath]) -> Result<Texts, ToolError> {
    let mut texts = Texts::new();
    for file in skill.files.iter().filter(|file| file.size <= MAX_FILE) {
        if is_manifest(&file.path) || scripts.contains(&file.path) {
            let bytes = shelf::file(call, skill, &file.path).await?;
            if let Ok(text) = String::from_utf8(bytes) {
                texts.insert(file.path.clone(), text);
            }
        }
    }
    Ok(texts)
}

/// The manifests of a skill, whichever script runs. A language without one has its imports instead.
///
/// # Errors
/// A manifest can't be followed.
pub(crate) async fn manifests(call: &Call, skill: &Skill) -> Result<Vec<Manifest>, ToolError> {
    let files = skill.files.iter().map(|file| &file.path);
    let scripts = files.filter(|path| path.extension() == "py");
    let scripts: Vec<SkillPath> = scripts.cloned().collect();
    let texts = texts(call, skill, &scripts).await?;
    let mut all = Vec::new();
    for language in Language::ALL {
        let declared = |scripts: &[SkillPath]| {
            parse(language, &texts, scripts).map_err(|error| invalid(language, error))
        };
        let mut found = Vec::from_iter(declared(&[])?);
        if found.is_empty() && language == Language::Python {
            for script in &scripts {
                found.extend(declared(std::slice::from_ref(script))?);
            }
        }
        if found.is_empty() {
            found.push(inferred(language, skill.files.iter(), &[]));
        }
        found.retain(|manifest| !manifest.is_empty());
        all.extend(found);
    }
    Ok(all)
}

fn invalid(language: Language, error: ManifestError) -> ToolError {
    problem(language, error.file.clone(), error.into())
}

/// The error of a call whose environment can't be built.
pub(crate) fn problem(language: Language, from: String, failure: Failure) -> ToolError {
    let problem = match failure.kind {
        FailureKind::Sandbox => Problem::SandboxUnavailable {
            reason: failure.why,
        },
        _ => Problem::Dependencies {
            language,
            from,
            failure,
        },
    };
    problem.error()
}

/// The error of a call when the environments can't be read.
pub(crate) fn broken(error: PortError) -> ToolError {
    Problem::broken("environments", &error).error()
}
