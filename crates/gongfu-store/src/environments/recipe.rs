//! What is done to make an environment: texts for a shell, in which nothing of a skill stands.

use std::collections::BTreeMap;

use gongfu_core::sandbox::Mount;

/// Where a build sees what it is made of.
pub(super) const IN: &str = "/in";
/// Where a build sees the certificates of whoever runs gongfu.
pub(super) const CERTIFICATES: &str = "/run/certificates.pem";

/// What is done to make an environment.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// What it is made of: files below [`IN`].
    pub(super) inputs: Vec<(&'static str, String)>,
    /// What says first, without a network, what is to be installed, and the file that takes it.
    pub(super) export: Option<(&'static str, &'static str)>,
    /// What is done with the index in reach.
    pub(super) fetch: &'static str,
    /// What is done afterwards, without a network.
    pub(super) finish: Option<&'static str>,
    /// What each of them finds in its environment.
    pub(super) variables: BTreeMap<String, String>,
    /// What has it give up at once where it can't reach something.
    pub(super) impatient: &'static [(&'static str, &'static str)],
    /// What it sees besides.
    pub(super) mounts: Vec<Mount>,
    /// Where it looks for programs first.
    pub(super) programs: Vec<String>,
    /// Where it sees the environment that it fills.
    pub(super) seen: &'static str,
    /// The file of the environment that says what is installed.
    pub(super) lock: &'static str,
}
