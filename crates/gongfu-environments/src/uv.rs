//! `uv` itself: found in the search path or in the home, or downloaded from the package index.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gongfu_core::dependency::{Failure, FailureKind, Language};
use gongfu_core::port::Listener;
use gongfu_core::skill::SkillPath;

use crate::index::Index;
use crate::interpreter::is_program;
use crate::recipe::{self, CERTIFICATES, Recipe, Step};
use crate::step::BuildSandbox;
use crate::storage::BuildFolder;
use crate::{Inner, LocalEnvironments, blocking, build};
use gongfu_files::disk::Root;

/// The name of the build.
const KEY: &str = "tool-uv";

const DEFAULT_INDEX: &str =
    "python3 -m pip download --help | grep -o 'https://[^ )]*/simple' || true";

/// Prints every link on the page of a package, at the level of detail that `-vv` has.
const FILE_URLS: &str = "python3 -m pip download -vv --no-deps --only-binary :all: --no-cache-dir --retries 0 --dest /tmp/none uv 2> /dev/null | grep -oE 'Found link https?://[^/ ]*' | sort -u || true";

/// Downloads the wheel with `pip`. Nothing of it runs.
const DOWNLOAD: Step = Step::online(
    "set -eu
python3 -m pip download --quiet --no-deps --only-binary :all: --no-cache-dir --dest /tmp/wheels uv
mkdir -p /env/bin /tmp/uv
python3 -m zipfile -e /tmp/wheels/uv-*.whl /tmp/uv
cp /tmp/uv/uv-*.data/scripts/uv /env/bin/uv
chmod 755 /env/bin/uv",
);

impl Inner {
    /// The path of `uv`.
    pub(crate) fn uv(&self) -> Result<PathBuf, Failure> {
        let own = self.tools.tool("uv");
        let own = is_program(&own).then_some(own);
        self.interpreters.find("uv").or(own).ok_or_else(|| {
            let why = "`uv`, which installs Python packages, isn't installed";
            Failure::new(FailureKind::ToolMissing, why)
        })
    }
}

impl LocalEnvironments {
    /// The path of `uv`, if it is installed.
    pub fn uv(&self) -> Option<PathBuf> {
        self.0.uv().ok()
    }

    /// The index of a language, for people.
    ///
    /// # Errors
    /// The settings are wrong.
    pub fn index(&self, language: Language) -> Result<String, String> {
        let sources = self.0.settings.sources.as_ref().map_err(Clone::clone)?;
        let index = Index::configured(language, sources);
        index
            .map(|index| index.shown())
            .map_err(|failure| failure.why)
    }

    /// The indexes that are reached by plain HTTP, for people.
    pub fn plain_indexes(&self) -> Vec<String> {
        let sources = self.0.settings.sources.as_ref().ok();
        let indexes = Language::ALL.into_iter();
        let indexes = indexes.filter_map(|language| Index::configured(language, sources?).ok());
        indexes.flat_map(|index| index.plain_shown()).collect()
    }

    /// Downloads `uv` from the package index; answers its path.
    ///
    /// # Errors
    /// The index can't be reached, there is no `pip`, or no sandbox works.
    pub async fn download_uv(&self, listener: Listener) -> Result<PathBuf, Failure> {
        let folder = build::start(&self.0, KEY).await?;
        let stored = self.store_uv(Arc::clone(&folder), listener).await;
        build::discard(folder).await;
        stored
    }

    async fn store_uv(
        &self,
        folder: Arc<BuildFolder>,
        listener: Listener,
    ) -> Result<PathBuf, Failure> {
        let inner = &*self.0;
        let mut sandbox = BuildSandbox {
            inner,
            language: Language::Python,
            folder,
            listener,
            index: None,
            contacts: Vec::new(),
        };
        let recipe = recipe(inner.certificates().is_some());
        sandbox
            .run(&recipe, recipe.install)
            .await
            .map_err(|failure| {
                if failure.why.contains("No module named pip") {
                    let why =
                        "neither `uv` nor `pip` is installed; install one of them, and try again";
                    return Failure::new(FailureKind::ToolMissing, why);
                }
                failure
            })?;
        let (folder, target) = (sandbox.folder, inner.tools.tool("uv"));
        let stored = blocking(move || store(&Root::open(&folder.root)?, &target)).await;
        stored.map_err(|error| {
            Failure::new(FailureKind::Other, format!("`uv` can't be stored: {error}"))
        })
    }
}

/// Moves the program to its place in the home.
fn store(root: &Root, target: &Path) -> io::Result<PathBuf> {
    let folder = Root::create_private(target.parent().unwrap_or(Path::new("/")))?;
    // The build could have left a link or anything else in its place.
    let path = SkillPath::new("bin/uv").map_err(io::Error::other)?;
    drop(root.open_file(&path)?);
    root.dir().rename("bin/uv", folder.dir(), "uv")?;
    if is_program(target) {
        return Ok(target.to_owned());
    }
    folder.dir().remove_file("uv")?;
    let why = "the index doesn't have a program for this system";
    Err(io::Error::other(why))
}

fn recipe(has_certificates: bool) -> Recipe {
    let mut variables = recipe::variables(&[
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("PIP_NO_INPUT", "1"),
        ("PIP_ROOT_USER_ACTION", "ignore"),
        ("PIP_DEFAULT_TIMEOUT", "30"),
        ("PIP_RETRIES", "2"),
        ("NO_COLOR", "1"),
    ]);
    if has_certificates {
        variables.extend(recipe::variables(&[("PIP_CERT", CERTIFICATES)]));
    }
    Recipe {
        default_index: DEFAULT_INDEX,
        file_urls: FILE_URLS,
        install: DOWNLOAD,
        variables,
        index_variable: "PIP_INDEX_URL",
        extra_indexes_variable: Some("PIP_EXTRA_INDEX_URL"),
        ..Recipe::default()
    }
}
