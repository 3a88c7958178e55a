//! The MCP server of the product with the fixtures of the official conformance suite in its lists.
//!
//! A program of its own, so that the product contains no fixture. Runs no scripts.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "standard output tells the address, standard error what went wrong"
)]

mod catalog;
mod fixture;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::Parser;
use gongfu_core::port::Clock;
use gongfu_mcp::{HttpEndpoint, HttpSettings, Server, Settings};
use gongfu_server::{Address, Health, Limits, Listener, Metrics, Shutdown, Surface};
use tokio::signal::unix::{SignalKind, signal};

use crate::fixture::Fixtures;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Characters that the skills take in the server's instructions.
const CATALOGUE_BUDGET: usize = 4_000;

/// Serves MCP with the fixtures over HTTP until SIGTERM.
#[derive(Parser)]
struct Arguments {
    /// The address to listen at
    #[arg(long)]
    listen: Address,
    /// A folder of skills
    #[arg(long)]
    skills_dir: PathBuf,
    /// The folder for the home and the workspace
    #[arg(long)]
    folder: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(Shutdown::Clean) => ExitCode::SUCCESS,
        Ok(Shutdown::Forced) => {
            eprintln!("error: some connections were cut off at the end");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Shutdown> {
    let clock: Arc<dyn Clock> = Arc::new(catalog::SystemClock);
    let catalog = catalog::open(&arguments.folder, &arguments.skills_dir, &clock)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(async {
        let listener = Listener::bind(&arguments.listen).await?;
        let mut terminate = signal(SignalKind::terminate())?;
        println!("serves MCP at {}", listener.url());
        let server = Server::new(
            Arc::new(catalog),
            Settings {
                profiles: Vec::new(),
                catalogue: CATALOGUE_BUDGET,
                version: VERSION.to_owned(),
                adopt: None,
                work: None,
                set: None,
                roots: None,
            },
        );
        let fixtures = Fixtures::new(server);
        let settings = HttpSettings {
            hosts: gongfu_server::hosts(None),
            origins: gongfu_server::origins(None),
            ..HttpSettings::default()
        };
        let endpoint = HttpEndpoint::new(move || fixtures.connection(), settings);
        let surface = Surface {
            mcp: endpoint.clone(),
            published: None,
            health: Arc::new(|| Health {
                version: VERSION.to_owned(),
                ready: true,
                sandbox: None,
            }),
            metrics: Arc::new(Metrics::new(VERSION, Vec::new())),
            clock,
            link_parent_trace: None,
            public_url: None,
            token: None,
            api: None,
            sign_in: None,
        };
        let stop = async move {
            terminate.recv().await;
        };
        let drain = |limit| async move { endpoint.drain(limit).await };
        let server = gongfu_server::Server::new(surface, Limits::default());
        anyhow::Ok(server.run(listener, stop, drain).await)
    })?;
    runtime.shutdown_background();
    Ok(ended)
}
