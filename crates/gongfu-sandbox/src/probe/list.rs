//! What a probe is, and the list of all of them: one file for each group.

use std::io;
use std::path::Path;

use gongfu_core::sandbox::Level;

use super::bait::{Bait, Laid};
use super::{files, kernel, mounts, network, privilege, resources, tenancy, writing};

/// All probes.
pub(super) fn all() -> impl Iterator<Item = &'static Probe> {
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
pub(super) type Attempt = fn(&Bait) -> io::Result<()>;

/// Something that must not be reached from within a sandbox.
#[derive(Clone, Copy)]
pub(super) struct Probe {
    /// Its group and its name.
    pub(super) name: &'static str,
    /// What it tries.
    pub(super) about: &'static str,
    pub(super) attempt: Attempt,
    /// What a run before it does.
    pub(super) before: Option<Attempt>,
    /// Whether it was reached, as seen from outside after the run.
    pub(super) found: Option<fn(&Laid) -> bool>,
    /// The levels that can't refuse it, and why.
    pub(super) by_design: &'static [(Level, &'static str)],
    /// Those that can't where gongfu isn't root, and why.
    pub(super) by_design_of_users: &'static [(Level, &'static str)],
    needs_root: bool,
    needs_path: Option<&'static str>,
    /// What not every machine has, by which the control may fail.
    pub(super) depends_on: Option<&'static str>,
}

impl Probe {
    pub(super) const fn new(name: &'static str, about: &'static str, attempt: Attempt) -> Self {
        Self {
            name,
            about,
            attempt,
            before: None,
            found: None,
            by_design: &[],
            by_design_of_users: &[],
            needs_root: false,
            needs_path: None,
            depends_on: None,
        }
    }

    /// Outside only root reaches it.
    pub(super) const fn root(mut self) -> Self {
        self.needs_root = true;
        self
    }

    /// It is about something that not every machine has at this path.
    pub(super) const fn path(mut self, path: &'static str) -> Self {
        self.needs_path = Some(path);
        self
    }

    /// It is about something that not every machine has, and that only an attempt shows.
    pub(super) const fn depends_on(mut self, what: &'static str) -> Self {
        self.depends_on = Some(what);
        self
    }

    /// Something is done by a run before this one.
    pub(super) const fn after(mut self, before: Attempt) -> Self {
        self.before = Some(before);
        self
    }

    /// What it reached is seen from outside.
    pub(super) const fn found(mut self, found: fn(&Laid) -> bool) -> Self {
        self.found = Some(found);
        self
    }

    /// These levels can't refuse it.
    pub(super) const fn by_design(mut self, levels: &'static [(Level, &'static str)]) -> Self {
        self.by_design = levels;
        self
    }

    /// These levels can't refuse it where gongfu isn't root.
    pub(super) const fn by_design_of_users(
        mut self,
        levels: &'static [(Level, &'static str)],
    ) -> Self {
        self.by_design_of_users = levels;
        self
    }

    /// What its control lacks here; `None` when it has all it needs.
    pub(super) fn lacks(&self, root: bool) -> Option<String> {
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
