//! A graph of dependencies between siblings, and its circles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A dependency, with the first place that shows it.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) file: String,
    pub(super) line: usize,
}

/// Dependencies by the names at their two ends.
#[derive(Default)]
pub(super) struct Graph {
    edges: BTreeMap<String, BTreeMap<String, Edge>>,
}

impl Graph {
    /// Adds a dependency, unless it is there.
    pub(super) fn add(&mut self, edge: Edge) {
        let targets = self.edges.entry(edge.from.clone()).or_default();
        targets.entry(edge.to.clone()).or_insert(edge);
    }

    /// Circles, each as short as possible, that together hold every edge on a circle.
    pub(super) fn circles(&self) -> Vec<Vec<Edge>> {
        let mut covered: BTreeSet<(String, String)> = BTreeSet::new();
        let mut circles = Vec::new();
        for edge in self.edges.values().flat_map(BTreeMap::values) {
            if covered.contains(&(edge.from.clone(), edge.to.clone())) {
                continue;
            }
            if let Some(circle) = self.way_back(edge) {
                covered.extend(
                    circle
                        .iter()
                        .map(|edge| (edge.from.clone(), edge.to.clone())),
                );
                circles.push(circle);
            }
        }
        circles
    }

    /// The shortest circle that begins with this edge.
    fn way_back(&self, edge: &Edge) -> Option<Vec<Edge>> {
        let mut waiting = VecDeque::from([vec![edge.clone()]]);
        let mut seen = BTreeSet::new();
        while let Some(way) = waiting.pop_front() {
            let end = &way.last()?.to;
            if *end == edge.from {
                return Some(way);
            }
            if !seen.insert(end.clone()) {
                continue;
            }
            for next in self.edges.get(end).into_iter().flat_map(BTreeMap::values) {
                waiting.push_back([way.as_slice(), std::slice::from_ref(next)].concat());
            }
        }
        None
    }
}
