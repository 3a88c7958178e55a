//! The links of a source: each stands for what it leads to, where that is in the source.

use std::collections::{BTreeMap, VecDeque};

use gongfu_core::skill::SkillPath;

use crate::error::ImportError;

/// The most files that the links of a source stand for.
const MAX_LINKED: usize = 20_000;
/// The most links that lead to one another.
const MAX_HOPS: usize = 16;

/// A link of a source.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) path: SkillPath,
    /// The folder that its target is seen from.
    pub(super) from: SkillPath,
    pub(super) target: Vec<u8>,
}

impl Link {
    /// A symbolic link.
    pub(super) fn new(path: SkillPath, target: Vec<u8>) -> Self {
        Self {
            from: path.parent(),
            path,
            target,
        }
    }
}

/// The files that links stand for.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Places of files, and the files that are there.
    pub(super) files: Vec<(SkillPath, SkillPath)>,
    /// Links that aren't taken, and why.
    pub(super) refused: Vec<(String, String)>,
}

/// Finds what links lead to among the files of a source.
///
/// # Errors
/// They stand for too many files.
pub(super) fn follow<T>(
    links: &[Link],
    files: &BTreeMap<SkillPath, T>,
) -> Result<Targets, ImportError> {
    let by_path: BTreeMap<&SkillPath, &Link> =
        links.iter().map(|link| (&link.path, link)).collect();
    let mut linked = Targets::default();
    // The places of links, and of links in the folders that others lead to.
    let mut places: VecDeque<(SkillPath, &Link, usize)> = links
        .iter()
        .map(|link| (link.path.clone(), link, 0))
        .collect();
    let mut followed = 0;
    while let Some((place, link, depth)) = places.pop_front() {
        followed += 1;
        match target(link, &by_path) {
            Err(why) => linked.refused.push((place.to_string(), why.to_owned())),
            Ok(target) if files.contains_key(&target) => linked.files.push((place, target)),
            Ok(target)
                if place.is_within(&target) || link.path.is_within(&target) || depth > MAX_HOPS =>
            {
                let why = "it is a link to a folder around it".to_owned();
                linked.refused.push((place.to_string(), why));
            }
            // A link that leads nowhere is left out, as by other installers.
            Ok(target) => {
                let inside = below(files, &target);
                let inside = inside.map(|path| Some((moved(path, &target, &place)?, path.clone())));
                linked.files.extend(inside.flatten());
                let inner = below(&by_path, &target).filter_map(|path| by_path.get(path));
                places.extend(inner.filter_map(|link| {
                    Some((moved(&link.path, &target, &place)?, *link, depth + 1))
                }));
            }
        }
        if linked.files.len() > MAX_LINKED || followed + places.len() > links.len() + MAX_LINKED {
            let message = format!("links of the source stand for more than {MAX_LINKED} files");
            return Err(ImportError::too_large(message));
        }
    }
    linked.files.retain(|(place, _)| !files.contains_key(place));
    Ok(linked)
}

/// The paths in a folder, so many that one more is too many.
fn below<'a, K: Ord + std::borrow::Borrow<SkillPath>, T>(
    paths: &'a BTreeMap<K, T>,
    folder: &'a SkillPath,
) -> impl Iterator<Item = &'a SkillPath> {
    let start = folder.as_str();
    let after = paths.range::<SkillPath, _>(folder.clone()..);
    let after = after.map(|(path, _)| std::borrow::Borrow::<SkillPath>::borrow(path));
    let same = after.take_while(move |path| path.as_str().starts_with(start));
    same.filter(|path| path.is_within(folder))
        .take(MAX_LINKED + 1)
}

/// The place of a path of a folder in another folder.
fn moved(path: &SkillPath, from: &SkillPath, to: &SkillPath) -> Option<SkillPath> {
    let rest = path.as_str().get(from.as_str().len()..)?;
    to.join(rest.trim_start_matches('/')).ok()
}

/// The path that a link leads to, other links on the way followed.
fn target(link: &Link, links: &BTreeMap<&SkillPath, &Link>) -> Result<SkillPath, &'static str> {
    let mut link = link;
    for _ in 0..MAX_HOPS {
        let text = std::str::from_utf8(&link.target)
            .map_err(|_| "it is a link to a name that isn't UTF-8")?;
        if text.starts_with('/') {
            return Err("it is a link that leads outside the source");
        }
        let mut path: Vec<&str> = Vec::new();
        path.extend(
            link.from
                .as_str()
                .split('/')
                .filter(|name| !name.is_empty()),
        );
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." if path.is_empty() => {
                    return Err("it is a link that leads outside the source");
                }
                ".." => drop(path.pop()),
                name => path.push(name),
            }
        }
        let here = SkillPath::new(&path.join("/"));
        let here = here.map_err(|_| "it is a link to a name that can't be a path")?;
        match links.get(&here) {
            Some(next) => link = next,
            None => return Ok(here),
        }
    }
    Err("it is a link in a circle")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use gongfu_core::skill::SkillPath;

    use super::{Link, follow};

    fn path(text: &str) -> SkillPath {
        SkillPath::new(text).unwrap()
    }

    /// The places of a link, or why it isn't taken.
    fn told(links: &[(&str, &str)]) -> String {
        let files = ["a/SKILL.md", "a/b/c", "shared/s"];
        let files: BTreeMap<SkillPath, u8> = files.map(|file| (path(file), 0)).into();
        let link = |(at, target): &(&str, &str)| Link::new(path(at), target.as_bytes().to_vec());
        let links: Vec<Link> = links.iter().map(link).collect();
        let linked = follow(&links, &files).unwrap();
        let files = linked.files.iter();
        let files = files.map(|(place, file)| format!("{place}={file}"));
        let refused = linked.refused.into_iter();
        let refused = refused.map(|(place, why)| format!("{place}: {why}"));
        files.chain(refused).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_link_stands_for_what_is_in_the_source() {
        for (links, expected) in [
            (&[("a/s", "../shared/s")][..], "a/s=shared/s"),
            (&[("a/s", ".././shared")], "a/s/s=shared/s"),
            (&[("a/x", "y"), ("a/y", "b/c")], "a/x=a/b/c, a/y=a/b/c"),
            (&[("a/x", "none")], ""),
            (&[("a/x", "share")], ""),
            (&[("a/b/c", "../SKILL.md")], ""),
            (
                &[("a/s", "../shared"), ("shared/t", "s")],
                "a/s/s=shared/s, shared/t=shared/s, a/s/t=shared/s",
            ),
        ] {
            assert_eq!(told(links), expected, "{links:?}");
        }
        for (links, why) in [
            (&[("a/x", "/etc/passwd")][..], "outside"),
            (&[("a/x", "../../etc/passwd")], "outside"),
            (&[("a/x", "y"), ("a/y", "x")], "circle"),
            (&[("a/x", "x")], "circle"),
            (&[("a/b/x", "..")], "around"),
            (&[("a/x", "../.")], "around"),
            (&[("a/x", "../shared"), ("shared/y", "../a")], "around"),
            (&[("a/x", "../shared"), ("shared/y", "../../z")], "a/x/y: "),
            (&[("a/x", "b\\c")], "can't be a path"),
        ] {
            assert!(told(links).contains(why), "{links:?}: {}", told(links));
        }
    }
}
