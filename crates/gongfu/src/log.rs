//! The log: lines on standard error, for people or for programs.

use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::environment::{Environment, LogFormat};

/// Starts the log. Standard output belongs to answers and to the protocol, so it goes to standard
/// error.
///
/// A refused request is an answer and no news; the SDK's words about it come with
/// `GONGFU_LOG=debug`. A server's lines say when; those of a command are read at once.
pub(crate) fn start(environment: &Environment, is_server: bool) {
    let asked = environment
        .log
        .as_deref()
        .and_then(|level| level.parse().ok());
    let level = asked.unwrap_or(LevelFilter::WARN);
    let of_sdk = asked
        .filter(|level| *level >= LevelFilter::DEBUG)
        .unwrap_or(LevelFilter::OFF);
    let filter = Targets::new()
        .with_default(level)
        .with_target("rmcp", of_sdk);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    let lines = match environment.log_format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Text if is_server => lines.with_target(false).boxed(),
        LogFormat::Text => lines.with_target(false).without_time().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .init();
}
