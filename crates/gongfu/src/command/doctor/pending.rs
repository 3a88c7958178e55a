//! Decisions that wait for a person.

use gongfu_core::approval::Answer;
use gongfu_hub::Events;
use gongfu_hub::surface::approval::ApprovalList;
use gongfu_hub::surface::change::ChangeList;

use super::Check;
use crate::command::operate::person;
use crate::table::count;
use crate::wiring::{self, Parts};

/// Counts commands and changes that wait; nothing is said where none do.
pub(super) fn checks(parts: &Parts) -> Vec<Check> {
    let Ok(runtime) = wiring::runtime() else {
        return Vec::new();
    };
    let person = person();
    let (approvals, changes) = runtime.block_on(async {
        let catalog = &parts.catalog;
        let approvals = catalog.operate_with(ApprovalList {}, &person, Events::default());
        let changes = catalog.operate_with(ChangeList {}, &person, Events::default());
        (approvals.await, changes.await)
    });
    let mut checks = Vec::new();
    match approvals {
        Ok(all) => {
            let waiting = all.iter().filter(|one| one.answer == Answer::Waiting);
            let details: Vec<String> = waiting.map(|one| one.what.clone()).collect();
            if !details.is_empty() {
                let message = format!("{} your approval", waits(details.len(), "command"));
                let check = Check::warn("approvals", message, "gongfu approve list");
                checks.push(check.with_details(details));
            }
        }
        Err(error) => checks.push(Check::fail("approvals", error.to_string(), "")),
    }
    match changes {
        Ok(sets) if !sets.is_empty() => {
            let message = format!("{} your approval", waits(sets.len(), "change set"));
            let check = Check::warn("changes", message, "gongfu changes list");
            let details = sets.iter().map(|set| format!("{}: {}", set.id, set.about));
            checks.push(check.with_details(details.collect()));
        }
        Ok(_) => {}
        Err(error) => checks.push(Check::fail("changes", error.to_string(), "")),
    }
    checks
}

fn waits(number: usize, noun: &str) -> String {
    let verb = if number == 1 { "waits for" } else { "wait for" };
    format!("{} {verb}", count(number, noun))
}
