//! Skills that are cached, taken from the cache, and refused when they changed there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use gongfu_core::skill::SkillPath;
use gongfu_files::Home;
use gongfu_files::disk::Root;

use super::Cache;
use crate::candidate::{Candidate, Choice, StagedSkill, stage};
use crate::content::{Content, ContentFile};
use crate::discover::{Search, discover};
use crate::lock::own::LockedSkill;

fn staged(into: &Root) -> StagedSkill {
    let document = "---\nname: a\ndescription: A.\n---\n";
    let long = format!("a/{}/x", "long-name/".repeat(11));
    let files = [
        ("a/SKILL.md", document, ContentFile::PLAIN),
        ("a/empty", "", ContentFile::PLAIN),
        (&*long, "text", ContentFile::PLAIN),
        ("a/run.sh", "#!/bin/sh\n", ContentFile::PROGRAM),
    ];
    let files = files.map(|(path, text, mode)| {
        let path = SkillPath::new(path).unwrap();
        (path, (text.as_bytes().to_vec(), mode))
    });
    let mut content = Content::in_memory(BTreeMap::from(files));
    let found = discover(&mut content, Search::default())
        .unwrap()
        .skills
        .remove(0);
    let candidate = Candidate::of(&content, found, Choice::Usual).unwrap();
    stage(&mut content, vec![candidate], into)
        .unwrap()
        .remove(0)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "tests look at the folders that they made"
)]
fn skill_comes_back_as_it_was_and_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let temporary = Root::create_private(&folder.path().join("temporary")).unwrap();
    let into = Root::create_private(&folder.path().join("into")).unwrap();
    let skill = staged(&into);
    let locked = LockedSkill {
        digest: Some(skill.digest),
        files: skill.files.clone(),
        ..LockedSkill::default()
    };
    let cache = Cache::open(&home).unwrap();
    assert_eq!(cache.stage(&locked, &into, Path::new("1")).unwrap(), None);
    cache.put(std::slice::from_ref(&skill), &temporary).unwrap();
    // A second time it is there already.
    cache.put(std::slice::from_ref(&skill), &temporary).unwrap();
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
    let back = cache
        .stage(&locked, &into, Path::new("2"))
        .unwrap()
        .unwrap();
    assert_eq!(fs::read(back.join("run.sh")).unwrap(), b"#!/bin/sh\n");
    let cached = home.path().join(super::FOLDER);
    let cached = fs::read_dir(cached)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&cached).unwrap();
    let last = bytes.iter().rposition(|byte| *byte == b'h').unwrap();
    bytes[last] = b'x';
    let kept = fs::read(&cached).unwrap();
    fs::write(&cached, bytes).unwrap();
    assert_eq!(cache.stage(&locked, &into, Path::new("3")).unwrap(), None);
    // Without its end, or with a file more.
    fs::write(&cached, &kept[..1_024]).unwrap();
    assert_eq!(cache.files(&locked), None);
    let more = [&kept[..kept.len() - 1_024], &kept[..]].concat();
    fs::write(&cached, more).unwrap();
    assert_eq!(cache.files(&locked), None);
    fs::write(&cached, kept).unwrap();
    assert!(cache.files(&locked).is_some());
    // A pipe, which nobody writes to.
    fs::remove_file(&cached).unwrap();
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &cached, mode).unwrap();
    assert_eq!(cache.files(&locked), None);
}
