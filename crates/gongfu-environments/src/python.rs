//! The recipe for Python: `uv` resolves and installs for the interpreter that runs the scripts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gongfu_core::dependency::{PackageSpec, Requirements};

use crate::read_only;
use crate::recipe::{self, CERTIFICATES, Recipe, Step};

/// The environment, as a run sees it.
pub(crate) const TARGET: &str = "/env";
/// The folder of `uv`, as a build sees it.
const TOOLS: &str = "/run/tools";
/// The packages with their digests.
pub(crate) const LOCK: &str = "requirements.lock";
/// The file to which [`PREPARE`] writes the path of the interpreter.
pub(crate) const INTERPRETER_FILE: &str = "interpreter";
/// The variable that tells later steps the interpreter.
pub(crate) const INTERPRETER_VARIABLE: &str = "INTERPRETER";
/// Prints the modules that scripts import.
pub(crate) const IMPORTS: &str = include_str!("imports.py");
/// Takes the place of `uv` in a run, because many scripts are started by it.
pub(crate) const UV_STUB: &str = include_str!("uv_stub.sh");

const DEFAULT_INDEX: &str = "uv pip compile --help | grep -o 'https://[^ >)]*/simple' || true";

/// Resolves without looking at the dependencies, so that it asks only the index.
const FILE_URLS: &str = "echo pip | uv pip compile --quiet --no-deps --only-binary :all: --no-sources --python \"$INTERPRETER\" --format pylock.toml - 2> /dev/null || true";

/// Prints the versions of the interpreters that there are.
pub(crate) const INTERPRETERS: Step = Step::offline(
    "uv python list --only-installed --offline 2> /dev/null | sed -n 's/^[a-z]*-\\([0-9][^-]*\\)-.*/\\1/p' | sort -uV || true",
);

