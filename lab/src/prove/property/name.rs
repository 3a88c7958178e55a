//! A name: either it can address a skill, and then it is no path, or it is refused with a reason.

use gongfu_core::near;
use gongfu_core::skill::SkillName;
use gongfu_core::skill::name;
use gongfu_hub::Problem;

use super::{Fixture, Verdict, ensure, is_told};

/// Checks one text as a name.
pub(super) fn check(fixture: &Fixture, text: &str) -> Verdict {
    match SkillName::new(text) {
        Ok(name) => addressable(&name)?,
        Err(error) => ensure(!error.to_string().is_empty(), || {
            "refused without words".to_owned()
        })?,
    }
    addressable(&SkillName::from_folder(text))?;
    let _ = name::faults(text);
    ensure(name::same(text, text), || {
        "it differs from itself".to_owned()
    })?;
    match fixture.library.resolve(text) {
        Ok(skill) => {
            let alike = near::folded(skill.name.as_str()) == near::folded(text);
            ensure(&*skill.full_name == text || alike, || {
                format!("it reaches {}", skill.full_name)
            })
        }
        Err(why) => {
            let error = Problem::unresolved(text, why).error();
            is_told(&error)
        }
    }
}

fn addressable(name: &SkillName) -> Verdict {
    let text = name.as_str();
    let odd = |c: char| c == '/' || c == '\\' || c.is_control();
    ensure(
        !text.is_empty() && !text.contains(odd) && text != "." && text != "..",
        || format!("{text:?} is a name"),
    )?;
    ensure(SkillName::new(text).as_ref() == Ok(name), || {
        format!("{text:?} is no name the second time")
    })
}
