//! The skills that `gongfu serve --publish` offers to everybody, kept as the library changes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use gongfu_core::library::{Library, Skill};
use gongfu_core::port::SkillStore;
use gongfu_core::skill::Digest;
use gongfu_files::Home;
use gongfu_import::publication::{INDEX_FOLDER, index};
use gongfu_server::{PublishedFile, PublishedFiles};

use crate::command::skill::publish::read;
use crate::environment::Environment;

/// The files, by their paths below the folder of the index.
type Files = BTreeMap<String, PublishedFile>;

/// The files of the skills of these names, and of those that will have one.
pub(super) fn files(
    patterns: &[String],
    store: Arc<dyn SkillStore>,
    home: &Home,
    environment: &Environment,
) -> Option<PublishedFiles> {
    if patterns.is_empty() {
        return None;
    }
    let files: Arc<RwLock<Files>> = Arc::default();
    let keep = keep(
        patterns.to_vec(),
        store,
        home.clone(),
        environment.clone(),
        Arc::clone(&files),
    );
    tokio::spawn(keep);
    Some(Arc::new(move |path| {
        let files = files.read().unwrap_or_else(PoisonError::into_inner);
        files.get(path).cloned()
    }))
}

/// Makes the files again with each change of the library.
async fn keep(
    patterns: Vec<String>,
    store: Arc<dyn SkillStore>,
    home: Home,
    environment: Environment,
    files: Arc<RwLock<Files>>,
) {
    while let Ok(library) = store.library().await {
        let revision = library.revision();
        let (patterns, home, environment) = (patterns.clone(), home.clone(), environment.clone());
        let made =
            tokio::task::spawn_blocking(move || make(&library, &patterns, &home, &environment));
        if let Ok(made) = made.await {
            *files.write().unwrap_or_else(PoisonError::into_inner) = made;
        }
        if store.changed(revision).await.is_err() {
            return;
        }
    }
}

/// The files of the skills that can be published. Why another one can't is logged.
fn make(library: &Library, patterns: &[String], home: &Home, environment: &Environment) -> Files {
    let is_meant = |skill: &&Arc<Skill>| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| matches(pattern, skill.name.as_str()))
    };
    let is_own = |skill: &&Arc<Skill>| {
        skill.enabled && library.connection(skill).is_none() && library.shadowed_by(skill).is_none()
    };
    let mut skills = Vec::new();
    for skill in library.skills().iter().filter(is_own).filter(is_meant) {
        match read(Path::new(&skill.path), home, environment) {
            Ok(read) => skills.extend(read),
            Err(error) => tracing::warn!("{} isn't published: {error:#}", skill.full_name),
        }
    }
    let site = index(&skills).unwrap_or_else(|error| {
        tracing::warn!("no skill is published: {error}");
        BTreeMap::new()
    });
    let files = site.into_iter().filter_map(|(path, file)| {
        let path = path.strip_prefix(INDEX_FOLDER)?.strip_prefix('/')?;
        let digest = Digest::of(&file.bytes).hex(64);
        let bytes = file.bytes.into();
        Some((path.to_owned(), PublishedFile { bytes, digest }))
    });
    files.collect()
}

/// Returns true for a name that a pattern means, in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(left) = name.strip_prefix(start) else {
        return false;
    };
    let mut ends = left.char_indices().map(|(at, _)| at).chain([left.len()]);
    ends.any(|at| left.get(at..).is_some_and(|left| matches(rest, left)))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, expected) in [
            ("pdf", "pdf", true),
            ("pdf", "pdf-tools", false),
            ("pdf*", "pdf-tools", true),
            ("*-tools", "pdf-tools", true),
            ("p*t*s", "pdf-tools", true),
            ("*", "ünï", true),
            ("*x", "pdf", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
