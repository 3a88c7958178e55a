//! A probe, and the list of all of them: one file for each group.

mod files;
mod kernel;
mod mounts;
mod network;
mod privilege;
mod resources;
mod tenancy;
mod writing;

use std::io;
use std::path::Path;

use gongfu_sandbox::backend::{HostView, Profile};

use crate::bait::Bait;
use crate::decoys::Decoys;

/// All probes.
pub(crate) fn all() -> impl Iterator<Item = &'static Probe> {
    let groups = [
        files::PROBES,
        writing::PROBES,
        mounts::PROBES,
        kernel::PROBES,
        privilege::PROBES,
        network::PROBES,
        tenancy::PROBES,
        resources::PROBES,
    ];
    groups.into_iter().flatten()
}

/// Something that a probe does; `Ok` when it reached its goal.
pub(crate) type Action = fn(&Bait) -> io::Result<()>;

/// A goal that must not be reached from inside a sandbox, and an attempt to reach it.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// Its group and its name.
    pub(crate) name: &'static str,
    /// A sentence about the attempt.
    pub(crate) about: &'static str,
    pub(crate) attempt: Action,
    /// The action of an earlier run.
    pub(crate) before: Option<Action>,
    /// Looks from outside, after the run, whether the goal was reached.
    pub(crate) found: Option<fn(&Decoys) -> bool>,
    /// The view of the host with which a sandbox can't refuse it, and the reason.
    by_design: Option<(HostView, &'static str)>,
    /// The same, if gongfu isn't root.
    by_design_for_users: Option<(HostView, &'static str)>,
    needs_root: bool,
    needs_path: Option<&'static str>,
    /// A feature that some machines lack; there the control may fail.
    pub(crate) depends_on: Option<&'static str>,
}

impl Probe {
    pub(crate) const fn new(name: &'static str, about: &'static str, attempt: Action) -> Self {
        Self {
            name,
            about,
            attempt,
            before: None,
            found: None,
            by_design: None,
            by_design_for_users: None,
            needs_root: false,
            needs_path: None,
            depends_on: None,
        }
    }

    /// Only root reaches the goal outside.
    pub(crate) const fn root(mut self) -> Self {
        self.needs_root = true;
        self
    }

    /// The goal is at a path that some machines lack.
    pub(crate) const fn path(mut self, path: &'static str) -> Self {
        self.needs_path = Some(path);
        self
    }

    /// The goal is a feature that some machines lack, as only an attempt shows.
    pub(crate) const fn depends_on(mut self, what: &'static str) -> Self {
        self.depends_on = Some(what);
        self
    }

    /// An earlier run does something first.
    pub(crate) const fn after(mut self, before: Action) -> Self {
        self.before = Some(before);
        self
    }

    /// Success is seen from outside.
    pub(crate) const fn found(mut self, found: fn(&Decoys) -> bool) -> Self {
        self.found = Some(found);
        self
    }

    /// Sandboxes with this view of the host can't refuse it.
    pub(crate) const fn by_design(mut self, of: HostView, why: &'static str) -> Self {
        self.by_design = Some((of, why));
        self
    }

    /// Sandboxes with this view of the host can't refuse it if gongfu isn't root.
    pub(crate) const fn by_design_for_users(mut self, of: HostView, why: &'static str) -> Self {
        self.by_design_for_users = Some((of, why));
        self
    }

    /// The reason why this sandbox can't refuse it; `None` when it can.
    pub(crate) fn weakness(&self, profile: &Profile, root: bool) -> Option<&'static str> {
        let for_users = self.by_design_for_users.filter(|_| !root);
        let both = [self.by_design, for_users].into_iter().flatten();
        let mut whys = both.filter(|(host, _)| *host == profile.host);
        whys.next().map(|(_, why)| why)
    }

    /// The missing requirement of its control here; `None` when all are met.
    pub(crate) fn lacks(&self, root: bool) -> Option<String> {
        if self.needs_root && !root {
            return Some("outside only root could".to_owned());
        }
        let path = self.needs_path?;
        (!Path::new(path).exists()).then(|| format!("this machine has no {path}"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;

    /// The widest name that a table of 80 columns has room for.
    const MAX_WIDTH: usize = 28;

    #[test]
    fn each_name_is_unique_and_fits_a_table() {
        let mut names = BTreeSet::new();
        for probe in all() {
            assert!(names.insert(probe.name), "{} is there twice", probe.name);
            let (group, name) = probe.name.split_once("::").unwrap();
            assert!(["files", "kernel", "network", "tenancy", "resources"].contains(&group));
            assert!(name.len() <= MAX_WIDTH, "{name}");
            assert!(probe.about.ends_with('.'), "{name}");
        }
        assert!(names.len() > 100);
    }
}
