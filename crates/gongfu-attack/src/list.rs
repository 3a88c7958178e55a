//! What a probe is, and the list of all of them: one file for each group.

use std::io;
use std::path::Path;

use gongfu_sandbox::backend::{HostView, Profile};

use crate::bait::{Bait, Decoys};
use crate::{files, kernel, mounts, network, privilege, resources, tenancy, writing};

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

/// What tries something: it is well when that is reached.
pub(crate) type Attempt = fn(&Bait) -> io::Result<()>;

/// Something that must not be reached from within a sandbox.
#[derive(Clone, Copy)]
pub(crate) struct Probe {
    /// Its group and its name.
    pub(crate) name: &'static str,
    /// What it tries.
    pub(crate) about: &'static str,
    pub(crate) attempt: Attempt,
    /// What a run before it does.
    pub(crate) before: Option<Attempt>,
    /// Whether it was reached, as seen from outside after the run.
    pub(crate) found: Option<fn(&Decoys) -> bool>,
    /// The view of the host with which a kind can't refuse it, and why that can't.
    by_design: Option<(HostView, &'static str)>,
    /// The same where gongfu isn't root.
    by_design_for_users: Option<(HostView, &'static str)>,
    needs_root: bool,
    needs_path: Option<&'static str>,
    /// What not every machine has, by which the control may fail.
    pub(crate) depends_on: Option<&'static str>,
}

impl Probe {
    pub(crate) const fn new(name: &'static str, about: &'static str, attempt: Attempt) -> Self {
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

    /// Outside only root reaches it.
    pub(crate) const fn root(mut self) -> Self {
        self.needs_root = true;
        self
    }

    /// It is about something that not every machine has at this path.
    pub(crate) const fn path(mut self, path: &'static str) -> Self {
        self.needs_path = Some(path);
        self
    }

    /// It is about something that not every machine has, and that only an attempt shows.
    pub(crate) const fn depends_on(mut self, what: &'static str) -> Self {
        self.depends_on = Some(what);
        self
    }

    /// Something is done by a run before this one.
    pub(crate) const fn after(mut self, before: Attempt) -> Self {
        self.before = Some(before);
        self
    }

    /// What it reached is seen from outside.
    pub(crate) const fn found(mut self, found: fn(&Decoys) -> bool) -> Self {
        self.found = Some(found);
        self
    }

    /// Kinds with this view of the host can't refuse it.
    pub(crate) const fn by_design(mut self, of: HostView, why: &'static str) -> Self {
        self.by_design = Some((of, why));
        self
    }

    /// Kinds with this view of the host can't refuse it where gongfu isn't root.
    pub(crate) const fn by_design_for_users(mut self, of: HostView, why: &'static str) -> Self {
        self.by_design_for_users = Some((of, why));
        self
    }

    /// Why this kind can't refuse it; `None` where it can.
    pub(crate) fn weakness(&self, profile: &Profile, root: bool) -> Option<&'static str> {
        let for_users = self.by_design_for_users.filter(|_| !root);
        let both = [self.by_design, for_users].into_iter().flatten();
        let mut whys = both.filter(|(host, _)| *host == profile.host);
        whys.next().map(|(_, why)| why)
    }

    /// What its control lacks here; `None` when it has all it needs.
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

    /// The widest that a table of 80 columns has room for.
    const WIDEST: usize = 28;

    #[test]
    fn each_has_a_name_of_its_own_that_fits_a_table() {
        let mut names = BTreeSet::new();
        for probe in all() {
            assert!(names.insert(probe.name), "{} is there twice", probe.name);
            let (group, name) = probe.name.split_once("::").unwrap();
            assert!(["files", "kernel", "network", "tenancy", "resources"].contains(&group));
            assert!(name.len() <= WIDEST, "{name}");
            assert!(probe.about.ends_with('.'), "{name}");
        }
        assert!(names.len() > 100);
    }
}
