//! Builds packages that the index has no wheel of, where the operator says so.
//!
//! A build runs code of the package. So the source and the tools are fetched first, by steps that run none of it. The
//! build itself has no network, and writes to a folder of its own, which no other step sees. The server takes a single
//! wheel out of it.

use std::io;
use std::sync::Arc;

use gongfu_core::dependency::{Failure, FailureKind, PackageSpec, requirement_problem};
use gongfu_core::skill::SkillPath;
use serde_json::Value;

use super::{Build, disk};
use crate::python::normal_name;
use crate::recipe::{Recipe, Step};
use crate::storage::BuildFolder;
use gongfu_files::disk::{EntryKind, Root};

/// The limit of packages that are built for one environment.
const MAX_BUILDS: usize = 8;
/// The limit of packages that the build of one may require.
const MAX_REQUIRES: usize = 100;
/// The folder of wheels that were built, below the inputs: a build writes to none of them.
const WHEELS: &str = "wheels";
const FIND_LINKS: &str = "/in/wheels";
const FETCH: &str = include_str!("../fetch_source.py");

const FETCH_SOURCE: Step = Step::online(
    "exec \"$INTERPRETER\" -I -S /in/fetch_source.py \"$BUILD_NAME\" \"$BUILD_VERSIONS\" /build/source",
)
.in_scratch();

const FETCH_TOOLS: Step = Step::online(
    "exec uv pip install --quiet --python \"$INTERPRETER\" --target /build/tools --only-binary :all: --no-sources --link-mode copy -r /in/build-requires.txt",
)
.in_scratch();

const BUILD: Step = Step::offline(
    "export PYTHONPATH=/build/tools
exec uv build --quiet --wheel --offline --no-build-isolation --python \"$INTERPRETER\" --out-dir /build/wheels /build/source/*.tar.gz >&2",
)
.in_scratch();

/// A source distribution that was fetched.
#[derive(Debug, PartialEq, Eq)]
struct Source {
    version: String,
    /// The packages that its build requires (PEP 518).
    requires: Vec<String>,
}

impl Build<'_> {
    /// Runs the step that resolves, and builds what has no wheel, as far as the operator allows it.
    pub(crate) async fn resolve_with_builds(
        &mut self,
        recipe: &mut Recipe,
        step: Step,
    ) -> Result<(), Failure> {
        let mut built: Vec<String> = Vec::new();
        loop {
            let Err(failure) = self.sandbox.run(recipe, step).await else {
                return Ok(());
            };
            let name = failure.package.clone().unwrap_or_default();
            let is_allowed = failure.kind == FailureKind::NothingBuilt
                && self.sandbox.inner.settings.may_build(&name)
                && requirement_problem(&name).is_none();
            if !is_allowed || built.contains(&name) || built.len() >= MAX_BUILDS {
                return Err(failure);
            }
            if let Err(failure) = self.build_source(recipe, &name).await {
                let why = format!("{name}: the build failed: {}", failure.why);
                self.leave_out(&why);
                return Err(Failure {
                    kind: FailureKind::NothingBuilt,
                    ..failure
                });
            }
            built.push(name);
            let links = ("UV_FIND_LINKS".to_owned(), FIND_LINKS.to_owned());
            recipe.variables.extend([links]);
            // The step that failed could have installed some of the packages: their code must not run in the next.
            self.prepare(recipe).await?;
        }
    }

    async fn build_source(&mut self, recipe: &Recipe, name: &str) -> Result<(), Failure> {
        self.sandbox
            .report(&format!("building {name} without a network"));
        let mut recipe = recipe.clone();
        let versions = self.versions(name);
        recipe.variables.extend([
            ("BUILD_NAME".to_owned(), name.to_owned()),
            ("BUILD_VERSIONS".to_owned(), versions),
        ]);
        self.clear_scratch().await?;
        self.write_input("fetch_source.py", FETCH)?;
        let printed = self.sandbox.run(&recipe, FETCH_SOURCE).await?;
        let source = source(name, &printed)
            .map_err(|why| Failure::new(FailureKind::ManifestInvalid, why))?;
        self.write_input("build-requires.txt", &(source.requires.join("\n") + "\n"))?;
        self.sandbox.run(&recipe, FETCH_TOOLS).await?;
        self.sandbox.run(&recipe, BUILD).await?;
        let (folder, name) = (Arc::clone(&self.sandbox.folder), name.to_owned());
        let taken = disk(move || Ok(take_wheel(&folder, &name, &source.version))).await?;
        taken.map_err(|error| Failure::new(FailureKind::Other, error.to_string()))?;
        // No step with a network sees what the build has left.
        self.clear_scratch().await
    }

    async fn clear_scratch(&self) -> Result<(), Failure> {
        let folder = Arc::clone(&self.sandbox.folder);
        disk(move || folder.clear_scratch()).await
    }

    /// The versions that the manifest wants of a package, as text.
    fn versions(&self, name: &str) -> String {
        let (PackageSpec::Requirements(requirements) | PackageSpec::Project { requirements, .. }) =
            &self.manifest.packages
        else {
            return String::new();
        };
        let lines = requirements.lines.iter().chain(&requirements.constraints);
        let of_it = lines.filter_map(|line| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            let (own, rest) = line.split_at(line.find(|c| !is_name(c)).unwrap_or(line.len()));
            (normal_name(own) == normal_name(name))
                .then(|| rest.split(';').next().unwrap_or_default().to_owned())
        });
        of_it.collect::<Vec<_>>().join(",")
    }
}

