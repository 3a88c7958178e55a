//! The links of a source: each stands for what it leads to, where that is in the source.

use std::collections::BTreeMap;

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
    for link in links {
        match target(link, &by_path) {
            Err(why) => linked.refused.push((link.path.to_string(), why.to_owned())),
            Ok(target) if files.contains_key(&target) => {
                linked.files.push((link.path.clone(), target));
            }
            Ok(target) if link.path.is_within(&target) => {
                let why = "it is a link to a folder around it".to_owned();
                linked.refused.push((link.path.to_string(), why));
            }
            // A link that leads nowhere is left out, as by other installers.
            Ok(target) => {
                let below = files.range(target.clone()..).map(|(path, _)| path);
                let start = target.as_str();
                let below = below.take_while(|path| path.as_str().starts_with(start));
                let below = below.filter(|path| path.is_within(&target));
                for path in below.take(MAX_LINKED) {
                    let rest = path.as_str().get(start.len()..).unwrap_or_default();
                    let place = link.path.join(rest.trim_start_matches('/'));
                    linked
                        .files
                        .extend(place.map(|place| (place, path.clone())));
                }
            }
        }
        if linked.files.len() > MAX_LINKED {
            let message = format!("links of the source stand for more than {MAX_LINKED} files");
            return Err(ImportError::too_large(message));
        }
    }
    linked.files.retain(|(place, _)| !files.contains_key(place));
    Ok(linked)
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
            (&[("a/x", "b\\c")], "can't be a path"),
        ] {
            assert!(told(links).contains(why), "{links:?}: {}", told(links));
        }
    }
}
