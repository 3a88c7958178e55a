//! Groups of skills that share an index.
//!
//! A folder named on the command line has one of its own. A project's folders share one, and a
//! person's own, the system's and the built-in skills share another: it is the same in every
//! project, so that the next project indexes nothing again.

use std::collections::BTreeMap;
use std::sync::Arc;

use gongfu_core::library::{Library, Skill, SourceKind};
use gongfu_core::skill::{Digest, SKILL_FILE, SKILL_FILE_LOWER};

/// The family of an account's own skills.
const ACCOUNT: &str = "account";

/// Skills that share an index.
pub(super) struct Group {
    /// The name of the index: a digest of the roots.
    pub(super) key: String,
    /// True for the skills of an account: their index is in memory, for those alone who see them.
    pub(super) is_private: bool,
    /// The texts, by their identity, with the skills that have them.
    pub(super) texts: BTreeMap<u64, Vec<usize>>,
}

/// The groups of a library; a skill is its index in the library.
pub(super) fn groups(library: &Library) -> Vec<Group> {
    let mut roots: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut of_source: BTreeMap<&str, String> = BTreeMap::new();
    for source in library.sources() {
        let family = match source.kind {
            SourceKind::Explicit => format!("explicit {}", source.root),
            SourceKind::Project | SourceKind::Untrusted | SourceKind::Environment => {
                "project".to_owned()
            }
            SourceKind::Server => format!("server {}", source.root),
            SourceKind::Account => format!("{ACCOUNT} {}", source.root),
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
        Digest::of(roots.join("\0").as_bytes()).hex(32)
    };
    let group = |(family, texts): (&str, _)| Group {
        key: key(family),
        is_private: family.starts_with(ACCOUNT),
        texts,
    };
    texts.into_iter().map(group).collect()
}

/// The identity of a skill's text, by the digest of its SKILL.md and its name.
///
/// `None` for a SKILL.md without a digest, because it is too large.
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

/// A skill by its index in the library.
pub(super) fn skill(library: &Library, at: usize) -> Option<&Arc<Skill>> {
    library.skills().get(at)
}
