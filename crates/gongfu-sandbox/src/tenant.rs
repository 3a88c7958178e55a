//! The users that runs are when gongfu is root: far from those of people, and another one for each owner.
//!
//! No file on a disk belongs to them: sources are mapped to the tenant, and what a run leaves gets the owner of
//! the folder that keeps it. So two owners must never have the same tenant at the same time, but an owner may
//! get another one after a restart.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use gongfu_core::account::Owner;

use crate::plan;

/// The numbers of tenants.
const TENANT_RANGE: Range<u32> = 2_000_000_000..2_100_000_000;
/// The number that the kernel shows for users who aren't mapped.
const NOBODY: u32 = 65_534;

/// The tenants of all owners.
#[derive(Debug)]
pub(crate) struct Tenants {
    /// The numbers that both a user and a group may have; `None` where runs have gongfu's own user.
    range: Option<Range<u32>>,
    /// Runs have gongfu's own user after all.
    is_disabled: AtomicBool,
    taken: Mutex<BTreeMap<u32, Owner>>,
}

impl Tenants {
    /// The tenants that this process can be.
    pub(crate) fn of_this_process() -> Self {
        let map = |name: &str| {
            let path = Path::new("/proc/self").join(name);
            std::fs::read_to_string(path).unwrap_or_default()
        };
        let is_root = rustix::process::geteuid().is_root();
        let range = || range(&map("uid_map"), &map("gid_map"));
        Self::among(is_root.then(range).flatten())
    }

    fn among(range: Option<Range<u32>>) -> Self {
        Self {
            range,
            is_disabled: AtomicBool::new(false),
            taken: Mutex::new(BTreeMap::new()),
        }
    }

    /// The tenant of an owner; `None` where runs have gongfu's own user. It stays the same, and no
    /// other owner has it until there are more owners than numbers.
    pub(crate) fn of(&self, owner: &Owner) -> Option<plan::UnixId> {
        let range = self.range.clone()?;
        if self.is_disabled.load(Ordering::Relaxed) {
            return None;
        }
        let count = range.end - range.start;
        // Another server gets the same number for the same owner.
        let mut number = digest(owner) % count;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..count {
            let user = range.start + number;
            number = (number + 1) % count;
            if user == NOBODY {
                continue;
            }
            let known = taken.entry(user).or_insert_with(|| owner.clone());
            if known == owner {
                return Some(plan::UnixId { user, group: user });
            }
        }
        // Sharing a number is better than root.
        Some(plan::UnixId {
            user: range.start,
            group: range.start,
        })
    }

    /// Lets runs have gongfu's own user, where that is root of a container whose files others can't reach;
    /// returns whether that changes anything. Root of a machine never does so.
    pub(crate) fn disable(&self) -> bool {
        let is_far = self
            .range
            .as_ref()
            .is_none_or(|range| *range == TENANT_RANGE);
        !is_far && !self.is_disabled.swap(true, Ordering::Relaxed)
    }

    /// Takes [`disable`](Self::disable) back.
    pub(crate) fn enable(&self) {
        self.is_disabled.store(false, Ordering::Relaxed);
    }
}

/// FNV-1a, folded to half its width.
fn digest(owner: &Owner) -> u32 {
    let bytes = owner.id().unwrap_or_default();
    let hash = bytes.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    u32::try_from((hash >> 32 ^ hash) & u64::from(u32::MAX)).unwrap_or_default()
}

/// The numbers of tenants, by the maps of users and groups: the far ones, or in a container without them the
/// upper half of its highest range. `None` where there are no numbers but root's.
fn range(users: &str, groups: &str) -> Option<Range<u32>> {
    let mut best: Option<Range<u32>> = None;
    for user in mapped(users) {
        for group in mapped(groups) {
            let both = user.start.max(group.start).max(1)..user.end.min(group.end);
            if both.start <= TENANT_RANGE.start && TENANT_RANGE.end <= both.end {
                return Some(TENANT_RANGE);
            }
            if !both.is_empty() && best.as_ref().is_none_or(|best| best.end < both.end) {
                best = Some(both);
            }
        }
    }
    best.map(|best| {
        // The lower ones may be users of the container.
        let half = best.start + (best.end - best.start) / 2;
        half..best.end
    })
}

/// Parses the ranges of a map, `inside outside count` a line (`user_namespaces(7)`).
fn mapped(map: &str) -> Vec<Range<u32>> {
    let lines = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return None;
        };
        Some(first..first.saturating_add(count))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use gongfu_core::account::{Owner, UserId};

    use super::{NOBODY, TENANT_RANGE, Tenants, range};

    const EVERYBODY: &str = "         0          0 4294967295\n";

    fn user(name: &str) -> Owner {
        Owner::User(UserId::new(name).unwrap())
    }

    #[test]
    fn range_is_far_away_or_as_high_as_the_maps_allow() {
        assert_eq!(range(EVERYBODY, EVERYBODY), Some(TENANT_RANGE));
        let container = "0 1000 1\n1 100000 65536\n";
        assert_eq!(range(container, container), Some(32_769..65_537));
        assert_eq!(range(container, EVERYBODY), Some(32_769..65_537));
        for alone in ["0 1000 1\n", "", "x y z", "5 0 0\n"] {
            assert_eq!(range(alone, alone), None, "{alone}");
            assert_eq!(range(EVERYBODY, alone), None, "{alone}");
        }
        assert_eq!(range("0 0 1\n7 7 1\n", "0 0 1\n7 7 1\n"), Some(7..8));
    }

    #[test]
    fn tenant_stays_the_same_and_belongs_to_one_owner() {
        let tenants = Tenants::among(Some(NOBODY - 4..NOBODY + 4));
        let of = |owner: &Owner| tenants.of(owner).unwrap().user;
        let owners: Vec<Owner> = (0..6)
            .map(|number| user(&format!("user{number}")))
            .collect();
        let owners: Vec<Owner> = owners.into_iter().chain([Owner::Local]).collect();
        let first: Vec<u32> = owners.iter().map(of).collect();
        let again: Vec<u32> = owners.iter().map(of).collect();
        assert_eq!(first, again);
        let mut each = first.clone();
        each.sort_unstable();
        each.dedup();
        assert_eq!(each.len(), owners.len(), "{first:?}");
        assert!(!each.contains(&NOBODY) && !each.contains(&0));
        // No number is left.
        assert!((NOBODY - 4..NOBODY + 4).contains(&of(&user("late"))));
    }

    #[test]
    fn root_of_a_machine_never_disables_tenants() {
        let far = Tenants::among(Some(TENANT_RANGE));
        assert!(!far.disable());
        assert!(far.of(&Owner::Local).is_some());
        let container = Tenants::among(Some(7..9));
        assert!(container.of(&Owner::Local).is_some());
        assert!(container.disable() && !container.disable());
        assert_eq!(container.of(&Owner::Local), None);
        container.enable();
        assert!(container.of(&Owner::Local).is_some());
        assert!(!Tenants::among(None).disable());
    }
}
