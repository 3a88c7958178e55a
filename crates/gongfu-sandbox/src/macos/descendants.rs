//! Finds the processes of a run by their parents, where the system has neither namespaces nor subreapers.
//!
//! A process without a parent goes to the first process of the machine. So each descendant is remembered by its
//! number and its start, and every process in the group of a descendant is one as well. A process that leaves
//! its parent and its group between two looks isn't found.

use std::collections::{BTreeMap, BTreeSet};

/// A process of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) number: u32,
    pub(super) parent: u32,
    pub(super) group: u32,
    /// When it started, in microseconds: another process of this number started at another time.
    pub(super) start: u64,
    pub(super) threads: u64,
}

/// The descendants of a run's init.
#[derive(Debug)]
pub(super) struct Descendants {
    /// The supervisor, which is in a group with init.
    supervisor: u32,
    init: u32,
    /// The descendants until now, with their starts.
    known: BTreeMap<u32, u64>,
}

impl Descendants {
    /// Watches for the descendants of this init.
    pub(super) fn of(supervisor: u32, init: u32) -> Self {
        Self {
            supervisor,
            init,
            known: BTreeMap::new(),
        }
    }

    /// The descendants among these processes, which are remembered.
    pub(super) fn among(&mut self, all: &[Process]) -> Vec<Process> {
        let candidates = |one: &&Process| ![self.supervisor, self.init].contains(&one.number);
        let is_known = |one: &&Process| self.known.get(&one.number) == Some(&one.start);
        let (mut found, mut rest): (Vec<&Process>, Vec<&Process>) =
            all.iter().filter(candidates).partition(is_known);
        loop {
            let numbers: BTreeSet<u32> = found.iter().map(|one| one.number).collect();
            let groups: BTreeSet<u32> = found.iter().map(|one| one.group).collect();
            let is_one = |one: &&Process| {
                let is_below = one.parent == self.init || numbers.contains(&one.parent);
                is_below || (one.group != self.supervisor && groups.contains(&one.group))
            };
            let (more, others): (Vec<&Process>, Vec<&Process>) = rest.into_iter().partition(is_one);
            rest = others;
            if more.is_empty() {
                break;
            }
            found.extend(more);
        }
        self.known = found.iter().map(|one| (one.number, one.start)).collect();
        found.into_iter().copied().collect()
    }
}

/// The time by which the clock may be set back during a run, in microseconds.
const CLOCK_TOLERANCE: u64 = 3_600_000_000;

/// The numbers of all processes that started after init and so may be of the run; `None` when init has ended.
pub(super) fn candidates(all: &[Process], supervisor: u32, init: u32) -> Option<Vec<u32>> {
    let start = all.iter().find(|one| one.number == init)?.start;
    let since = start.saturating_sub(CLOCK_TOLERANCE);
    let others = all
        .iter()
        .filter(|one| one.start >= since && ![supervisor, init].contains(&one.number));
    Some(others.map(|one| one.number).collect())
}

#[cfg(test)]
mod tests {
    use super::{CLOCK_TOLERANCE, Descendants, Process, candidates};

    const SUPERVISOR: u32 = 10;
    const INIT: u32 = 11;

    /// A process that started at this time.
    fn one(number: u32, parent: u32, group: u32, start: u64) -> Process {
        Process {
            number,
            parent,
            group,
            start,
            threads: 1,
        }
    }

    fn machine() -> Vec<Process> {
        vec![
            one(1, 0, 1, 0),
            one(9, 1, 9, 5),
            one(SUPERVISOR, 9, SUPERVISOR, 10),
            one(INIT, SUPERVISOR, SUPERVISOR, 11),
            one(50, 9, 50, 12),
        ]
    }

    fn numbers(descendants: &mut Descendants, all: &[Process]) -> Vec<u32> {
        let found = descendants.among(all).into_iter().map(|one| one.number);
        let mut found: Vec<u32> = found.collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn finds_children_of_descendants() {
        let mut descendants = Descendants::of(SUPERVISOR, INIT);
        assert!(numbers(&mut descendants, &machine()).is_empty());
        let more = [
            one(22, 21, 20, 22),
            one(21, 20, 20, 21),
            one(20, INIT, 20, 20),
        ];
        let all = [machine(), more.to_vec()].concat();
        assert_eq!(numbers(&mut descendants, &all), [20, 21, 22]);
    }

    #[test]
    fn finds_orphans_by_their_group_or_by_having_seen_them() {
        let mut descendants = Descendants::of(SUPERVISOR, INIT);
        let all = [machine(), vec![one(20, INIT, 20, 20), one(21, 20, 21, 21)]].concat();
        assert_eq!(numbers(&mut descendants, &all), [20, 21]);
        // The second has its own group and a child; the fourth was never seen before.
        let more = vec![
            one(20, INIT, 20, 20),
            one(21, 1, 21, 21),
            one(22, 21, 22, 22),
            one(23, 1, 20, 23),
        ];
        let all = [machine(), more].concat();
        assert_eq!(numbers(&mut descendants, &all), [20, 21, 22, 23]);
    }

    #[test]
    fn leaves_out_processes_older_than_init() {
        let before = one(9, 1, 9, 5);
        let init = one(INIT, SUPERVISOR, SUPERVISOR, CLOCK_TOLERANCE + 10);
        let supervisor = one(SUPERVISOR, 9, SUPERVISOR, CLOCK_TOLERANCE + 10);
        let all = [
            before,
            supervisor,
            init,
            one(20, 1, 20, 10),
            one(21, 1, 21, CLOCK_TOLERANCE * 2),
        ];
        assert_eq!(candidates(&all, SUPERVISOR, INIT), Some(vec![20, 21]));
        assert_eq!(candidates(&all[..2], SUPERVISOR, INIT), None);
    }

    #[test]
    fn leaves_out_the_supervisor_and_others_of_a_reused_number() {
        let mut descendants = Descendants::of(SUPERVISOR, INIT);
        let all = [machine(), vec![one(20, INIT, 20, 20), one(21, 20, 21, 21)]].concat();
        assert_eq!(numbers(&mut descendants, &all), [20, 21]);
        let all = [
            machine(),
            vec![one(20, INIT, SUPERVISOR, 20), one(21, 1, 21, 90)],
        ]
        .concat();
        assert_eq!(numbers(&mut descendants, &all), [20]);
    }
}
