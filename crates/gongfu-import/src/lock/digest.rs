//! The digests of a skill: gongfu's own, and that of `npx skills`.

use std::borrow::Cow;

use gongfu_core::skill::digest::Hasher;
use gongfu_core::skill::{Digest, SkillPath};
use icu_collator::options::CollatorOptions;
use icu_collator::{CollatorBorrowed, CollatorPreferences};

/// A file, as a digest of its skill counts it.
#[derive(Debug, Clone)]
pub struct DigestedFile<'a> {
    /// Its path in the skill.
    pub path: &'a SkillPath,
    /// Its content.
    pub bytes: Cow<'a, [u8]>,
}

/// The digest of `npx skills`: SHA-256 of the path and the bytes of each file, in the order of JavaScript's
/// `localeCompare`, without a separator.
///
/// Another list of files can have the same digest, so that nothing is verified by it.
pub fn computed_hash<'a>(files: impl IntoIterator<Item = DigestedFile<'a>>) -> String {
    let preferences = CollatorPreferences::default();
    // The root's data comes with the library.
    let collator = CollatorBorrowed::try_new(preferences, CollatorOptions::default()).ok();
    let order = |left: &str, right: &str| match &collator {
        Some(collator) => collator.compare(left, right),
        None => left.cmp(right),
    };
    let is_counted = |path: &SkillPath| {
        let parent = path.parent();
        let mut folders = parent.as_str().split('/');
        !folders.any(|name| matches!(name, ".git" | "node_modules"))
    };
    let files = files.into_iter().filter(|file| is_counted(file.path));
    let mut files: Vec<DigestedFile<'_>> = files.collect();
    files.sort_by(|left, right| order(left.path.as_str(), right.path.as_str()));
    let mut hasher = Hasher::default();
    for file in files {
        hasher.update(file.path.as_str().as_bytes());
        hasher.update(&file.bytes);
    }
    hasher.finish().to_string().split_off("sha256:".len())
}

/// gongfu's digest of a skill, by the digests of its files: the same files with the same permissions to be run have the
/// same one.
pub fn tree_digest<'a>(files: impl IntoIterator<Item = (&'a SkillPath, bool, Digest)>) -> Digest {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort_unstable_by_key(|(path, _, _)| *path);
    let mut hasher = Hasher::default();
    for (path, is_executable, digest) in files {
        hasher.update(path.as_str().as_bytes());
        hasher.update(if is_executable { b"\0x\0" } else { b"\0-\0" });
        hasher.update(digest.as_bytes());
    }
    hasher.finish()
}

/// The order of an object's keys in JavaScript, where `sorted` says that they were sorted: whole numbers come first.
pub(super) fn key_order(left: &str, right: &str, sorted: bool) -> std::cmp::Ordering {
    use std::cmp::Ordering;

    let index = |key: &str| {
        let is_plain = key == "0" || !key.starts_with('0');
        let number: Option<u32> = key.parse().ok();
        number.filter(|number| is_plain && *number < u32::MAX && !key.starts_with('+'))
    };
    match (index(left), index(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) if sorted => left.encode_utf16().cmp(right.encode_utf16()),
        (None, None) => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use gongfu_core::skill::{Digest, SkillPath};

    use super::{DigestedFile, computed_hash, key_order, tree_digest};

    /// Made by `npx skills` 1.7.4 of the same files.
    const HASH: &str = "6bceff13695115850feb2c032c9ec6f9b3cbc07030ece7d991e7bc789370368c";

    #[test]
    fn digest_is_that_of_the_other_installer() {
        let paths = [
            "Zeta.md",
            "SKILL.md",
            "_under.md",
            "a-b.txt",
            "a/b.txt",
            "a_b.txt",
            "ab.txt",
            "A/b.txt",
            "é.txt",
            "z.txt",
            "scripts/run.sh",
            "1.txt",
            "10.txt",
            "2.txt",
            ".hidden",
            "中.txt",
            "node_modules/x.js",
            "sub/.git/config",
        ];
        let paths: Vec<SkillPath> = paths
            .iter()
            .map(|path| SkillPath::new(path).unwrap())
            .collect();
        let file = |path| DigestedFile {
            path,
            bytes: Cow::Borrowed(b"x"),
        };
        assert_eq!(computed_hash(paths.iter().map(file)), HASH);
    }

    #[test]
    fn own_digest_tells_apart_what_the_other_mixes_up() {
        let path = |text: &str| SkillPath::new(text).unwrap();
        let (one, two) = (path("a"), path("ab"));
        let digest = |path: &SkillPath, text: &str, run| {
            tree_digest([(path, run, Digest::of(text.as_bytes()))])
        };
        let hash = |path: &SkillPath, text: &'static str| {
            let bytes = Cow::Borrowed(text.as_bytes());
            computed_hash([DigestedFile { path, bytes }])
        };
        assert_eq!(hash(&one, "bc"), hash(&two, "c"));
        assert_ne!(digest(&one, "bc", false), digest(&two, "c", false));
        assert_ne!(digest(&one, "bc", false), digest(&one, "bc", true));
    }

    #[test]
    fn keys_have_the_order_of_javascript() {
        let mut keys = ["b", "10", "B", "2", "a", "02", "\u{ffff}", "😀"];
        keys.sort_by(|left, right| key_order(left, right, true));
        assert_eq!(keys, ["2", "10", "02", "B", "a", "b", "😀", "\u{ffff}"]);
    }
}