/// Reads what [`FETCH_SOURCE`] printed of a package: the text is the index's and the package's.
fn source(name: &str, printed: &str) -> Result<Source, String> {
    let wrong = || {
        format!(
            "the index has no usable source distribution of {name}; require another version of it"
        )
    };
    let printed: Value = serde_json::from_str(printed).map_err(|_| wrong())?;
    let stem = printed
        .get("file")
        .and_then(Value::as_str)
        .and_then(|file| file.strip_suffix(".tar.gz"));
    let (package, version) = stem
        .and_then(|stem| stem.rsplit_once('-'))
        .ok_or_else(wrong)?;
    if normal_name(package) != normal_name(name) || release(version).is_none() {
        return Err(wrong());
    }
    let no_list = || {
        format!(
            "its `build-system.requires` is not a list of at most {MAX_REQUIRES} strings; require another version of {name}"
        )
    };
    let requires = printed
        .get("requires")
        .and_then(Value::as_array)
        .ok_or_else(no_list)?;
    if requires.len() > MAX_REQUIRES {
        return Err(no_list());
    }
    let mut lines = Vec::new();
    for line in requires {
        let line = line.as_str().ok_or_else(no_list)?;
        if let Some(why) = requirement_problem(line.trim_matches(' ')) {
            return Err(format!("its `build-system.requires`: {why}"));
        }
        lines.push(line.trim_matches(' ').to_owned());
    }
    Ok(Source {
        version: version.to_owned(),
        requires: lines,
    })
}

/// Copies the wheel that a build has made to the inputs.
///
/// # Errors
/// There are none or several, or it isn't of this package and version.
fn take_wheel(folder: &BuildFolder, name: &str, version: &str) -> io::Result<()> {
    let made = Root::open(&folder.scratch)?;
    let made = made.below(&SkillPath::new(WHEELS).map_err(io::Error::other)?)?;
    let mut files = made.list(&SkillPath::root())?;
    files.retain(|entry| entry.name.strip_suffix(".whl").is_some());
    let [wheel] = files.as_slice() else {
        let why = format!("its build produced {} wheels instead of one", files.len());
        return Err(io::Error::other(why));
    };
    if wheel.kind != EntryKind::File || !is_wheel_of(&wheel.name, name, version) {
        let why = format!("its build didn't produce a wheel of {name} {version}");
        return Err(io::Error::other(why));
    }
    let path = SkillPath::new(&wheel.name).map_err(io::Error::other)?;
    let (file, _) = made.open_file(&path)?;
    let inputs = Root::open(&folder.inputs)?;
    inputs.dir().create_dir_all(WHEELS)?;
    let mut target = inputs.dir().create(format!("{WHEELS}/{}", wheel.name))?;
    io::copy(&mut file.into_std(), &mut target)?;
    Ok(())
}

/// True if a file name is that of a wheel (PEP 427) of this package and version.
fn is_wheel_of(file: &str, name: &str, version: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+".contains(c);
    let stem = file.strip_suffix(".whl").unwrap_or_default();
    let parts: Vec<&str> = stem.split('-').collect();
    let (Some(own), Some(of)) = (parts.first(), parts.get(1)) else {
        return false;
    };
    matches!(parts.len(), 5 | 6)
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.chars().all(is_plain))
        && normal_name(own) == normal_name(name)
        && release(of).is_some()
        && release(of) == release(version)
}

/// The numbers of a final version and of its post-release (PEP 440); `None` for any other version.
fn release(version: &str) -> Option<(Vec<u64>, Option<u64>)> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let (numbers, post) = match version.split_once(".post") {
        Some((numbers, post)) => (numbers, Some(post)),
        None => (version, None),
    };
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_number)
    };
    let mut release: Vec<u64> = numbers.split('.').map(number).collect::<Option<_>>()?;
    while release.len() > 1 && release.last() == Some(&0) {
        release.pop();
    }
    let post = match post {
        Some(post) => Some(number(post)?),
        None => None,
    };
    Some((release, post))
}

#[cfg(test)]
mod tests;