/// Makes an environment without packages, and writes down its interpreter.
const PREPARE: Step = Step::offline(
    "set -eu
uv venv --quiet --allow-existing --relocatable ${WANTED_PYTHON:+--python \"$WANTED_PYTHON\"} /env
readlink -f /env/bin/python > /env/interpreter",
);

/// Turns the lock of a project into requirements with digests, whichever index it was made with. Nothing is built.
const EXPORT: Step = Step::offline(
    "export UV_NO_BUILD=1
mkdir /tmp/project && cp /in/pyproject.toml /in/uv.lock /tmp/project/ && cd /tmp/project && rm -rf /env/requirements.lock
exec uv export --no-build --locked --offline --no-dev --no-emit-project --no-header --no-annotate --quiet -o /env/requirements.lock",
);

/// Resolves all requirements. `uv` would follow the versions of a lock that is there.
const RESOLVE: Step = Step::online(
    "set -eu
rm -rf /env/requirements.lock
if [ -f /in/constraints.txt ]; then set -- --constraints /in/constraints.txt; fi
uv pip compile --quiet --no-header --no-annotate --generate-hashes --only-binary :all: --no-sources --python \"$INTERPRETER\" -o /env/requirements.lock \"$@\" /in/requirements.txt",
);

/// Keeps of the requirements what can be had together with those before it, and likewise of the constraints what `uv`
/// understands. Lines that fail together are tried by halves, so that few bad ones among many cost few attempts. Why
/// one is left out stands below it, set in by two blanks.
const RESOLVE_EACH: Step = Step::online(
    "set -eu
compile() {
  rm -f /tmp/lock
  uv pip compile --quiet --no-header --no-annotate --generate-hashes --only-binary :all: --no-sources --python \"$INTERPRETER\" -o /tmp/lock --constraints \"$1\" \"$2\" 2> /tmp/why
}
sift() {
  sed -n \"$1,$2p\" \"$all\" > /tmp/part
  cat \"$kept\" /tmp/part > /tmp/tried
  if try; then
    cp /tmp/tried \"$kept\"
    cp /tmp/lock /env/requirements.lock
  elif [ \"$1\" -eq \"$2\" ]; then
    cat /tmp/part
    sed 's/^/  /' /tmp/why
  else
    set -- \"$1\" $((($1 + $2) / 2)) \"$2\"
    sift \"$1\" \"$2\"
    sift $(($2 + 1)) \"$3\"
  fi
}
rm -rf /env/requirements.lock
: > /tmp/none
: > /tmp/constraints
: > /tmp/kept
if [ -f /in/constraints.txt ]; then
  all=/in/constraints.txt kept=/tmp/constraints
  try() { compile /tmp/tried /tmp/none; }
  sift 1 $(($(wc -l < \"$all\")))
fi
all=/in/requirements.txt kept=/tmp/kept
try() { compile /tmp/constraints /tmp/tried; }
sift 1 $(($(wc -l < \"$all\")))
[ -s /tmp/kept ]",
);

/// Installs the lock. Nothing is built: no code of a package runs. What `uv` unpacks lies beside the environment, so
/// that its files are linked, and not there twice.
const INSTALL: Step = Step::online(
    "set -eu
rm -rf /env/bin/python
ln -s \"$INTERPRETER\" /env/bin/python
rm -rf /env/.uv
if grep -q '[^[:space:]]' /in/requirements.lock; then
  UV_CACHE_DIR=/env/.uv uv pip install --python /env/bin/python --require-hashes --no-deps --only-binary :all: --link-mode hardlink -r /in/requirements.lock
fi
rm -rf /env/.uv",
);

/// Compiles the modules, because runs can't keep what they compile. A module that doesn't compile is for
/// another version of Python: its import reports that. Compiled modules that lie there already are replaced.
pub(crate) const COMPILE: Step = Step::offline(
    "\"$INTERPRETER\" -I -S -m compileall -q -f -j 2 --invalidation-mode unchecked-hash /env/lib > /dev/null 2>&1 || true",
);

/// The recipe for these packages, with `uv` from this path.
pub(crate) fn recipe(packages: &PackageSpec, uv: PathBuf, has_certificates: bool) -> Recipe {
    let mut inputs = Vec::new();
    let (mut lock, mut each) = (None, None);
    let mut variables = recipe::variables(&[
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
    ]);
    match packages {
        PackageSpec::Requirements(Requirements {
            lines,
            constraints,
            python,
            is_lock,
        }) => {
            lock = (!is_lock).then_some(RESOLVE);
            each = (!is_lock).then_some(RESOLVE_EACH);
            let name = if *is_lock { LOCK } else { "requirements.txt" };
            inputs.push((name, lines.join("\n") + "\n"));
            if !constraints.is_empty() {
                inputs.push(("constraints.txt", constraints.join("\n") + "\n"));
            }
            let python = python.clone();
            variables.extend(python.map(|python| ("WANTED_PYTHON".to_owned(), python)));
        }
        PackageSpec::Project {
            project,
            lock: uv_lock,
            requirements: _,
        } => {
            lock = Some(EXPORT);
            inputs.push(("pyproject.toml", project.clone()));
            inputs.push(("uv.lock", uv_lock.clone()));
        }
        PackageSpec::Package { .. } | PackageSpec::Imports { .. } => {}
    }
    variables.extend(if has_certificates {
        recipe::variables(&[("SSL_CERT_FILE", CERTIFICATES)])
    } else {
        // The second is its name in older versions.
        recipe::variables(&[("UV_SYSTEM_CERTS", "1"), ("UV_NATIVE_TLS", "1")])
    });
    Recipe {
        inputs,
        default_index: DEFAULT_INDEX,
        file_urls: FILE_URLS,
        prepare: Some(PREPARE),
        lock,
        each,
        install: INSTALL,
        variables,
        index_variable: "UV_DEFAULT_INDEX",
        extra_indexes_variable: Some("UV_INDEX"),
        mounts: vec![read_only(&uv, &format!("{TOOLS}/uv"))],
        programs: vec![TOOLS.to_owned()],
        lock_file: LOCK,
    }
}

/// The name of a package in the form in which names are compared (PEP 503).
pub(crate) fn normal_name(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let parts = name.split(['-', '_', '.']);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// Variables for a run.
pub(crate) fn variables() -> BTreeMap<String, String> {
    recipe::variables(&[("VIRTUAL_ENV", TARGET)])
}
