//! Approval: a person's answer to the proposal of a call, the same way for every entry.
//!
//! The call waits in place while its person can be asked; the answer may as well come from the
//! command line. A call whose caller can't be asked is refused with the id of its record, and the
//! answer is used up by the same call made again.

use std::pin::pin;
use std::time::Duration;

use gongfu_core::approval::{Answer as Stored, ApprovalRequest, Approvals, Decision};
use gongfu_core::port::PortError;

use super::{Answer, Passage, Stage};
use crate::call::{Call, Proposal, Question};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::run::RUN_COMMAND;

/// The time between two looks for an answer from elsewhere.
const POLL: Duration = Duration::from_millis(250);
/// The most looks: a call waits for a person for ten minutes.
const MAX_POLLS: u32 = 10 * 60 * 4;

pub(super) struct Approval;

impl Stage for Approval {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        Box::pin(async move {
            match passage.proposal.take() {
                Some(proposal) => settle(passage.call, proposal).await,
                None => Ok(()),
            }
        })
    }
}

/// Lets the call go on once a person allowed it.
async fn settle(call: &Call, proposal: Proposal) -> Result<(), ToolError> {
    let request = ApprovalRequest {
        tool: call.entry.to_string(),
        digest: proposal.digest,
        what: proposal.what,
        reason: proposal.reason,
    };
    if let Some(outcome) = decided(call, &request).await? {
        return outcome;
    }
    let question = Question {
        id: request.id(),
        text: format!(
            "{} wants to {}:\n\n{}\n\nYou are asked because {}.",
            request.tool, proposal.action, request.what, request.reason
        ),
    };
    let waiting = Problem::ApprovalWaiting {
        reason: request.reason.clone(),
        is_command: proposal.action == RUN_COMMAND,
        question: proposal.is_whole.then(|| Box::new(question.clone())),
        id: question.id.clone(),
    };
    if !proposal.is_whole {
        return Err(waiting.error());
    }
    let mut asking = pin!(call.events.ask(&question));
    for _ in 0..MAX_POLLS {
        let is_answered = tokio::select! {
            biased;
            is_answered = &mut asking => is_answered,
            () = pause() => {
                if let Some(outcome) = answered_elsewhere(call, &request).await? {
                    return outcome;
                }
                continue;
            }
        };
        if is_answered && let Some(outcome) = decided(call, &request).await? {
            return outcome;
        }
        break;
    }
    Err(waiting.error())
}

/// Waits until the next look; a timer is only made when it is waited for.
async fn pause() {
    tokio::time::sleep(POLL).await;
}

/// The decision of the record: `None` while it waits for a person.
async fn decided(
    call: &Call,
    request: &ApprovalRequest,
) -> Result<Option<Result<(), ToolError>>, ToolError> {
    let now = call.space.now();
    let deciding = Approvals::update(call.space.records(), now, |all| all.decide(request, now));
    Ok(match deciding.await.map_err(|error| broken(&error))? {
        Decision::Allowed => Some(Ok(())),
        Decision::Denied => {
            let reason = request.reason.clone();
            Some(Err(Problem::Declined { reason }.error()))
        }
        Decision::Waiting => None,
    })
}

/// The decision where somebody answered by another way, as at the command line.
///
/// A record that is gone was used up by another call with the same arguments: it is made again, so
/// that the person who is being asked can still answer.
async fn answered_elsewhere(
    call: &Call,
    request: &ApprovalRequest,
) -> Result<Option<Result<(), ToolError>>, ToolError> {
    let reading = Approvals::read(call.space.records()).await;
    let approvals = reading.map_err(|error| broken(&error))?;
    match approvals.peek(request, call.space.now()) {
        Some(Stored::Waiting) => Ok(None),
        _ => decided(call, request).await,
    }
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("what people approved", error).error()
}
