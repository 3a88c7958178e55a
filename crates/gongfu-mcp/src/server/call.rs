//! Calls of tools: what runs is heard, ends with whoever wanted it, and becomes a task for a client
//! that prefers to come back for a long one (SEP-2663).

use std::sync::Arc;
use std::time::Duration;

use gongfu_hub::{Catalog, ErrorCode, Problem, Talk, ToolError, ToolResult};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CreateTaskResult, ErrorData,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::Server;
use super::approval::{self, Way};
use super::progress::{self, Progress};
use crate::wire;

/// How long a call may take before a client that knows tasks gets one.
const SOON: Duration = Duration::from_secs(2);
/// How long a task can be asked for: longer than anything may run, and as long again once it is over.
const KEPT: Duration = Duration::from_mins(65);
/// How often a client is advised to ask, in milliseconds.
const ASKING: u64 = 1_000;
/// How many tasks there are at once; whoever would be the next one waits for the answer.
const TASKS: usize = 64;

type Outcome = Result<ToolResult, ToolError>;

/// What came of a call so far.
enum Attempt {
    Ended(Option<Result<Outcome, tokio::task::JoinError>>),
    /// It goes on as a task.
    Task(CreateTaskResult),
}

/// Calls a tool; where a command needs a person, the one at the client is asked.
pub(super) async fn tool(
    server: &Server,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let answered = answered(server, &request, &context).await;
    server.end.answered();
    answered
}

async fn answered(
    server: &Server,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    // Whoever was just asked isn't asked again, whatever comes of it.
    let was_asked = approval::taken(server, request, context).await?;
    let first = attempt(server, request, context).await?;
    let question = match &first {
        Attempt::Ended(Some(Ok(Err(error)))) => approval::question(&request.name, error),
        _ => None,
    };
    let way = approval::way(context).filter(|_| !was_asked);
    let last = match (question, way) {
        (Some(question), Some(Way::Rounds)) => {
            if let Some(open) = question.round(server, request)? {
                return Ok(open.into());
            }
            first
        }
        (Some(question), Some(Way::Request)) => {
            if question.ask(server, context).await? {
                attempt(server, request, context).await?
            } else {
                first
            }
        }
        _ => first,
    };
    match last {
        Attempt::Ended(ended) => answer(ended).map(CallToolResponse::from),
        Attempt::Task(task) => Ok(CallToolResponse::Task(task)),
    }
}

/// Calls a tool once.
async fn attempt(
    server: &Server,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Attempt, ErrorData> {
    let (actor, profiles) = (Server::actor(context), server.profiles(context));
    let catalog = Arc::clone(&server.catalog);
    // A task of its own, so that a fault in a tool ends the call and not the server; the set
    // ends the task when this call is cancelled.
    let span = server.span(context, "tools/call", &request.name);
    let mut running = JoinSet::new();
    let token = context.meta.get_progress_token();
    let mut progress = token.map(|token| Progress::new(token, context.peer.clone()));
    let mut talk = Talk::default();
    if let Some(progress) = &progress {
        talk.heard = progress.listener();
    }
    let can_be_task = Catalog::executes(&request.name)
        && context
            .client_capabilities()
            .is_some_and(|client| client.supports_tasks())
        && server.tasks.running_task_count() < TASKS;
    let (name, arguments) = (request.name.clone(), request.arguments.clone());
    let call = async move {
        let arguments = arguments.unwrap_or_default();
        catalog
            .call_with(&profiles, &name, arguments, &actor, talk)
            .await
    };
    running.spawn(call.instrument(span));
    let begun = tokio::time::Instant::now();
    let ended = loop {
        tokio::select! {
            ended = running.join_next() => break ended,
            // Nobody waits for the answer any more: what runs ends with its task.
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
            () = tokio::time::sleep_until(begun + SOON), if can_be_task => {
                return Ok(Attempt::Task(as_task(&server.tasks, running)));
            }
            () = progress::due(progress.as_ref()) => progress::tell(&mut progress).await,
        }
    };
    progress::tell(&mut progress).await;
    Ok(Attempt::Ended(ended))
}

/// The result of a call, which may be a failure of the tool.
fn answer(
    ended: Option<Result<Outcome, tokio::task::JoinError>>,
) -> Result<CallToolResult, ErrorData> {
    let outcome = match ended {
        Some(Ok(outcome)) => outcome,
        _ => Err(Problem::Fault {
            reason: "the tool ended without an answer".to_owned(),
        }
        .error()),
    };
    match outcome {
        Ok(result) => Ok(wire::result(result)),
        Err(error) if error.code() == ErrorCode::ToolNotFound => Err(wire::unknown_tool(&error)),
        Err(error) => Ok(wire::failure(error)),
    }
}

/// What still runs as a task that its client asks for later; it ends when the client cancels it.
fn as_task(tasks: &TaskManager, mut running: JoinSet<Outcome>) -> CreateTaskResult {
    let kept = u64::try_from(KEPT.as_millis()).unwrap_or(u64::MAX);
    let options = TaskOptions::new()
        .with_ttl_ms(kept)
        .with_poll_interval_ms(ASKING)
        .with_status_message("it runs");
    let task = tasks.spawn(options, |context: TaskContext| {
        Box::pin(async move {
            tokio::select! {
                ended = running.join_next() => answer(ended).map_err(TaskExit::Error),
                () = context.cancelled() => Err(TaskExit::Cancelled),
            }
        })
    });
    CreateTaskResult::new(task)
}
