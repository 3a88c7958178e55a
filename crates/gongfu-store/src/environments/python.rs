//! How an environment of Python is made: by `uv`, which resolves and installs, and the interpreter that
//! scripts are run by.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use gongfu_core::dependency::{Requirements, Wanted};
use gongfu_core::sandbox::{Mode, Mount};

use super::index::Index;
use super::recipe::{CERTIFICATES, Recipe};

/// Where a run sees the environment.
pub(super) const SEEN: &str = "/env";
/// Where a build sees `uv`.
const TOOLS: &str = "/run/tools";
/// What is installed, with its digests; and what a lock of a project becomes.
pub(super) const LOCK: &str = "requirements.lock";
/// Where the interpreter is told.
pub(super) const INTERPRETER: &str = "interpreter";
/// By which variable a step is told.
pub(super) const VARIABLE: &str = "INTERPRETER";
/// What says which modules a script imports.
pub(super) const IMPORTS: &str = include_str!("imports.py");

/// Makes an environment without packages, and tells by which interpreter.
const PREPARE: &str = "set -eu
uv venv --quiet --allow-existing --relocatable ${WANTED_PYTHON:+--python \"$WANTED_PYTHON\"} /env
readlink -f /env/bin/python > /env/interpreter";

/// Writes a project's lock as requirements with digests; it never asks an index, and which one it was made by
/// is of no interest.
const EXPORT: &str =
    "mkdir /tmp/project && cp /in/pyproject.toml /in/uv.lock /tmp/project/ && cd /tmp/project
exec uv export --locked --offline --no-dev --no-emit-project --no-header --no-annotate --quiet";

/// Resolves what is wanted.
const RESOLVE: &str = "set -eu
if [ -f /in/constraints.txt ]; then set -- --constraints /in/constraints.txt; fi
uv pip compile --quiet --no-header --no-annotate --generate-hashes --only-binary :all: --no-sources --python \"$INTERPRETER\" -o /env/requirements.lock \"$@\" /in/requirements.txt";

/// Installs what the lock says. Nothing is built: no code of a package is run by it.
const FETCH: &str = "set -eu
ln -sf \"$INTERPRETER\" /env/bin/python
if grep -q '[^[:space:]]' /in/requirements.lock; then
  uv pip install --python /env/bin/python --require-hashes --no-deps --only-binary :all: --link-mode copy -r /in/requirements.lock
fi";

/// Compiles the modules, by the interpreter alone and without a network: runs can't keep what they compile.
/// What doesn't compile is for another version, and for whoever imports it to hear.
const FINISH: &str = "\"$INTERPRETER\" -I -S -m compileall -q -j 2 --invalidation-mode unchecked-hash /env/lib > /dev/null 2>&1 || true";

/// Asks for a package that every index has, and for what is said of it where its files are.
const PROBE: &str = "set -eu
echo pip > /tmp/probe.txt
uv pip compile --quiet --only-binary :all: --no-sources --python \"$INTERPRETER\" -o /tmp/probe.lock /tmp/probe.txt";

/// How it is made. `uv` is where that program lies.
pub(super) fn recipe(wanted: &Wanted, index: &Index, uv: PathBuf) -> Recipe {
    let mut inputs = Vec::new();
    let mut python = None;
    let mut export = None;
    let mut resolves = false;
    match wanted {
        Wanted::Requirements(Requirements {
            lines,
            constraints,
            python: wanted,
            is_lock,
        }) => {
            let name = if *is_lock { LOCK } else { "requirements.txt" };
            resolves = !is_lock;
            inputs.push((name, text(lines)));
            if !constraints.is_empty() {
                inputs.push(("constraints.txt", text(constraints)));
            }
            python.clone_from(wanted);
        }
        Wanted::Project { project, lock } => {
            inputs.push(("pyproject.toml", project.clone()));
            inputs.push(("uv.lock", lock.clone()));
            export = Some(EXPORT);
        }
        Wanted::Package { .. } | Wanted::Imports(_) => {}
    }
    let fixed = [
        ("UV_CACHE_DIR", "/tmp/uv"),
        ("UV_NO_CONFIG", "1"),
        ("UV_NO_PROGRESS", "1"),
        ("UV_PYTHON_DOWNLOADS", "never"),
        ("UV_PYTHON_PREFERENCE", "only-system"),
        ("UV_KEYRING_PROVIDER", "disabled"),
        ("UV_CONCURRENT_DOWNLOADS", "8"),
        ("UV_HTTP_TIMEOUT", "30"),
        ("UV_HTTP_RETRIES", "2"),
        ("NO_COLOR", "1"),
    ];
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    variables.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    variables.extend(python.map(|python| ("WANTED_PYTHON".to_owned(), python)));
    let mut reaching = BTreeMap::new();
    if let Some(url) = &index.url {
        reaching.insert("UV_DEFAULT_INDEX".to_owned(), url.clone());
    }
    if !index.extra.is_empty() {
        reaching.insert("UV_INDEX".to_owned(), index.extra.join(" "));
    }
    if index.certificates.is_some() {
        variables.insert("SSL_CERT_FILE".to_owned(), CERTIFICATES.to_owned());
    } else {
        // The second one is what it was called before.
        for name in ["UV_SYSTEM_CERTS", "UV_NATIVE_TLS"] {
            variables.insert(name.to_owned(), "1".to_owned());
        }
    }
    let uv = Mount {
        sources: vec![uv],
        target: format!("{TOOLS}/uv"),
        mode: Mode::ReadOnly,
        keep: None,
    };
    Recipe {
        inputs,
        prepare: Some(PREPARE),
        export,
        resolve: resolves.then_some(RESOLVE),
        fetch: FETCH,
        finish: Some(FINISH),
        probe: PROBE,
        variables,
        reaching,
        impatient: &[("UV_HTTP_RETRIES", "0")],
        mounts: vec![uv],
        programs: vec![TOOLS.to_owned()],
        seen: SEEN,
        lock: LOCK,
    }
}

/// What a run is given besides, to be run by the environment's own interpreter.
pub(super) fn variables() -> BTreeMap<String, String> {
    [("VIRTUAL_ENV".to_owned(), SEEN.to_owned())].into()
}

fn text(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// What scripts find under the name of `uv`, by which many are begun.
pub(super) const UV: &str = include_str!("uv.sh");

/// The line that says what these scripts import; it reads their paths.
pub(super) fn imports() -> Vec<String> {
    let words = ["python3", "-I", "-S", "-c", IMPORTS];
    words.map(str::to_owned).into()
}
