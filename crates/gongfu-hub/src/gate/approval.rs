//! Approval: a person's answer to the proposal of a call, the same way for every entry.
//!
//! The call waits in place while its person can be asked; the answer may as well come from the
//! command line. A call whose caller can't be asked is refused with the id of its record, and the
//! answer is used up by the same call made again.

use std::pin::pin;
use std::time::Duration;

use gongfu_core::approval::{Answer as Stored, ApprovalRequest, Approvals, Decision};
use gongfu_core::port::PortError;
use gongfu_core::text::visible;
use tokio::time::Instant;

use super::{Answer, Passage, Stage};
use crate::call::{Call, Proposal, Question};
use crate::error::ToolError;
use crate::problem::Problem;
use crate::run::RUN_COMMAND;

/// The time between two looks for an answer from elsewhere, at first and in the end.
const FIRST_POLL: Duration = Duration::from_millis(125);
const LAST_POLL: Duration = Duration::from_secs(1);
/// The time that a call waits for a person.
const WAIT_TIMEOUT: Duration = Duration::from_mins(10);
/// The most files of another version of a skill that a question names.
const MAX_DIFFERENT: usize = 20;

pub(super) struct Approval;

impl Stage for Approval {
    fn name(&self) -> &'static str {
        "approval"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        Box::pin(async move {
            match passage.proposal.take() {
                Some(proposal) => {
                    let digest = proposal.digest;
                    settle(passage.call, proposal).await?;
                    passage.allowed = Some(digest);
                    Ok(())
                }
                None => Ok(()),
            }
        })
    }
}

/// Lets the call go on once a person allowed it.
async fn settle(call: &Call, proposal: Proposal) -> Result<(), ToolError> {
    let mut request = ApprovalRequest {
        tool: call.entry.to_string(),
        digest: proposal.digest,
        any: proposal.any,
        session: call.actor.session.as_deref().map(str::to_owned),
        what: proposal.what,
        details: proposal.details,
        reason: proposal.reason,
        skill: proposal.skill,
        trust: proposal.trust.map(|project| project.to_string()),
    };
    request
        .details
        .push(format!("client: {}", name_of_client(call)));
    request.details.extend(difference(call, &request).await?);
    let is_command = proposal.action == RUN_COMMAND;
    let mut serial = match decided(call, &request, is_command).await? {
        Step::Ended(outcome) => return outcome,
        Step::Waiting(serial) => serial,
    };
    let question = question(&request, proposal.action, serial);
    let waiting = Problem::ApprovalWaiting {
        reason: request.reason.clone(),
        is_command,
        has_account: call.space.has_account(),
        question: proposal.is_whole.then(|| Box::new(question.clone())),
        id: question.id.clone(),
    };
    if !proposal.is_whole {
        return Err(waiting.error());
    }
    let mut asking = pin!(call.events.ask(&question));
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut poll = FIRST_POLL;
    while Instant::now() < deadline {
        let is_answered = tokio::select! {
            biased;
            is_answered = &mut asking => is_answered,
            () = pause(poll) => {
                // With many calls that wait, looking must stay cheap.
                poll = (poll * 2).min(LAST_POLL);
                match answered_elsewhere(call, &request, is_command, serial).await? {
                    Step::Ended(outcome) => return outcome,
                    Step::Waiting(now) => serial = now,
                }
                continue;
            }
        };
        if is_answered && let Step::Ended(outcome) = decided(call, &request, is_command).await? {
            return outcome;
        }
        break;
    }
    Err(waiting.error())
}

/// The caller's name for itself, for people.
fn name_of_client(call: &Call) -> String {
    /// The most characters of a name.
    const LIMIT: usize = 80;
    let name: String = call.actor.client.chars().take(LIMIT).collect();
    let name = visible(&name).replace('\n', " ");
    if name.trim().is_empty() {
        "without a name".to_owned()
    } else {
        name
    }
}

/// The question about a call, with everything that decides what it does.
fn question(request: &ApprovalRequest, action: &str, serial: u64) -> Question {
    Question {
        id: request.id(),
        serial,
        title: format!("{} wants to {action}", request.tool),
        what: request.what.clone(),
        details: request.details.clone(),
        reason: format!("You are asked because {}.", request.reason),
        always: match &request.trust {
            Some(project) => format!("always: trust the project {}", visible(project)),
            None => "always, with the same arguments".to_owned(),
        },
        has_session: request.session.is_some(),
        has_any: request.any.is_some(),
    }
}

/// Tells what is different from the version of the skill that a person answered about before.
async fn difference(call: &Call, request: &ApprovalRequest) -> Result<Vec<String>, ToolError> {
    if request.skill.is_none() {
        return Ok(Vec::new());
    }
    let approvals = Approvals::read(call.space.records()).await;
    let approvals = approvals.map_err(|error| broken(&error))?;
    let different = approvals.difference(request, call.space.now());
    let count = different.len();
    let mut lines: Vec<String> = Vec::new();
    if count > 0 {
        lines.push("you answered this before, for another version of the skill:".to_owned());
    }
    let shown = different.iter().take(MAX_DIFFERENT);
    lines.extend(shown.map(|file| format!("  {}", visible(file))));
    if count > MAX_DIFFERENT {
        lines.push(format!("  … {count} files in all"));
    }
    Ok(lines)
}

/// Waits until the next look; a timer is only made when it is waited for.
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The state of a call that needs a person.
enum Step {
    Ended(Result<(), ToolError>),
    /// It waits for an answer to the record with this number.
    Waiting(u64),
}

/// The decision of the record.
async fn decided(
    call: &Call,
    request: &ApprovalRequest,
    is_command: bool,
) -> Result<Step, ToolError> {
    let now = call.space.now();
    let deciding = Approvals::update(call.space.records(), now, |all| all.decide(request, now));
    Ok(match deciding.await.map_err(|error| broken(&error))? {
        Decision::Allowed => Step::Ended(Ok(())),
        Decision::Denied => {
            let reason = request.reason.clone();
            let declined = Problem::Declined { reason, is_command };
            Step::Ended(Err(declined.error()))
        }
        Decision::Waiting(serial) => Step::Waiting(serial),
        Decision::Full => Step::Ended(Err(Problem::TooManyQuestions.error())),
    })
}

/// The decision where somebody answered by another way, as at the command line.
///
/// A record that is gone was used up by another call with the same arguments: it is made again, so
/// that the person can still answer at the command line.
async fn answered_elsewhere(
    call: &Call,
    request: &ApprovalRequest,
    is_command: bool,
    serial: u64,
) -> Result<Step, ToolError> {
    let reading = Approvals::read(call.space.records()).await;
    let approvals = reading.map_err(|error| broken(&error))?;
    match approvals.peek(request, call.space.now()) {
        Some(Stored::Waiting) => Ok(Step::Waiting(serial)),
        _ => decided(call, request, is_command).await,
    }
}

fn broken(error: &PortError) -> ToolError {
    Problem::broken("what people approved", error).error()
}
