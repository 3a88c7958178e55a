//! Which skills share an index.
//!
//! A folder named on the command line has one of its own. A project's folders share one, and a
//! person's own, the system's and the built-in skills share another: it is the same in every
//! project, so nothing is indexed again when somebody works in the next one.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::library::{Library, Skill, SourceKind};
use gongfu_core::skill::{Digest, SKILL_FILE, SKILL_FILE_LOWER};

/// Skills that share an index.
pub(super) struct Group {
    /// Names the index: a digest of the roots.
    pub(super) key: String,
    /// The texts, by their identity, with the skills that have them.
    pub(super) texts: BTreeMap<u64, Vec<usize>>,
}

/// The groups of a library; skills are told by their places in it.
pub(super) fn groups(library: &Library) -> Vec<Group> {
    let mut roots: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut of_source: BTreeMap<&str, String> = BTreeMap::new();
    for source in library.sources() {
        let family = match source.kind {
            SourceKind::Explicit => format!("explicit {}", source.root),
            SourceKind::Project | SourceKind::Environment => "project".to_owned(),
            SourceKind::User | SourceKind::System | SourceKind::BuiltIn => "person".to_owned(),
        };
        of_source.insert(&source.id, family.clone());
        roots.entry(family).or_default().push(&source.root);
    }
    let mut texts: BTreeMap<&str, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    for (at, skill) in library.skills().iter().enumerate() {
        if let (Some(identity), Some(family)) = (identity(skill), of_source.get(&*skill.source)) {
            let group = texts.entry(family).or_default();
            group.entry(identity).or_default().push(at);
        }
    }
    let key = |family: &str| {
        let mut roots = roots.get(family).cloned().unwrap_or_default();
        roots.sort_unstable();
        let digest = Digest::of(roots.join("\0").as_bytes()).to_string();
        digest.chars().skip("sha256:".len()).take(32).collect()
    };
    let group = |(family, texts)| Group {
        key: key(family),
        texts,
    };
    texts.into_iter().map(group).collect()
}

/// What tells one text from another: the digest of the SKILL.md and the name that it goes by.
///
/// `None` for a skill whose SKILL.md has no digest, because it is too large.
pub(super) fn identity(skill: &Skill) -> Option<u64> {
    let digest = document(skill)?.digest?;
    Some(identity_of(skill.name.as_str(), digest))
}

/// The identity of a text with this digest and name.
pub(super) fn identity_of(name: &str, digest: Digest) -> u64 {
    let mut named = digest.to_bytes().to_vec();
    named.extend_from_slice(name.as_bytes());
    let digest = Digest::of(&named).to_bytes();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// The SKILL.md among a skill's files.
pub(super) fn document(skill: &Skill) -> Option<&gongfu_core::skill::FileEntry> {
    let named = |name: &str| {
        let found = skill
            .files
            .binary_search_by(|file| file.path.as_str().cmp(name));
        found.ok().and_then(|at| skill.files.get(at))
    };
    named(SKILL_FILE).or_else(|| named(SKILL_FILE_LOWER))
}

/// The skill itself, for a place in the library.
pub(super) fn skill(library: &Library, at: usize) -> Option<&Arc<Skill>> {
    library.skills().get(at)
}
