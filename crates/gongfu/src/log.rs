//! The log: lines on standard error, for people or for programs; and the same as traces.

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::{Environment, LogFormat};
use crate::telemetry::Telemetry;

/// Starts the log. Standard output belongs to answers and to the protocol, so it goes to standard
/// error.
///
/// A refused request is an answer and no news; the SDK's words about it come with
/// `GONGFU_LOG=debug` or `-vv`. The lines that are asked for of
/// a server say when; those of a command are read at once. Traces of a
/// server are sent where the environment says.
pub(crate) fn start(environment: &Environment, is_server: bool, verbose: u8) -> Option<Telemetry> {
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
    let endpoint = environment.traces.as_deref().filter(|_| is_server);
    let service = environment.service.as_deref().unwrap_or("gongfu");
    let (telemetry, problem) = match endpoint.map(|to| Telemetry::to(to, service)) {
        Some(Ok(telemetry)) => (Some(telemetry), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    };
    let traces = telemetry.as_ref().map(|telemetry| {
        let spans = Targets::new()
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
