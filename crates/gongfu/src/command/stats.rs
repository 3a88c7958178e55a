//! `gongfu skill stats`: how often skills were found, loaded and run, and how the runs ended.

use gongfu_core::ledger::Outcomes;
use gongfu_hub::surface::ledger::SkillLedger;
use serde_json::{Value, json};

use super::Outcome;
use super::operate::operate;
use super::skill::found;
use crate::cli::Common;
use crate::environment::Environment;
use crate::table::pad;
use crate::terminal::{Paint, Terminal, plain};
use crate::wiring;

pub(crate) fn run(
    name: Option<&str>,
    common: &Common,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let parts = wiring::parts(environment, &common.places)?;
    let ledger = operate(SkillLedger {}, &parts, common.json, terminal)?;
    let mut rows: Vec<(String, Outcomes)> = ledger.into_iter().collect();
    if let Some(name) = name {
        let library = parts.library()?;
        let skill = found(&library, name, common.json, terminal)?;
        let outcomes = rows
            .into_iter()
            .find(|(known, _)| *known == *skill.full_name);
        rows = vec![outcomes.unwrap_or_else(|| (skill.full_name.to_string(), Outcomes::default()))];
    }
    rows.sort_by(|(one, first), (other, second)| {
        let weight = |outcomes: &Outcomes| (outcomes.runs + outcomes.loaded, outcomes.found);
        weight(second)
            .cmp(&weight(first))
            .then_with(|| one.cmp(other))
    });
    if common.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(name, outcomes)| {
                let mut row = json!({ "skill": name });
                if let (Some(row), Ok(Value::Object(outcomes))) =
                    (row.as_object_mut(), serde_json::to_value(outcomes))
                {
                    row.extend(outcomes);
                }
                row
            })
            .collect();
        terminal.json(&rows)?;
        return Ok(Outcome::Good);
    }
    if rows.is_empty() {
        terminal.note("no skill was found, loaded or run yet");
        return Ok(Outcome::Good);
    }
    let width = rows
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let head = format!("{}  found  loaded   runs  succeeded", pad("skill", width));
    terminal.line(&terminal.paint(Paint::Dim, &head))?;
    for (
        name,
        Outcomes {
            found,
            loaded,
            runs,
            succeeded,
            ..
        },
    ) in &rows
    {
        terminal.line(&format!(
            "{}  {found:>5}  {loaded:>6}  {runs:>5}  {succeeded:>9}",
            pad(&plain(name), width)
        ))?;
    }
    Ok(Outcome::Good)
}
