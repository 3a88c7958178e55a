//! Tests of the approval of skills: what it covers, and what ends it.

use serde_json::json;

use super::{SkillPin, SkillVerdict};
use crate::connection::{OfferedSkill, Program, Target};
use crate::skill::Digest;

fn target(command: &str) -> Target {
    Target::Program(Program {
        command: command.to_owned(),
        arguments: Vec::new(),
        environment: [].into(),
        folder: None,
        sandbox: None,
    })
}

fn skill(name: &str, text: &str) -> OfferedSkill {
    let uri = format!("skill://user/{name}/SKILL.md");
    let digest = Digest::of(text.as_bytes()).to_string();
    let frontmatter = json!({ "name": name, "description": "Does it." });
    let files = json!([{ "uri": uri, "digest": digest, "size": text.len() }]);
    let entry = json!({ "uri": uri, "frontmatter": frontmatter, "resources": files });
    OfferedSkill::read(&entry).unwrap()
}

fn usable(pin: &SkillPin) -> Vec<&str> {
    let target = target("server");
    let usable = pin.usable(&target);
    usable.map(|pinned| pinned.skill.name()).collect()
}

fn names(verdict: &SkillVerdict) -> (Vec<&str>, Vec<&str>, usize) {
    let changed = verdict.changed.iter().map(|one| &*one.name).collect();
    let new = verdict.new.iter().map(|one| &*one.name).collect();
    (changed, new, verdict.missing.len())
}

#[test]
fn approval_covers_these_files_of_this_target() {
    let pin = SkillPin::new(&target("server"), vec![skill("a", "1"), skill("b", "1")]);
    assert_eq!(usable(&pin), ["a", "b"]);
    assert_eq!(pin.usable(&target("another")).count(), 0);
    assert_eq!(SkillPin::default().usable(&target("server")).count(), 0);
}

#[test]
fn change_ends_an_approval_for_good() {
    let (a, b) = (skill("a", "1"), skill("b", "1"));
    let mut pin = SkillPin::new(&target("server"), vec![a.clone(), b.clone()]);
    assert!(!pin.end(&[a.clone(), b.clone(), skill("c", "1")]));
    assert!(pin.end(&[skill("a", "2"), b.clone()]));
    assert_eq!(usable(&pin), ["b"]);
    assert_eq!(pin.ended().collect::<Vec<_>>(), ["a"]);
    // The old form is no way back.
    assert!(!pin.end(&[a.clone(), b.clone()]));
    assert_eq!(usable(&pin), ["b"]);
    assert!(pin.end(&[]));
    assert_eq!(usable(&pin), [""; 0]);
    let text = serde_json::to_string(&pin).unwrap();
    assert_eq!(serde_json::from_str::<SkillPin>(&text).unwrap(), pin);
}

#[test]
fn person_is_told_what_changed() {
    let (a, b) = (skill("a", "1"), skill("b", "1"));
    let mut pin = SkillPin::new(&target("server"), vec![a.clone(), b.clone()]);
    let same = pin.judge(&[a.clone(), b.clone()]);
    assert_eq!(same, SkillVerdict::default());
    let offered = [skill("a", "2"), skill("c", "1")];
    let verdict = pin.judge(&offered);
    let (uri_a, uri_c) = ("skill://user/a/SKILL.md", "skill://user/c/SKILL.md");
    assert_eq!(names(&verdict), (vec![uri_a], vec![uri_c], 1));
    let changed = &verdict.changed[0];
    let (before, now) = (
        changed.before.as_deref().unwrap(),
        changed.now.as_deref().unwrap(),
    );
    assert!(before.contains(&Digest::of(b"1").to_string()), "{before}");
    assert!(now.contains(&Digest::of(b"2").to_string()), "{now}");
    pin.end(&offered);
    // Back in its old form, it is a new one.
    assert_eq!(names(&pin.judge(&[a])), (vec![], vec![uri_a], 1));
}
