//! Turns a tree of nodes into the values that the rules for fields look at, and refuses what the
//! reference's constructor refuses: duplicate keys, keys that are no text, uneven indentation,
//! misused merge keys and nesting that is too deep.

use std::collections::HashSet;

use crate::grammar::{Content, Node};
use crate::reason::{CrashCause, YamlProblem};
use crate::token::{Fault, Step, Text};

/// Mappings and lists nested deeper than this in a field make the reference run out of stack.
/// The figure depends a little on how it is called: from its command line it is 243 or 244, from a
/// program that calls it at once 245. This is the smallest one.
const DEEPEST: usize = 243;

/// A top-level field.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Text,
    /// Index of the character at which the key begins.
    pub(crate) name_index: usize,
    /// The value, when it is text.
    pub(crate) text: Option<Text>,
    /// Index of the character at which the value begins.
    pub(crate) value_index: usize,
}

/// The top-level fields of the document below `root`; `None` when it is not a mapping.
pub(crate) fn fields(root: Node) -> Step<Option<Vec<Field>>> {
    check(&root)?;
    let Content::Mapping(entries) = root.content else {
        return Ok(None);
    };
    if deepest_value(&entries) > DEEPEST {
        return Err(Fault::crash(CrashCause::TooDeep, root.index));
    }
    // What is merged in at the top level is lost in the reference: a merged field is no field.
    let visible = || entries.iter().filter(|(key, _)| !is_merge_key(key));
    visible().try_for_each(check_entry_is_text_keyed)?;
    let fields = entries
        .into_iter()
        .filter(|(key, _)| !is_merge_key(key))
        .filter_map(|(key, value)| {
            let text = (!is_special(&value)).then_some(value.content);
            match key.content {
                Content::Scalar { text: name, .. } => Some(Field {
                    name,
                    name_index: key.index,
                    text: match text {
                        Some(Content::Scalar { text, .. }) => Some(text),
                        _ => None,
                    },
                    value_index: value.index,
                }),
                _ => None,
            }
        })
        .collect();
    Ok(Some(fields))
}

fn check(node: &Node) -> Step<()> {
    match &node.content {
        Content::Scalar { .. } => Ok(()),
        Content::Sequence(items) => items.iter().try_for_each(check),
        Content::Mapping(entries) => check_mapping(node, entries),
    }
}

fn check_mapping(node: &Node, entries: &[(Node, Node)]) -> Step<()> {
    check_merges(node, entries)?;
    let mut seen = HashSet::new();
    let mut first_column = None;
    for (key, value) in entries {
        check(key)?;
        check(value)?;
        if is_merge_key(key) {
            continue;
        }
        if !seen.insert(identity(key)?) {
            let key_text = match &key.content {
                Content::Scalar { text, .. } => readable(text),
                _ => String::new(),
            };
            let problem = YamlProblem::DuplicateKey { key: key_text };
            return Err(Fault::yaml(problem, key.index));
        }
        if matches!(value.content, Content::Mapping(_))
            && *first_column.get_or_insert(value.column) != value.column
        {
            return Err(Fault::yaml(YamlProblem::UnevenIndentation, value.index));
        }
    }
    Ok(())
}

/// The identity of a key for the reference. A list is a key for its constructor, as long as nothing
/// is nested in it; that a key must be text is only seen later.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'tree> {
    Text(&'tree Text),
    List(Vec<Result<&'tree Text, usize>>),
}

fn identity(key: &Node) -> Step<Identity<'_>> {
    let items = match &key.content {
        Content::Scalar { text, .. } => return Ok(Identity::Text(text)),
        Content::Mapping(_) => return Err(Fault::yaml(YamlProblem::MappingKey, key.index)),
        Content::Sequence(items) => items,
    };
    items
        .iter()
        .map(|item| match &item.content {
            // A special scalar is equal to nothing but itself.
            Content::Scalar { .. } if is_special(item) => Ok(Err(item.index)),
            Content::Scalar { text, .. } => Ok(Ok(text)),
            _ => Err(Fault::crash(CrashCause::SequenceKey, key.index)),
        })
        .collect::<Step<_>>()
        .map(Identity::List)
}

/// Refuses lists as keys, in an entry and all that is nested in it.
fn check_entry_is_text_keyed((key, value): &(Node, Node)) -> Step<()> {
    match &key.content {
        Content::Scalar { .. } => check_text_keys(value),
        _ => Err(Fault::crash(CrashCause::SequenceKey, key.index)),
    }
}

fn check_text_keys(node: &Node) -> Step<()> {
    match &node.content {
        Content::Scalar { .. } => Ok(()),
        Content::Sequence(items) => items.iter().try_for_each(check_text_keys),
        Content::Mapping(entries) => entries.iter().try_for_each(check_entry_is_text_keyed),
    }
}

/// At most one merge key, whose value is a mapping or a list of mappings.
fn check_merges(node: &Node, entries: &[(Node, Node)]) -> Step<()> {
    let mut merges = entries.iter().filter(|(key, _)| is_merge_key(key));
    let Some((_, value)) = merges.next() else {
        return Ok(());
    };
    let is_mapping = |node: &Node| matches!(node.content, Content::Mapping(_));
    let mergeable = match &value.content {
        Content::Mapping(_) => true,
        Content::Sequence(items) => items.iter().all(is_mapping),
        Content::Scalar { .. } => false,
    };
    if !mergeable {
        return Err(Fault::yaml(YamlProblem::MergeValue, value.index));
    }
    if merges.next().is_some() {
        return Err(Fault::crash(CrashCause::RepeatedMerge, node.index));
    }
    Ok(())
}

fn is_merge_key(key: &Node) -> bool {
    is_plain(key, "<<")
}

/// True for the two plain scalars that the reference does not hold as text.
fn is_special(value: &Node) -> bool {
    is_plain(value, "<<") || is_plain(value, "=")
}

fn is_plain(node: &Node, wanted: &str) -> bool {
    match &node.content {
        Content::Scalar { text, plain: true } => {
            text.iter().copied().eq(wanted.chars().map(u32::from))
        }
        _ => false,
    }
}

/// The depth of collections in `node`, itself included. Recursion is bounded by the
/// grammar.
fn depth(node: &Node) -> usize {
    match &node.content {
        Content::Scalar { .. } => 0,
        Content::Sequence(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Content::Mapping(entries) => 1 + deepest_value(entries),
    }
}

/// Depth of the deepest value. A mapping that is merged in costs the reference twice the stack.
fn deepest_value(entries: &[(Node, Node)]) -> usize {
    entries
        .iter()
        .map(|(key, value)| {
            let merged = is_merge_key(key) && matches!(value.content, Content::Mapping(_));
            depth(value) + usize::from(merged)
        })
        .max()
        .unwrap_or(0)
}

/// Text for people: lone surrogates become replacement characters.
pub(crate) fn readable(text: &[u32]) -> String {
    text.iter()
        .map(|&code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}
