//! The log: lines on standard error, for people or for programs; and the same as traces.

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::{Environment, LogFormat};
use crate::telemetry::Telemetry;

/// The kind of a command, as far as its log differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// It serves until it is ended.
    Server,
    /// It runs the agent, whose traces are sent.
    Agent,
    /// It answers and ends.
    Other,
}

/// Starts the log. Standard output belongs to answers and to the protocol, so it goes to standard
/// error.
///
/// A refused request is an answer and no news; the SDK's words about it come with
/// `GONGFU_LOG=debug` or `-vv`. The lines that are asked for of
/// a server say when; those of a command are read at once. Traces of a
/// server and of the agent are sent where the environment says.
pub(crate) fn start(
    environment: &Environment,
    kind: CommandKind,
    verbose: u8,
) -> Option<Telemetry> {
    let is_server = kind == CommandKind::Server;
    let asked = environment
        .log
        .as_deref()
        .and_then(|level| level.parse().ok())
        .or((verbose > 1).then_some(LevelFilter::DEBUG));
    let level = asked.unwrap_or(LevelFilter::WARN);
    let of_sdk = asked
        .filter(|level| *level >= LevelFilter::DEBUG)
        .unwrap_or(LevelFilter::OFF);
    let filter = Targets::new()
        .with_default(level)
        .with_target("rmcp", of_sdk)
        // Its lines have the key of the provider in them.
        .with_target("genai", LevelFilter::OFF)
        // Its details have the codes of sign-ins in them.
        .with_target("rmcp::transport::auth", of_sdk.min(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    let lines = match environment.log_format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Text if is_server && asked.is_some() => lines.with_target(false).boxed(),
        LogFormat::Text => lines.with_target(false).without_time().boxed(),
    };
    let endpoint = environment
        .traces
        .as_deref()
        .filter(|_| kind != CommandKind::Other);
    let service = environment.service.as_deref().unwrap_or("gongfu");
    let (telemetry, problem) = match endpoint.map(|to| Telemetry::to(to, service)) {
        Some(Ok(telemetry)) => (Some(telemetry), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    };
    let traces = telemetry.as_ref().map(|telemetry| {
        let spans = Targets::new()
            .with_target("gongfu_agent", LevelFilter::INFO)
            .with_target("gongfu_mcp", LevelFilter::INFO)
            .with_target("gongfu_server", LevelFilter::INFO);
        tracing_opentelemetry::layer()
            .with_tracer(telemetry.tracer())
            .with_filter(spans)
    });
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .with(traces)
        .init();
    if let Some(problem) = problem {
        tracing::warn!("{problem}");
    }
    telemetry
}
