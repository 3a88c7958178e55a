//! Fallbacks: the same tool at another connection.
//!
//! Only an equal definition is the same tool, and only one that says it just reads is named: to act on another
//! connection's data is nobody's fallback.

use std::collections::BTreeMap;

use gongfu_core::connection::State;

use super::Capability;
use crate::tool::ToolSpec;

/// Names the fallback of each tool that has one; the specs are those of the capabilities, by permission.
pub(super) fn name(capabilities: &mut [Capability], specs: &[ToolSpec]) {
    let mut same: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for spec in specs.iter().filter(|spec| spec.says_read_only) {
        if let Some(definition) = spec.definition {
            let ids = same.entry(definition.to_string()).or_default();
            ids.push(&spec.permission);
        }
    }
    for ids in same.into_values().filter(|ids| ids.len() > 1) {
        let mut known: Vec<(bool, u8, &str)> = capabilities
            .iter()
            .filter_map(|one| {
                let id = ids.iter().find(|id| **id == one.id)?;
                Some((one.requires_approval, rank(one.health.state), *id))
            })
            .collect();
        known.sort_unstable();
        for one in capabilities.iter_mut() {
            if ids.contains(&one.id.as_str()) {
                let mut others = known.iter().map(|(_, _, id)| *id);
                one.fallback = others.find(|id| *id != one.id).map(str::to_owned);
            }
        }
    }
}

/// The order of states, the best first.
fn rank(state: State) -> u8 {
    match state {
        State::Ready => 0,
        State::Init => 1,
        State::Degraded => 2,
        State::Dead => 3,
    }
}
