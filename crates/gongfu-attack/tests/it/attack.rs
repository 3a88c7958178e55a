//! Attacks that must fail: every probe of `gongfu doctor --attack`, in every kind of sandbox that
//! works here, each as a test of its own.
//!
//! Every one is tried outside first, where it must succeed: else it proves nothing, and counts as
//! failed.

use std::collections::BTreeSet;

use gongfu_attack::{Request, Row, Verdict};
use gongfu_core::sandbox::Level;
use libtest_mimic::{Failed, Trial};

use crate::{DOCKER, kinds};

pub(crate) fn trials() -> Vec<Trial> {
    let probes = gongfu_attack::list();
    let levels = || {
        let kinds = kinds().into_iter();
        kinds.map(|(profile, is_left_out)| (profile.level, is_left_out))
    };
    let of = |(level, is_left_out): (Level, bool)| {
        probes.iter().map(move |probe| {
            let name = format!("{level}::attack::{}", probe.name);
            let of = probe.name;
            Trial::test(name, move || attack(level, of))
                .with_ignored_flag(is_left_out || probe.lacks.is_some())
        })
    };
    let each = levels().filter(|(level, _)| level.as_str() != DOCKER);
    let mut trials: Vec<Trial> = each.flat_map(of).collect();
    // A container takes longer to make than a probe to be tried: those of a group follow each other in one.
    for (level, is_left_out) in levels().filter(|(level, _)| level.as_str() == DOCKER) {
        let groups = probes
            .iter()
            .filter_map(|probe| Some(probe.name.split_once("::")?.0));
        for group in groups.collect::<BTreeSet<_>>() {
            let name = format!("{level}::attack::{group}");
            let test = move || attack_by_all(level, group);
            trials.push(Trial::test(name, test).with_ignored_flag(is_left_out));
        }
    }
    trials.push(Trial::test("attack::none_is_forgotten", none_is_forgotten));
    trials
}

/// Tries the probes of a group in one level; says of each that failed why.
fn attack_by_all(level: Level, group: &str) -> Result<(), Failed> {
    let probes = gongfu_attack::list().into_iter();
    let probes = probes.filter(|probe| probe.lacks.is_none() && probe.name.starts_with(group));
    let names: Vec<String> = probes.map(|probe| probe.name.to_owned()).collect();
    let rows = tried(level, names.clone())?;
    assert_eq!(rows.len(), names.len());
    let failed = rows.iter().filter_map(|row| {
        let why = judge(row, level).err()?;
        Some(format!(
            "{}: {}",
            row.name,
            why.message().unwrap_or_default()
        ))
    });
    let failed: Vec<String> = failed.collect();
    failed
        .is_empty()
        .then_some(())
        .ok_or(Failed::from(failed.join("\n")))
}

fn tried(level: Level, names: Vec<String>) -> std::io::Result<Vec<Row>> {
    let request = Request {
        levels: vec![level.to_string()],
        baselines: Vec::new(),
        names,
    };
    gongfu_attack::run(&request, |_| {})
}

/// Tries a probe in one level.
fn attack(level: Level, name: &str) -> Result<(), Failed> {
    let rows = tried(level, vec![name.to_owned()])?;
    let [row] = rows.as_slice() else {
        return Err(Failed::from(format!("it was tried {} times", rows.len())));
    };
    judge(row, level)
}

fn judge(row: &Row, level: Level) -> Result<(), Failed> {
    let seen = &row.inside[level.as_str()];
    match (row.outside.verdict, seen.verdict) {
        (Verdict::Reached, Verdict::Refused) if row.by_design.contains_key(level.as_str()) => Err(
            Failed::from(format!("it should get through, and doesn't: {}", seen.why)),
        ),
        (Verdict::Reached, Verdict::Refused) => Ok(()),
        (Verdict::Reached, Verdict::Reached) if row.by_design.contains_key(level.as_str()) => {
            Ok(())
        }
        (_, Verdict::Reached) => Err(Failed::from("it got through")),
        (outside, _) if outside != Verdict::Reached => match &row.depends_on {
            // Not every machine has it.
            Some(_) => Ok(()),
            None => Err(Failed::from(format!(
                "outside it fails as well, so it proves nothing: {}",
                row.outside.why
            ))),
        },
        _ => Err(Failed::from(format!("it proves nothing: {}", seen.why))),
    }
}

/// A whole run tries each of them once, in their order, and takes away all that it laid out.
fn none_is_forgotten() -> Result<(), Failed> {
    let mut heard = Vec::new();
    let rows = gongfu_attack::run(&Request::default(), |row| heard.push(row.name.clone()))?;
    let names: Vec<&str> = gongfu_attack::list()
        .iter()
        .map(|probe| probe.name)
        .collect();
    assert_eq!(heard, names);
    assert_eq!(rows.len(), names.len());
    let unknown = Request {
        names: vec!["files::no_such_probe".to_owned()],
        ..Request::default()
    };
    assert!(gongfu_attack::run(&unknown, |_| {}).is_err());
    Ok(())
}
