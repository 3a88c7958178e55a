//! The shell scripts that build an environment. No text of a skill stands in them.

use std::collections::BTreeMap;

use gongfu_core::sandbox::Mount;

/// The environment, as a build sees it.
pub(crate) const ENVIRONMENT: &str = "/env";
/// The folder of the inputs, as a build sees it.
pub(crate) const INPUTS: &str = "/in";
/// The operator's CA certificates, as a build sees them.
pub(crate) const CERTIFICATES: &str = "/run/certificates.pem";

/// The folder in which a package is built, as the steps of that see it.
pub(crate) const SCRATCH: &str = "/build";

/// A shell script that runs in a sandbox.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Step {
    pub(crate) script: &'static str,
    /// True if it reaches the index, and sees the operator's logins there.
    pub(crate) is_online: bool,
    /// True if it writes to [`SCRATCH`], and has no environment.
    pub(crate) is_in_scratch: bool,
}

impl Step {
    pub(crate) const fn offline(script: &'static str) -> Self {
        Self {
            script,
            is_online: false,
            is_in_scratch: false,
        }
    }

    pub(crate) const fn online(script: &'static str) -> Self {
        Self {
            script,
            is_online: true,
            is_in_scratch: false,
        }
    }

    pub(crate) const fn in_scratch(self) -> Self {
        Self {
            is_in_scratch: true,
            ..self
        }
    }
}

/// The steps of a build, and what all of them see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recipe {
    /// Files below [`INPUTS`].
    pub(crate) inputs: Vec<(&'static str, String)>,
    /// Prints the index that the installer uses where none is configured.
    pub(crate) default_index: &'static str,
    /// Prints the URLs of files of some package, with the index in reach. No skill has a say in it.
    pub(crate) file_urls: &'static str,
    /// Sets up the environment before anything of a package is in it.
    pub(crate) prepare: Option<Step>,
    /// Writes the lock, unless it is an input, or comes of the installation.
    pub(crate) lock: Option<Step>,
    /// Resolves one package after the other, where all of them together can't be had; prints what it leaves out.
    pub(crate) each: Option<Step>,
    pub(crate) install: Step,
    /// The variables of every step.
    pub(crate) variables: BTreeMap<String, String>,
    /// The variable for the URL of the index, which may hold a secret.
    pub(crate) index_variable: &'static str,
    /// The variable for the URLs of further indexes, which npm doesn't have.
    pub(crate) extra_indexes_variable: Option<&'static str>,
    pub(crate) mounts: Vec<Mount>,
    /// Folders of programs that go before all others.
    pub(crate) programs: Vec<String>,
    /// The name of the lock, in the environment and below [`INPUTS`].
    pub(crate) lock_file: &'static str,
}

/// Variables from pairs of texts.
pub(crate) fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}
