//! What is done to make an environment: texts for a shell, in which nothing of a skill stands.

use std::collections::BTreeMap;

use gongfu_core::sandbox::Mount;

/// Where a build sees what it is made of.
pub(super) const IN: &str = "/in";
/// Where a build sees the certificates of whoever runs gongfu.
pub(super) const CERTIFICATES: &str = "/run/certificates.pem";

/// What is done to make an environment, step by step: after each the server looks at what it left, and what
/// the next one is told is what the server knows.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    /// What it is made of: files below [`IN`].
    pub(super) inputs: Vec<(&'static str, String)>,
    /// What makes it ready, without a network.
    pub(super) prepare: Option<&'static str>,
    /// What says first, without a network, what is to be installed.
    pub(super) export: Option<&'static str>,
    /// What says it with the index in reach, where nobody has said it yet.
    pub(super) resolve: Option<&'static str>,
    /// What is done with the index in reach.
    pub(super) fetch: &'static str,
    /// What is done afterwards, without a network.
    pub(super) finish: Option<&'static str>,
    /// What asks the index for something that no skill has a say in, so that it is learned where it is and
    /// where it keeps files.
    pub(super) probe: &'static str,
    /// What each of them finds in its environment.
    pub(super) variables: BTreeMap<String, String>,
    /// What those find besides that reach the index: there may be secrets in it.
    pub(super) reaching: BTreeMap<String, String>,
    /// What has it give up at once where it can't reach something.
    pub(super) impatient: &'static [(&'static str, &'static str)],
    /// What it sees besides.
    pub(super) mounts: Vec<Mount>,
    /// Where it looks for programs first.
    pub(super) programs: Vec<String>,
    /// Where it sees the environment that it fills.
    pub(super) seen: &'static str,
    /// The file of the environment, and below [`IN`], that says what is installed.
    pub(super) lock: &'static str,
}
