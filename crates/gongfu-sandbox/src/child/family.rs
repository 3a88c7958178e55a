//! Who belongs to a run where the system has no word for it: found by who began whom.
//!
//! Whoever loses a parent is handed to the first process of the machine and can't be told from others by
//! that. So whoever was seen once is remembered, by its number and when it began, and whoever is in the
//! group of one of them is one as well. Who leaves its parent and its group between two looks isn't seen.

use std::collections::{BTreeMap, BTreeSet};

/// A process of the machine, as far as it must be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) number: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// When it began, in microseconds: another one of this number began at another time.
    pub(super) begun: u64,
    pub(super) threads: u64,
}

/// Those that descend from the first process of a run.
#[derive(Debug)]
pub(super) struct Family {
    /// Who watches, and is in a group with the first.
    watcher: u32,
    first: u32,
    /// Who was seen until now, each with when it began.
    known: BTreeMap<u32, u64>,
}

impl Family {
    /// That of this first process, of which nobody was seen yet.
    pub(super) fn of(watcher: u32, first: u32) -> Self {
        Self {
            watcher,
            first,
            known: BTreeMap::new(),
        }
    }

    /// Those of them that are of it, but for the first; they are remembered.
    pub(super) fn among(&mut self, all: &[Process]) -> Vec<Process> {
        let could_be = |one: &&Process| ![self.watcher, self.first].contains(&one.number);
        let is_known = |one: &&Process| self.known.get(&one.number) == Some(&one.begun);
        let (mut found, mut rest): (Vec<&Process>, Vec<&Process>) =
            all.iter().filter(could_be).partition(is_known);
        loop {
            let numbers: BTreeSet<u32> = found.iter().map(|one| one.number).collect();
            let groups: BTreeSet<u32> = found.iter().map(|one| one.group).collect();
            let is_one = |one: &&Process| {
                let is_below = one.parent == self.first || numbers.contains(&one.parent);
                is_below || (one.group != self.watcher && groups.contains(&one.group))
            };
            let (more, others): (Vec<&Process>, Vec<&Process>) = rest.into_iter().partition(is_one);
            rest = others;
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        self.known = found.iter().map(|one| (one.number, one.begun)).collect();
        found.into_iter().copied().collect()
    }
}

/// How far the clock may be set back during a run, in microseconds.
const SET_BACK: u64 = 3_600_000_000;

/// The numbers of all that could be of a run, because they didn't begin before its first process, which is
/// left out as who watches is; `None` when that one has ended.
pub(super) fn could_be(all: &[Process], watcher: u32, first: u32) -> Option<Vec<u32>> {
    let begun = all.iter().find(|one| one.number == first)?.begun;
    let since = begun.saturating_sub(SET_BACK);
    let others = all
        .iter()
        .filter(|one| one.begun >= since && ![watcher, first].contains(&one.number));
    Some(others.map(|one| one.number).collect())
}

#[cfg(test)]
mod tests {
    use super::{Family, Process, SET_BACK, could_be};

    const WATCHER: u32 = 10;
    const FIRST: u32 = 11;

    /// One that began at this time.
    fn one(number: u32, parent: u32, group: u32, begun: u64) -> Process {
        Process {
            number,
            parent,
            group,
            begun,
            threads: 1,
        }
    }

    fn machine() -> Vec<Process> {
        vec![
            one(1, 0, 1, 0),
            one(9, 1, 9, 5),
            one(WATCHER, 9, WATCHER, 10),
            one(FIRST, WATCHER, WATCHER, 11),
            one(50, 9, 50, 12),
        ]
    }

    fn numbers(family: &mut Family, all: &[Process]) -> Vec<u32> {
        let found = family.among(all).into_iter().map(|one| one.number);
        let mut found: Vec<u32> = found.collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn who_was_begun_by_one_of_them_is_one() {
        let mut family = Family::of(WATCHER, FIRST);
        assert!(numbers(&mut family, &machine()).is_empty());
        let more = [
            one(22, 21, 20, 22),
            one(21, 20, 20, 21),
            one(20, FIRST, 20, 20),
        ];
        let all = [machine(), more.to_vec()].concat();
        assert_eq!(numbers(&mut family, &all), [20, 21, 22]);
    }

    #[test]
    fn who_lost_its_parent_is_known_by_its_group_or_by_having_been_seen() {
        let mut family = Family::of(WATCHER, FIRST);
        let all = [machine(), vec![one(20, FIRST, 20, 20), one(21, 20, 21, 21)]].concat();
        assert_eq!(numbers(&mut family, &all), [20, 21]);
        // The second has its own group, and began a third; another was never seen before.
        let more = vec![
            one(20, FIRST, 20, 20),
            one(21, 1, 21, 21),
            one(22, 21, 22, 22),
            one(23, 1, 20, 23),
        ];
        let all = [machine(), more].concat();
        assert_eq!(numbers(&mut family, &all), [20, 21, 22, 23]);
    }

    #[test]
    fn who_began_before_the_first_is_of_no_run() {
        let before = one(9, 1, 9, 5);
        let first = one(FIRST, WATCHER, WATCHER, SET_BACK + 10);
        let watcher = one(WATCHER, 9, WATCHER, SET_BACK + 10);
        let all = [
            before,
            watcher,
            first,
            one(20, 1, 20, 10),
            one(21, 1, 21, SET_BACK * 2),
        ];
        assert_eq!(could_be(&all, WATCHER, FIRST), Some(vec![20, 21]));
        assert_eq!(could_be(&all[..2], WATCHER, FIRST), None);
    }

    #[test]
    fn another_of_the_same_number_is_a_stranger_and_so_is_who_watches() {
        let mut family = Family::of(WATCHER, FIRST);
        let all = [machine(), vec![one(20, FIRST, 20, 20), one(21, 20, 21, 21)]].concat();
        assert_eq!(numbers(&mut family, &all), [20, 21]);
        let all = [
            machine(),
            vec![one(20, FIRST, WATCHER, 20), one(21, 1, 21, 90)],
        ]
        .concat();
        assert_eq!(numbers(&mut family, &all), [20]);
    }
}
