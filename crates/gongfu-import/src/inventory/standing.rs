//! The rank of each copy: which are the same, and which of several is the newest.

use std::cmp::Ordering;
use std::collections::HashMap;

use gongfu_core::skill::Digest;

use super::origin::KnownOrigin;
use super::{FoundCopy, PluginState};
use crate::discover::normal;

/// The rank of a copy. Others are named by their numbers in the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// No other one has its name or content.
    Only,
    /// Of the copies of its name from its source, it is the newest.
    Newest,
    /// Another copy of its name from its source is newer.
    Older(usize),
    /// An earlier one has the same content.
    Duplicate(usize),
    /// An earlier one has the same name and other content, and nothing says which is newer.
    OtherContent(usize),
}

/// Ranks all copies.
pub(super) fn rank(copies: &mut [FoundCopy]) {
    let mut contents: HashMap<Digest, usize> = HashMap::new();
    let mut names: HashMap<String, Vec<usize>> = HashMap::new();
    let order = (0..copies.len()).collect::<Vec<_>>();
    // One that no program uses is never the one that others are compared with.
    let (used, rest): (Vec<usize>, Vec<usize>) = order
        .into_iter()
        .partition(|at| copies.get(*at).is_some_and(FoundCopy::is_in_use));
    for at in used.into_iter().chain(rest) {
        let Some(copy) = copies.get_mut(at) else {
            continue;
        };
        if let Some(content) = &copy.content {
            let first = *contents.entry(content.digest).or_insert(at);
            if first != at {
                copy.standing = Standing::Duplicate(first);
                continue;
            }
        }
        names.entry(normal(&copy.name)).or_default().push(at);
    }
    for same in names.into_values().filter(|same| same.len() > 1) {
        rank_names(copies, &same);
    }
}

/// Ranks copies of one name and different content.
fn rank_names(copies: &mut [FoundCopy], same: &[usize]) {
    let Some(first) = same.first().copied() else {
        return;
    };
    let mut standings = Vec::with_capacity(same.len());
    for at in same {
        let own = copies.get(*at).and_then(|copy| copy.origin.as_ref());
        let others = same.iter().filter(|other| *other != at);
        let compared = others.filter_map(|other| {
            let copy = copies.get(*other)?;
            let origin = copy.origin.as_ref()?;
            Some((*other, age(own?, origin)?))
        });
        let compared: Vec<(usize, Ordering)> = compared.collect();
        let newer = compared.iter().find(|(_, order)| *order == Ordering::Less);
        let is_newer = compared
            .iter()
            .any(|(_, order)| *order == Ordering::Greater);
        standings.push(match newer {
            Some((newer, _)) => Standing::Older(*newer),
            None if is_newer => Standing::Newest,
            None if *at == first => Standing::Only,
            None => Standing::OtherContent(first),
        });
    }
    for (at, standing) in same.iter().zip(standings) {
        if let Some(copy) = copies.get_mut(*at) {
            let is_cached = |plugin: &super::PluginCopy| plugin.state == PluginState::Cached;
            let is_cached = copy.plugin.as_ref().is_some_and(is_cached);
            // A rest in a cache is no conflict.
            copy.standing = match standing {
                Standing::OtherContent(_) if is_cached => Standing::Only,
                standing => standing,
            };
        }
    }
}

/// The order in time of two copies from one source; none where nothing says it.
fn age(left: &KnownOrigin, right: &KnownOrigin) -> Option<Ordering> {
    if left.source != right.source
        || left.path != right.path && left.path.is_some() && right.path.is_some()
    {
        return None;
    }
    let versions = left.version.as_deref().zip(right.version.as_deref());
    let by_version = versions.and_then(|(left, right)| version_order(left, right));
    let by_version = by_version.filter(|order| *order != Ordering::Equal);
    by_version.or_else(|| {
        let order = left.time?.cmp(&right.time?);
        (order != Ordering::Equal).then_some(order)
    })
}

/// The order of two versions, as semantic versions have it; none where one isn't numbers.
pub(super) fn version_order(left: &str, right: &str) -> Option<Ordering> {
    let parts = |text: &str| -> Option<(Vec<u64>, Option<String>)> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let text = text.split('+').next().unwrap_or_default();
        let (numbers, before) = match text.split_once('-') {
            Some((numbers, before)) => (numbers, Some(before.to_owned())),
            None => (text, None),
        };
        let numbers = numbers.split('.').map(|part| part.parse().ok());
        Some((numbers.collect::<Option<_>>()?, before))
    };
    let ((left, left_before), (right, right_before)) = (parts(left)?, parts(right)?);
    let order = left.cmp(&right);
    Some(order.then_with(|| match (left_before, right_before) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(left), Some(right)) => left.cmp(&right),
    }))
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::version_order;

    #[test]
    fn versions_have_the_order_of_their_numbers() {
        for (left, right, expected) in [
            ("1.9.0", "1.10.0", Some(Ordering::Less)),
            ("v2.0.0", "1.10.0", Some(Ordering::Greater)),
            ("1.0.0-beta", "1.0.0", Some(Ordering::Less)),
            ("1.0.0+a", "1.0.0", Some(Ordering::Equal)),
            ("abc", "1.0.0", None),
            ("", "1", None),
        ] {
            assert_eq!(version_order(left, right), expected, "{left} {right}");
        }
    }
}
