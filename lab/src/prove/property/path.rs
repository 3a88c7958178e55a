//! A path: nothing outside of the skill is ever read through it, and what is inside is.

use std::path::Path;

use gongfu_core::place::{Location, VirtualPath};
use gongfu_core::skill::SkillPath;

use super::{BASE, CANARY_NAME, Fixture, Plant, Verdict, ensure, holds_canary};

/// The most bytes that are read of a file.
const LIMIT: u64 = 1024 * 1024;

/// Checks one text as a path.
pub(super) fn check(fixture: &Fixture, text: &str) -> Verdict {
    let text = text.replace(BASE, fixture.base().trim_start_matches('/'));
    if fixture.plant == Some(Plant::Leak) {
        let leak = fixture.skill.join(text.replace('\0', ""));
        if leak.is_file() {
            return inside(&std::fs::read(leak).unwrap_or_default());
        }
    }
    place(&text)?;
    let path = match SkillPath::new(&text) {
        Ok(path) => path,
        Err(error) => {
            return ensure(!error.to_string().is_empty(), || {
                "refused without words".to_owned()
            });
        }
    };
    normal(&path)?;
    let root = &fixture.root;
    let read = root.read(&path, LIMIT);
    if let Ok(content) = &read {
        inside(&content.bytes)?;
        ensure(content.bytes.len() as u64 <= LIMIT, || {
            format!("{} bytes were read", content.bytes.len())
        })?;
    }
    against_system(fixture, &path, read.ok().map(|content| content.bytes))?;
    let _ = root.stat(&path);
    if let Ok(entries) = root.list(&path) {
        ensure(
            entries.iter().all(|entry| entry.name != CANARY_NAME),
            || "the folder of the canary was listed".to_owned(),
        )?;
    }
    if let Ok(below) = root.below(&path) {
        let canary = SkillPath::new(CANARY_NAME).map_err(|error| error.to_string())?;
        if let Ok(content) = below.read(&canary, LIMIT) {
            inside(&content.bytes)?;
        }
    }
    Ok(())
}

/// A text that names a place of a workspace climbs nowhere, in either way of reading it.
fn place(text: &str) -> Verdict {
    let location = |place: &Location| match place {
        Location::Workspace(path) | Location::Absolute(path) => normal(path),
    };
    if let Ok(place) = Location::parse(text) {
        location(&place)?;
    }
    match VirtualPath::parse(text) {
        Ok(VirtualPath::File(place)) => location(&place),
        Ok(VirtualPath::Skill { path, .. }) => normal(&path),
        Ok(VirtualPath::Skills) => Ok(()),
        Err(error) => ensure(!error.to_string().is_empty(), || {
            "refused without words".to_owned()
        }),
    }
}

/// A path that was let through climbs nowhere and stays as it is.
fn normal(path: &SkillPath) -> Verdict {
    let text = path.as_str();
    let plain = text.is_empty()
        || text
            .split('/')
            .all(|part| !matches!(part, "" | "." | "..") && !part.contains(char::is_control));
    ensure(plain && !text.contains('\\'), || {
        format!("{text:?} is a path")
    })?;
    ensure(SkillPath::new(text).as_ref() == Ok(path), || {
        format!("{text:?} is another path the second time")
    })
}

/// Checks that the handle reads what the system reads there, as long as that is inside.
fn against_system(fixture: &Fixture, path: &SkillPath, read: Option<Vec<u8>>) -> Verdict {
    let plain = fixture.skill.join(path.as_str());
    let Ok(real) = plain.canonicalize() else {
        return ensure(read.is_none(), || {
            "something was read that is not there".to_owned()
        });
    };
    if !real.starts_with(&fixture.skill) {
        return ensure(read.is_none(), || format!("{} was read", real.display()));
    }
    // On its way it must not leave the skill either.
    let mut way = Path::new(path.as_str()).ancestors();
    let stays = way.all(|part| {
        let real = fixture.skill.join(part).canonicalize();
        real.is_ok_and(|real| real.starts_with(&fixture.skill))
    });
    if stays && real.is_file() {
        let there = std::fs::read(&real).ok();
        return ensure(there.is_some() && read == there, || {
            format!("{} is inside and was not read as it is", real.display())
        });
    }
    Ok(())
}

fn inside(bytes: &[u8]) -> Verdict {
    ensure(!holds_canary(bytes), || {
        "A FILE OUTSIDE OF THE SKILL WAS READ".to_owned()
    })
}
