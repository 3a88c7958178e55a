//! How an environment of Node.js is made: by `npm`, which comes with it.

use std::collections::BTreeMap;

use gongfu_core::dependency::Wanted;

use super::index::Index;
use super::recipe::{CERTIFICATES, Recipe};

/// Where a build sees it.
const BUILT: &str = "/env";
/// Where a run sees the packages: Node.js looks there for what any script imports, after all folders that
/// are nearer.
pub(super) const SEEN: &str = "/node_modules";
/// The folder of an environment that is seen there.
pub(super) const PACKAGES: &str = "node_modules";
/// What is installed.
const LOCK: &str = "package-lock.json";
/// What says which packages a script imports.
const IMPORTS: &str = include_str!("imports.js");

/// Installs by the lock, or resolves first. No script of a package is run by it.
const FETCH: &str = "set -eu
cp /in/package.json /env/
cd /env
if [ -f /in/package-lock.json ]; then
  cp /in/package-lock.json /env/
  npm ci --ignore-scripts --omit=dev
else
  npm install --ignore-scripts --omit=dev --package-lock
fi
mkdir -p /env/node_modules";

/// Asks for a small package that every registry has, and for its file.
const PROBE: &str = "cd /tmp && npm pack --dry-run --ignore-scripts ms";

/// How it is made.
pub(super) fn recipe(wanted: &Wanted, index: &Index) -> Recipe {
    let mut inputs = Vec::new();
    if let Wanted::Package { package, lock } = wanted {
        inputs.push(("package.json", package.clone()));
        inputs.extend(lock.clone().map(|lock| (LOCK, lock)));
    }
    let fixed = [
        ("npm_config_cache", "/tmp/npm"),
        ("npm_config_userconfig", "/tmp/none"),
        ("npm_config_globalconfig", "/tmp/none-of-all"),
        ("npm_config_audit", "false"),
        ("npm_config_fund", "false"),
        ("npm_config_update_notifier", "false"),
        ("npm_config_logs_max", "0"),
        ("npm_config_allow_git", "none"),
        ("npm_config_fetch_retries", "1"),
        ("npm_config_fetch_retry_mintimeout", "500"),
        ("npm_config_fetch_retry_maxtimeout", "2000"),
        ("npm_config_fetch_timeout", "30000"),
        ("npm_config_maxsockets", "8"),
        ("NO_COLOR", "1"),
    ];
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    variables.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let mut reaching = BTreeMap::new();
    if let Some(url) = &index.url {
        reaching.insert("npm_config_registry".to_owned(), url.clone());
    }
    if index.certificates.is_some() {
        for name in ["npm_config_cafile", "NODE_EXTRA_CA_CERTS"] {
            variables.insert(name.to_owned(), CERTIFICATES.to_owned());
        }
    }
    Recipe {
        inputs,
        prepare: None,
        export: None,
        resolve: None,
        fetch: FETCH,
        finish: None,
        probe: PROBE,
        variables,
        reaching,
        impatient: &[("npm_config_fetch_retries", "0")],
        mounts: Vec::new(),
        programs: Vec::new(),
        seen: BUILT,
        lock: LOCK,
    }
}

/// What a run is given besides.
pub(super) fn variables() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// The line that says what these scripts import; it reads their paths.
pub(super) fn imports() -> Vec<String> {
    ["node", "-e", IMPORTS].map(str::to_owned).into()
}
