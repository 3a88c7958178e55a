//! Calls of tools: output becomes progress, questions reach the person at the client, a cancelled
//! call ends what it runs, and a long run becomes a task for a client that knows them (SEP-2663).

use std::sync::Arc;
use std::time::Duration;

use gongfu_core::port::{Listener, ProgressListener};
use gongfu_core::trace::TraceContext;
use gongfu_hub::call::{Asking, Elicitation, Event, EventSink, Events, Question};
use gongfu_hub::{Problem, Request};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CreateTaskResult, ErrorData,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::Server;
use super::approval::{self, Asker};
use super::person::{Person, Way};
use super::progress::{self, Progress, Report};
use super::question::{self, Continuation, Outcome, Questions, RunningCall, next_question};
use crate::wire;

/// The time that a call may take before a client that knows tasks gets one.
const TASK_DELAY: Duration = Duration::from_secs(2);
/// The time for which a task can be asked for: longer than any run may take, and as long again
/// afterwards.
const TASK_TTL: Duration = Duration::from_mins(65);
/// The interval at which a client is advised to poll, in milliseconds.
const POLL_INTERVAL: u64 = 1_000;
/// The most tasks at once; a further call is answered when it ends.
const MAX_TASKS: usize = 64;

type JoinResult = Option<Result<Outcome, tokio::task::JoinError>>;

/// The client's end of a call.
struct ClientSink {
    output: Option<Listener>,
    far: Option<ProgressListener>,
    asker: Option<Asker>,
    questions: Option<Questions>,
}

impl EventSink for ClientSink {
    fn event(&self, event: Event<'_>) {
        match (event, &self.output, &self.far) {
            (Event::Output(stream, bytes), Some(output), _) => output(stream, bytes),
            (Event::Progress(progress), _, Some(far)) => far(progress.clone()),
            _ => {}
        }
    }

    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        match &self.asker {
            Some(asker) => Box::pin(asker.ask(question)),
            None => Box::pin(std::future::ready(false)),
        }
    }

    fn elicit(&self, question: Value) -> Elicitation<'_> {
        match (&self.asker, &self.questions) {
            (Some(asker), _) => Box::pin(asker.elicit(question)),
            (None, Some(questions)) => Box::pin(questions.ask(question)),
            (None, None) => Box::pin(std::future::ready(None)),
        }
    }
}

/// Calls a tool, or goes on with a call whose client comes back with an answer.
pub(super) async fn tool(
    server: &Server,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let (request, context) = (&request, &context);
    // A person who was just asked isn't asked again, whatever comes of it.
    let was_asked = approval::taken(server, request, context).await?;
    let person = Person::at(context);
    let owner = server.actor(context).owner;
    let mut call = match question::resumed(server, request, &owner)? {
        Continuation::Call(call) => call,
        Continuation::Again(open) => return Ok(open.into()),
        Continuation::Not => start(server, request, context, (person, was_asked)),
    };
    let token = context.meta.get_progress_token();
    let progress = token.zip(call.report.clone());
    let mut progress =
        progress.map(|(token, report)| Progress::new(token, context.peer.clone(), report));
    let can_be_task = server.catalog.executes(&request.name, &owner)
        && context
            .client_capabilities()
            .is_some_and(|client| client.supports_tasks())
        && server.tasks.running_task_count() < MAX_TASKS;
    let begun = tokio::time::Instant::now();
    let joined = loop {
        let cancel = call.cancel.clone();
        // Of the two, a question needs the call itself.
        let asked = tokio::select! {
            joined = call.running.join_next() => break joined,
            () = context.ct.cancelled(), if !cancel.is_cancelled() => {
                cancel.cancel();
                continue;
            }
            () = tokio::time::sleep_until(begun + TASK_DELAY), if can_be_task => {
                let task = as_task(&server.tasks, call.running, call.cancel);
                let exists = |task: &str| server.tasks.get_task(task).is_ok();
                server.task_owners.add(&task.task.task_id, &owner, exists);
                return Ok(CallToolResponse::Task(task));
            }
            () = progress::due(progress.as_ref()) => {
                progress::tell(&mut progress).await;
                continue;
            }
            asked = next_question(&mut call.questions) => asked,
        };
        match question::round(asked, call, server, request, &owner) {
            Ok(open) => {
                progress::tell(&mut progress).await;
                return Ok(open.into());
            }
            Err(same) => call = same,
        }
    };
    progress::tell(&mut progress).await;
    let asks = person.is_some_and(|person| person.way == Way::Rounds && person.has_forms);
    if let (true, false, Some(Ok(Err(error)))) = (asks, was_asked, &joined)
        && let Some(question) = approval::question(error)
        && let Some(open) = approval::round(question, server, request)?
    {
        return Ok(open.into());
    }
    answer(joined).map(CallToolResponse::from)
}

