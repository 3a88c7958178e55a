//! Builds packages that the index has no wheel of, where the operator says so.
//!
//! A build runs code of the package. So the source and the tools are fetched first, by steps that run none of it, and
//! the build has no network.

use gongfu_core::dependency::{Failure, FailureKind, requirement_problem};

use super::{Build, MAX_LEFT_OUT};
use crate::recipe::{Recipe, Step};

/// The limit of packages that are built for one environment.
const MAX_BUILDS: usize = 8;
/// The folder of an environment that holds sources, tools and wheels while it is built.
pub(crate) const FOLDER: &str = ".build";
const FETCH: &str = include_str!("../fetch_source.py");
const REQUIRES: &str = ".build/source/requires.txt";

const FETCH_SOURCE: Step = Step::online(
    "rm -rf /env/.build/source /env/.build/tools
exec \"$INTERPRETER\" -I -S /in/fetch_source.py \"$BUILD_NAME\" \"$BUILD_VERSIONS\" /env/.build/source",
);

const FETCH_TOOLS: Step = Step::online(
    "exec uv pip install --quiet --python \"$INTERPRETER\" --target /env/.build/tools --only-binary :all: --no-sources --link-mode copy -r /in/build-requires.txt",
);

const BUILD: Step = Step::offline(
    "export PYTHONPATH=/env/.build/tools
exec uv build --quiet --wheel --offline --no-build-isolation --python \"$INTERPRETER\" --out-dir /env/.build/wheels /env/.build/source/*.tar.gz >&2",
);

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
                let why = format!("{name}: it couldn't be built: {}", failure.why);
                self.leave_out(why);
                return Err(Failure {
                    kind: FailureKind::NothingBuilt,
                    ..failure
                });
            }
            built.push(name);
            let links = ("UV_FIND_LINKS".to_owned(), "/env/.build/wheels".to_owned());
            recipe.variables.extend([links]);
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
        self.write_input("fetch_source.py", FETCH)?;
        self.sandbox.run(&recipe, FETCH_SOURCE).await?;
        let requires = self.read(REQUIRES)?;
        for line in requires.lines().take(MAX_LEFT_OUT) {
            if let Some(why) = requirement_problem(line) {
                return Err(Failure::new(FailureKind::ManifestInvalid, why));
            }
        }
        self.write_input("build-requires.txt", &requires)?;
        self.sandbox.run(&recipe, FETCH_TOOLS).await?;
        self.sandbox.run(&recipe, BUILD).await?;
        Ok(())
    }
}
