//! Tests of how much is read to count what goes.

use std::fs::{self, File};

use tempfile::TempDir;

use super::*;
use crate::merge::scan::Folder;

/// A folder with entries, those whose names end in `/` being folders themselves.
fn target(entries: &[&str]) -> (TempDir, OwnedFd) {
    let folder = tempfile::tempdir().unwrap();
    for entry in entries {
        let path = folder.path().join(entry);
        if entry.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "old").unwrap();
        }
    }
    let opened = File::open(folder.path()).unwrap().into();
    (folder, opened)
}

fn node(name: &str, kind: Kind) -> Node {
    Node::new(CString::new(name).unwrap(), kind, false)
}

fn file() -> Kind {
    let (size, mode) = (3, 0o644);
    Kind::File { size, mode }
}

fn folder(nodes: Vec<Node>, is_opaque: bool) -> Kind {
    Kind::Folder(Folder {
        nodes,
        is_opaque,
        ..Folder::default()
    })
}

#[test]
fn rules_are_read_for_the_first_entry_that_goes() {
    let (path, target) = target(&["a", "sub/b", "sub/c", "sub/deep/d", "x/"]);
    let counted = |nodes: &[Node]| {
        let place = Place::new(&target, Above::Root(path.path()));
        let mut count = Count::default();
        count.nodes(nodes, &place, 0, false).unwrap();
        (count.files, place.rules.get().is_some())
    };
    let written = || {
        let deep = folder(vec![node("d", file()), node("new", file())], false);
        let sub = vec![node("b", file()), node("deep", deep)];
        vec![node("a", file()), node("sub", folder(sub, false))]
    };
    assert_eq!(counted(&written()), (0, false));
    // A folder that is made anew with all that was in it.
    let again = folder(vec![node("d", file())], true);
    let again = vec![node("deep", again)];
    assert_eq!(counted(&[node("sub", folder(again, false))]), (0, false));
    // The control: a file goes.
    let mut nodes = written();
    nodes.push(node("sub", folder(vec![node("c", Kind::Removal)], false)));
    assert_eq!(counted(&nodes), (1, true));
}

#[test]
fn names_are_read_up_to_the_first_that_stays() {
    let (_path, target) = target(&["a", "b", "c"]);
    let read = |names: &[&str], nodes: &[Node]| {
        let mut read = 0;
        let names = names.iter().map(|name| {
            read += 1;
            Ok(CString::new(*name).unwrap())
        });
        (are_all_of(names, nodes, &target).unwrap(), read)
    };
    let gone = |names: &[&str]| -> Vec<Node> {
        let nodes = names.iter().map(|name| node(name, Kind::Removal));
        nodes.collect()
    };
    assert_eq!(read(&["a", "b", "c"], &[node("a", file())]), (false, 1));
    assert_eq!(read(&["a", "b", "c"], &[node("b", file())]), (false, 1));
    assert_eq!(read(&["a", "b", "c"], &gone(&["a"])), (false, 2));
    assert_eq!(read(&["c", ".git", "a"], &gone(&["a", "c"])), (true, 3));
}

#[test]
fn count_ends_above_the_limit() {
    let names: Vec<String> = (0..4 * MAX_REMOVALS).map(|n| format!("d/{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (path, target) = target(&names);
    let counted = |nodes: &[Node]| count(nodes, &target, path.path()).unwrap();
    // The folder is made anew, with another file in it.
    let again = folder(vec![node("new", file())], true);
    assert_eq!(counted(&[node("d", again)]), MAX_REMOVALS + 1);
    assert_eq!(counted(&[node("d", Kind::Removal)]), MAX_REMOVALS + 1);
    // With all files but three; changes are in the order of their names.
    let mut kept: Vec<&str> = names.iter().map(|name| &name[2..]).collect();
    kept.sort_unstable();
    let kept = kept.into_iter().skip(3).map(|name| node(name, file()));
    assert_eq!(counted(&[node("d", folder(kept.collect(), true))]), 3);
}