/// Starts a call.
fn start(
    server: &Server,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
    (person, was_asked): (Option<Person>, bool),
) -> RunningCall {
    let actor = server.actor(context);
    let owner = actor.owner.clone();
    let profiles = server.profiles(context);
    let by = |way: Way| person.filter(|person| person.way == way);
    let (asking, questions) = by(Way::Rounds).map(Questions::channel).unzip();
    let asker = by(Way::Request).filter(|_| !was_asked);
    let report = context.meta.get_progress_token().map(|_| Report::default());
    let events = Events::new(Arc::new(ClientSink {
        output: report.as_ref().map(Report::listener),
        far: report.as_ref().map(Report::far),
        asker: asker.map(|person| Asker::new(server, person, context)),
        questions: asking,
    }));
    let cancel = CancellationToken::new();
    let call = {
        let catalog = Arc::clone(&server.catalog);
        let (name, cancel) = (request.name.clone(), cancel.clone());
        let known = Some(Arc::clone(&server.known));
        let trace = TraceContext::read(|name| Some(context.meta.get(name)?.as_str()?.to_owned()));
        let arguments = request.arguments.clone().unwrap_or_default();
        async move {
            let request = Request {
                known,
                trace,
                events,
                cancel,
                ..Request::new(&profiles, &name, arguments, &actor)
            };
            catalog.call(request).await
        }
    };
    // A task of its own, so that a fault in a tool ends the call and not the server.
    let mut running = JoinSet::new();
    let span = server.span(context, "tools/call", &request.name);
    let call = call.instrument(span);
    if server.catalog.is_foreign(&request.name, &owner) {
        // It waits for another server: without a change of the thread, it takes half the time.
        running.spawn(call);
    } else {
        server.spawn(&mut running, call);
    }
    RunningCall {
        running,
        cancel,
        questions,
        report,
    }
}

/// The result of a call, which may be a failure of the tool.
fn answer(joined: JoinResult) -> Result<CallToolResult, ErrorData> {
    let outcome = match joined {
        Some(Ok(outcome)) => outcome,
        _ => Err(Problem::Fault {
            reason: "the tool stopped without an answer".to_owned(),
        }
        .error()),
    };
    match outcome {
        Ok(result) => Ok(wire::result(result)),
        Err(error) if matches!(error.problem, Problem::UnknownTool { .. }) => {
            Err(wire::unknown_tool(&error))
        }
        Err(error) => Ok(wire::failure(error)),
    }
}

/// Turns a running call into a task that its client polls; cancelling the task ends the call.
fn as_task(
    tasks: &TaskManager,
    mut running: JoinSet<Outcome>,
    cancel: CancellationToken,
) -> CreateTaskResult {
    let ttl = u64::try_from(TASK_TTL.as_millis()).unwrap_or(u64::MAX);
    let options = TaskOptions::new()
        .with_ttl_ms(ttl)
        .with_poll_interval_ms(POLL_INTERVAL)
        .with_status_message("it runs");
    let task = tasks.spawn(options, |context: TaskContext| {
        Box::pin(async move {
            tokio::select! {
                joined = running.join_next() => answer(joined).map_err(TaskExit::Error),
                () = context.cancelled() => {
                    cancel.cancel();
                    running.join_next().await;
                    Err(TaskExit::Cancelled)
                }
            }
        })
    });
    CreateTaskResult::new(task)
}
