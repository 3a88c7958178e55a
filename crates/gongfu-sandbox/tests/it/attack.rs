//! Attacks that must fail: every probe of `gongfu doctor --attack`, in every kind of sandbox that
//! works here, each as a test of its own.
//!
//! Every one is tried outside first, where it must succeed: else it proves nothing, and counts as
//! failed.

use gongfu_core::sandbox::Level;
use gongfu_sandbox::probe::{self, Request, Row, Verdict};
use libtest_mimic::{Failed, Trial};

use crate::ground;

pub(crate) fn trials() -> Vec<Trial> {
    let probes = probe::list();
    let of = |(level, is_left_out): (Level, bool)| {
        probes.iter().map(move |probe| {
            let name = format!("{level}::attack::{}", probe.name);
            let of = probe.name;
            Trial::test(name, move || attack(level, of))
                .with_ignored_flag(is_left_out || probe.lacks.is_some())
        })
    };
    let mut trials: Vec<Trial> = ground::levels().flat_map(of).collect();
    trials.push(Trial::test("attack::none_is_forgotten", none_is_forgotten));
    trials
}

/// Tries a probe in one level.
fn attack(level: Level, name: &str) -> Result<(), Failed> {
    let request = Request {
        levels: vec![level],
        bwrap_alone: false,
        docker: ground::docker(),
        names: vec![name.to_owned()],
    };
    let rows = probe::run(&request, |_| {})?;
    let [row] = rows.as_slice() else {
        return Err(Failed::from(format!("it was tried {} times", rows.len())));
    };
    judge(row, level)
}

fn judge(row: &Row, level: Level) -> Result<(), Failed> {
    let seen = &row.inside[&level];
    match (row.outside.verdict, seen.verdict) {
        (Verdict::Reached, Verdict::Refused) if row.by_design.contains_key(&level) => Err(
            Failed::from(format!("it should get through, and doesn't: {}", seen.why)),
        ),
        (Verdict::Reached, Verdict::Refused) => Ok(()),
        (Verdict::Reached, Verdict::Reached) if row.by_design.contains_key(&level) => Ok(()),
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
    let rows = probe::run(&Request::default(), |row| heard.push(row.name.clone()))?;
    let names: Vec<&str> = probe::list().iter().map(|probe| probe.name).collect();
    assert_eq!(heard, names);
    assert_eq!(rows.len(), names.len());
    let unknown = Request {
        names: vec!["files::no_such_probe".to_owned()],
        ..Request::default()
    };
    assert!(probe::run(&unknown, |_| {}).is_err());
    Ok(())
}
