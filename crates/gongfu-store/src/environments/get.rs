//! Getting `uv` from the package index, in the sandbox that environments are made in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gongfu_core::account::Owner;
use gongfu_core::dependency::{Failure, Kind, Language, Manifest, Requirements, Wanted};
use gongfu_core::port::Listener;
use gongfu_core::skill::SkillPath;
use tokio::sync::watch;

use super::build::{self, Of, Work};
use super::index::Index;
use super::recipe::{CERTIFICATES, Recipe};
use super::{Inner, LocalEnvironments, Progress};
use crate::disk::Root;

/// What it is called while it is fetched.
const KEY: &str = "tool-uv";
/// Where a build leaves it.
const SEEN: &str = "/env";
/// `pip` fetches it, and nothing of it is run.
const FETCH: &str = "set -eu
python3 -m pip download --quiet --no-deps --only-binary :all: --no-cache-dir --dest /tmp/wheels uv
mkdir -p /env/bin /tmp/uv
python3 -m zipfile -e /tmp/wheels/uv-*.whl /tmp/uv
cp /tmp/uv/uv-*.data/scripts/uv /env/bin/uv
chmod 755 /env/bin/uv
ls /tmp/wheels > /env/wheel";

impl LocalEnvironments {
    /// Where `uv` is; `None` where it is nowhere that gongfu looks.
    pub fn uv(&self) -> Option<PathBuf> {
        self.0.uv().ok()
    }

    /// Where packages of a language come from, for people; or why that can't be told.
    pub fn index(&self, language: Language) -> Result<String, String> {
        let sources = self.0.settings.sources.clone()?;
        let index = Index::of(language, &sources, &self.0.learned);
        index
            .map(|index| index.shown())
            .map_err(|failure| failure.why)
    }

    /// Gets `uv` from the package index; answers where it is.
    ///
    /// # Errors
    /// The index can't be reached, there is no `pip` here, or no sandbox works.
    pub async fn get_uv(&self, owner: &Owner, listener: Listener) -> Result<PathBuf, Failure> {
        let sources = self.0.settings.sources.clone();
        let sources = sources.map_err(|why| Failure::new(Kind::Other, why))?;
        let mut index = Index::of(Language::Python, &sources, &self.0.learned)?;
        let recipe = recipe(&index);
        let (_, came) = watch::channel(None);
        let progress = Arc::new(Progress {
            listeners: Mutex::new(vec![listener]),
            came,
        });
        let of = Of {
            owner: owner.clone(),
            skill: String::new(),
            folder: PathBuf::new(),
            key: KEY.to_owned(),
            manifest: Manifest {
                language: Language::Python,
                files: Vec::new(),
                wanted: Wanted::Requirements(Requirements::default()),
                passed_over: Vec::new(),
            },
        };
        let making = build::begin(&self.0, KEY).await?;
        let mut work = Work::new(&self.0, &of, &progress, making);
        work.reaching(&recipe, recipe.fetch, &mut index)
            .await
            .map_err(|failure| {
                if failure.why.contains("No module named pip") {
                    let why =
                        "neither `uv` nor `pip` is installed; install one of them, and begin again";
                    return Failure::new(Kind::ToolMissing, why);
                }
                failure
            })?;
        let root = work.root()?;
        put(&self.0, &root)
            .map_err(|error| Failure::new(Kind::Other, format!("it can't be kept: {error}")))
    }
}

/// Puts it where it is looked for, in place of an older one.
fn put(inner: &Inner, root: &Root) -> std::io::Result<PathBuf> {
    let at = inner.home.tool("uv");
    let folder = at.parent().unwrap_or(Path::new("/"));
    let to = Root::create(folder)?;
    // A build could leave anything: a link in its place isn't followed, and a file is a program or nothing.
    let path = SkillPath::new("bin/uv").map_err(std::io::Error::other)?;
    drop(root.open_file(&path)?);
    root.dir().rename("bin/uv", to.dir(), "uv")?;
    if crate::interpreter::is_program(&at) {
        return Ok(at);
    }
    to.dir().remove_file("uv")?;
    Err(std::io::Error::other(
        "what the index has isn't a program of this system",
    ))
}

fn recipe(index: &Index) -> Recipe {
    let fixed = [
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
        ("PIP_NO_INPUT", "1"),
        ("PIP_ROOT_USER_ACTION", "ignore"),
        ("PIP_DEFAULT_TIMEOUT", "30"),
        ("PIP_RETRIES", "2"),
        ("NO_COLOR", "1"),
    ];
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    variables.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut reaching = BTreeMap::new();
    if let Some(url) = &index.url {
        reaching.insert("PIP_INDEX_URL".to_owned(), url.clone());
    }
    if !index.extra.is_empty() {
        reaching.insert("PIP_EXTRA_INDEX_URL".to_owned(), index.extra.join(" "));
    }
    if index.certificates.is_some() {
        variables.insert("PIP_CERT".to_owned(), CERTIFICATES.to_owned());
    }
    Recipe {
        inputs: Vec::new(),
        prepare: None,
        export: None,
        resolve: None,
        fetch: FETCH,
        finish: None,
        // No skill has a say in what is fetched either.
        probe: FETCH,
        variables,
        reaching,
        impatient: &[("PIP_RETRIES", "0")],
        mounts: Vec::new(),
        programs: Vec::new(),
        seen: SEEN,
        lock: "wheel",
    }
}
