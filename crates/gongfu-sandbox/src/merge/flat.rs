//! Changes as a flat list: in a nested one, folders would nest deeper than JSON is read.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::MAX_DEPTH;
use super::scan::{Kind, Node};

/// A change without those in it, which follow.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// The number of folders above it.
    depth: usize,
    node: Node,
}

pub(crate) fn serialize<S: Serializer>(nodes: &[Node], serializer: S) -> Result<S::Ok, S::Error> {
    let mut entries = Vec::new();
    add(nodes, 0, &mut entries);
    entries.serialize(serializer)
}

fn add(nodes: &[Node], depth: usize, entries: &mut Vec<Entry>) {
    for node in nodes {
        let (kind, inside): (Kind, &[Node]) = match &node.kind {
            Kind::Folder(folder) => (Kind::Folder(folder.alone()), &folder.nodes),
            kind => (kind.clone(), &[]),
        };
        let node = Node {
            held: node.held.clone(),
            ..Node::new(node.name.clone(), kind, false)
        };
        entries.push(Entry { depth, node });
        add(inside, depth + 1, entries);
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Node>, D::Error> {
    let mut nodes = Vec::new();
    // The folders around the next entry, and the last entry.
    let mut open: Vec<Node> = Vec::new();
    for Entry { depth, node } in Vec::<Entry>::deserialize(deserializer)? {
        if depth > MAX_DEPTH || depth > open.len() {
            return Err(D::Error::custom("a change is nested too deeply"));
        }
        while open.len() > depth {
            close(&mut open, &mut nodes).map_err(D::Error::custom)?;
        }
        open.push(node);
    }
    while !open.is_empty() {
        close(&mut open, &mut nodes).map_err(D::Error::custom)?;
    }
    Ok(nodes)
}

/// Puts the last entry into the folder that it is in.
fn close(open: &mut Vec<Node>, nodes: &mut Vec<Node>) -> Result<(), &'static str> {
    let Some(node) = open.pop() else {
        return Ok(());
    };
    match open.last_mut().map(|above| &mut above.kind) {
        None => nodes.push(node),
        Some(Kind::Folder(folder)) => folder.nodes.push(node),
        Some(_) => return Err("a change is inside something that is not a folder"),
    }
    Ok(())
}
