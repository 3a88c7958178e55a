//! The recipe for Node.js: `npm` resolves and installs.

use gongfu_core::dependency::PackageSpec;

use crate::recipe::{self, CERTIFICATES, Recipe, Step};

/// The packages, as a run sees them: Node.js looks there for every script, after all nearer folders.
pub(crate) const TARGET: &str = "/node_modules";
/// The folder of an environment that holds the packages.
pub(crate) const PACKAGES: &str = "node_modules";
const LOCK: &str = "package-lock.json";
/// Prints the modules that scripts import.
pub(crate) const IMPORTS: &str = include_str!("imports.js");

const DEFAULT_INDEX: &str = "npm config get registry";

const FILE_URLS: &str = "npm view ms dist.tarball 2> /dev/null || true";

/// Installs the lock, or resolves first. No script of a package runs.
const INSTALL: Step = Step::online(
    "set -eu
cp /in/package.json /env/
cd /env
if [ -f /in/package-lock.json ]; then
  cp /in/package-lock.json /env/
  npm ci --ignore-scripts --omit=dev
else
  npm install --ignore-scripts --omit=dev --package-lock
fi
mkdir -p /env/node_modules",
);

/// Tries one package after the other with those before it. Why one is left out stands below it, set in by two blanks.
const INSTALL_EACH: Step = Step::online(concat!(
    "set -eu
printf '{\"private\":true}' > /env/package.json
rm -rf /env/package-lock.json /env/node_modules
cd /env
node -e '",
    include_str!("install_each.js"),
    "'
npm ci --ignore-scripts --omit=dev >&2
mkdir -p /env/node_modules",
));

/// The recipe for these packages.
pub(crate) fn recipe(packages: &PackageSpec, has_certificates: bool) -> Recipe {
    let mut inputs = Vec::new();
    let mut each = None;
    if let PackageSpec::Package { package, lock } = packages {
        inputs.push(("package.json", package.clone()));
        inputs.extend(lock.clone().map(|lock| (LOCK, lock)));
        each = lock.is_none().then_some(INSTALL_EACH);
    }
    let mut variables = recipe::variables(&[
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
    ]);
    if has_certificates {
        variables.extend(recipe::variables(&[
            ("npm_config_cafile", CERTIFICATES),
            ("NODE_EXTRA_CA_CERTS", CERTIFICATES),
        ]));
    }
    Recipe {
        inputs,
        default_index: DEFAULT_INDEX,
        file_urls: FILE_URLS,
        each,
        install: INSTALL,
        variables,
        index_variable: "npm_config_registry",
        lock_file: LOCK,
        ..Recipe::default()
    }
}
