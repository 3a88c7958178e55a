//! `gongfu serve`: the server for many clients, over HTTP.

mod published;

use std::io::ErrorKind;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gongfu_core::port::{Clock, SkillStore};
use gongfu_core::sandbox::Level;
use gongfu_core::set::{SetChoice, Sets};
use gongfu_files::Home;
use gongfu_hub::AuditObserver;
use gongfu_hub::agent::ChatAgent;
use gongfu_library::watch::Limit;
use gongfu_mcp::{HttpSettings, Server, Settings};
use gongfu_sandbox::Runner;
use gongfu_server::metric::Reading;
use gongfu_server::{
    Address, ApiParts, Health, Limits, Listener, Metrics, OAuthParts, PublicUrl, PublishedFiles,
    Shutdown, Surface, Token,
};
use gongfu_upstream::{UserServers, refreshes_ended};

use super::Outcome;
use crate::accounts::{self, server::AccountServer};
use crate::agent;
use crate::cli::{Places, Profiles, Serving};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::sets::{self, ConfiguredSets};
use crate::signal::Signals;
use crate::telemetry;
use crate::terminal::Terminal;
use crate::token;
use crate::wiring::{self, FlagsOf, Parts};

/// Tells how many sessions are open.
type Sessions = Box<dyn Fn() -> usize + Send + Sync>;

/// Stands for the number of skills before the library has been read.
const UNREAD: u64 = u64::MAX;

pub(crate) fn run(
    serving: &Serving,
    profiles: &Profiles,
    places: &Places,
    environment: &Environment,
    terminal: &mut Terminal,
) -> anyhow::Result<Outcome> {
    let home = wiring::home_of_server(environment)?;
    let config = Config::read(&home)?;
    let set = sets::choice(profiles.set.as_deref(), &home)?;
    let (address, public_url) = reach(serving, environment, &config)?;
    let token = match address {
        Address::Tcp(_) if !serving.accounts => token(&home, public_url.is_some())?,
        _ => None,
    };

    let skills = Arc::new(AtomicU64::new(UNREAD));
    let sessions = Arc::new(OnceLock::new());
    let servers = Arc::new(OnceLock::new());
    let readings = readings(&skills, &sessions, &servers);
    let metrics = Arc::new(Metrics::new(env!("CARGO_PKG_VERSION"), readings));
    let counted = Arc::clone(&metrics);
    let observer: AuditObserver = Arc::new(move |entry| counted.count(entry));
    let flags = FlagsOf::server(serving.accounts);
    let seen = Arc::clone(&observer);
    let mut parts = wiring::parts_of_server(flags, environment, places, &profiles.mounts, seen)?;
    if serving.accounts {
        accounts::server::check_sources(&parts.skills)?;
    }
    parts.warn();
    parts.skills.watch(Limit::default());
    gongfu_server::raise_descriptor_limit();

    let sandbox = Arc::clone(&parts.sandbox);
    let runtime = wiring::server_runtime()?;
    let ended = runtime.block_on(async {
        let listener = Listener::bind(&address)
            .await
            .map_err(|error| unbound(&address, &error))?;
        tokio::spawn(count(
            Arc::clone(&parts.skills) as Arc<dyn SkillStore>,
            Arc::clone(&skills),
        ));
        tokio::spawn(Parts::settle(Arc::clone(&parts.search)));
        let level = Arc::default();
        tokio::spawn(find_level(Arc::clone(&parts.sandbox), Arc::clone(&level)));
        let url = listener.url();
        let accounts = if serving.accounts {
            let issuer = issuer(public_url.as_ref(), &url);
            let mut server = AccountServer::start(&home, &config, environment, &issuer).await?;
            if let Some(url) = server.first_admin().await? {
                terminal.note(&format!(
                    "there are no users yet; the first admin signs up at {url}"
                ));
            }
            parts.catalog = server.catalog(&parts, observer).await?;
            let _ = servers.set(Arc::clone(&server.servers));
            Some(server)
        } else {
            wiring::offer_own_servers(&parts.space, &parts.catalog).await;
            None
        };
        let sets: Arc<dyn Sets> = Arc::new(ConfiguredSets::new(&home));
        let surface = accounts.as_ref().map(|server| {
            let sets = (Arc::clone(&sets), set.clone());
            server.surface(&parts, profiles, public_url.is_some(), sets)
        });
        let (api, sign_in) = surface.transpose()?.unzip();
        let store = Arc::clone(&parts.skills) as Arc<dyn SkillStore>;
        let published = published::files(&serving.publish, store, &home, environment);
        let agent = || agent::agent(&parts.catalog, &config, environment);
        let api = api.unwrap_or_else(|| own_api(agent(), &parts, profiles, &sets, set.clone()));
        let ended = serve(
            profiles,
            parts,
            ServerParts {
                sets,
                set,
                listener,
                public_url,
                token,
                skills,
                level,
                sessions,
                metrics,
                api,
                sign_in,
                published,
            },
            || announce(&url, serving.json, terminal),
        );
        let ended = ended.await;
        if let Some(server) = accounts {
            server.stop().await;
        }
        anyhow::Ok(ended)
    })?;
    if ended == Shutdown::Forced {
        tracing::warn!("some connections were still open at shutdown and were closed");
    }
    runtime.block_on(refreshes_ended());
    // A task may still wait for a disk that doesn't answer.
    runtime.shutdown_background();
    sandbox.end();
    Ok(Outcome::Good)
}

/// The API of a server without accounts.
fn own_api(
    agent: Arc<dyn ChatAgent>,
    parts: &Parts,
    profiles: &Profiles,
    sets: &Arc<dyn Sets>,
    set: Option<SetChoice>,
) -> ApiParts {
    ApiParts {
        catalog: Arc::clone(&parts.catalog),
        profiles: profiles.list.clone(),
        sets: Arc::clone(sets),
        set,
        agent: Some(agent),
        accounts: None,
    }
}

/// The parts of a server, besides the parts of every gongfu.
struct ServerParts {
    sets: Arc<dyn Sets>,
    /// The set of clients that name none.
    set: Option<SetChoice>,
    listener: Listener,
    public_url: Option<PublicUrl>,
    token: Option<Token>,
    skills: Arc<AtomicU64>,
    level: Arc<OnceLock<&'static str>>,
    sessions: Arc<OnceLock<Sessions>>,
    metrics: Arc<Metrics>,
    api: ApiParts,
    sign_in: Option<OAuthParts>,
    published: Option<PublishedFiles>,
}

/// The address that it listens on, and the one that it is called by.
fn reach(
    serving: &Serving,
    environment: &Environment,
    config: &Config,
) -> anyhow::Result<(Address, Option<PublicUrl>)> {
    let (from, of) = (
        environment.listen.as_deref(),
        config.server.listen.as_deref(),
    );
    let address = chosen(serving.listen.as_ref(), from, of)?.unwrap_or_default();
    let (from, of) = (
        environment.public_url.as_deref(),
        config.server.public_url.as_deref(),
    );
    let public_url = chosen(serving.public_url.as_ref(), from, of)?;
    check_reach(&address, public_url.as_ref(), serving.accounts)?;
    Ok((address, public_url))
}

/// Checks that only a server with accounts is reached by other machines, and that it has a name for them.
fn check_reach(
    address: &Address,
    public_url: Option<&PublicUrl>,
    has_accounts: bool,
) -> Result<(), Failure> {
    if !address.is_open() {
        return Ok(());
    }
    let (message, hint) = if !has_accounts {
        (
            format!("{address} is open to other machines"),
            "add --accounts, so that users sign in; or listen on 127.0.0.1 behind a proxy that authenticates (see --public-url)",
        )
    } else if public_url.is_none() {
        (
            format!("{address} is open to other machines, which know the server by no name yet"),
            "add --public-url with the URL that clients connect to, such as https://skills.example.com",
        )
    } else {
        return Ok(());
    };
    Err(Failure::usage("ADDRESS_OPEN", message, hint))
}

/// The URL of a server with accounts, which its tokens are for.
fn issuer(public_url: Option<&PublicUrl>, mcp: &str) -> String {
    match public_url {
        Some(url) => url.to_string(),
        None => mcp.strip_suffix("/mcp").unwrap_or(mcp).to_owned(),
    }
}

async fn serve(
    profiles: &Profiles,
    parts: Parts,
    served: ServerParts,
    announce: impl FnOnce(),
) -> Shutdown {
    let settings = HttpSettings {
        hosts: gongfu_server::hosts(served.public_url.as_ref()),
        origins: gongfu_server::origins(served.public_url.as_ref()),
        sets: Some(served.sets),
        ..HttpSettings::default()
    };
    let server = Server::new(
        Arc::clone(&parts.catalog),
        Settings {
            profiles: profiles.list.clone(),
            set: served.set,
            catalogue: parts.budget,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            adopt: Some(telemetry::adopt),
            work: None,
            roots: None,
        },
    );
    let endpoint = server.endpoint(settings);
    let (skills, level) = (served.skills, served.level);
    let counted = endpoint.clone();
    let _ = served.sessions.set(Box::new(move || counted.sessions()));
    let surface = Surface {
        mcp: endpoint.clone(),
        health: Arc::new(move || Health {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ready: skills.load(Ordering::Relaxed) != UNREAD,
            sandbox: level.get().copied(),
        }),
        metrics: served.metrics,
        clock: Arc::new(SystemClock) as Arc<dyn Clock>,
        link_parent_trace: Some(telemetry::adopt),
        public_url: served.public_url,
        token: served.token,
        api: Some(served.api),
        sign_in: served.sign_in,
        published: served.published,
    };
    let server = gongfu_server::Server::new(surface, Limits::default());
    // Before anybody is told where the server is: who knows may end it.
    let (mut first, mut second) = (Signals::listen(), Signals::listen());
    let stop = async { first.next().await };
    let running = server.run(served.listener, stop, |patience| async move {
        endpoint.drain(patience).await;
    });
    let twice = async {
        second.next().await;
        second.next().await;
    };
    announce();
    tokio::select! {
        ended = running => ended,
        // A second signal means that the operator doesn't want to wait.
        () = twice => Shutdown::Forced,
    }
}

/// The token of the home; `None` where there can't be one and the server does without.
fn token(home: &Home, has_proxy: bool) -> anyhow::Result<Option<Token>> {
    match token::read_or_make(home) {
        Ok(token) => Ok(Some(token)),
        // Only there is a client known by its connection.
        Err(error) if cfg!(target_os = "linux") && !has_proxy => {
            tracing::warn!(
                "without a token, only connections of the server's own user are accepted: {error:#}"
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Says where the server is: to people, and to a program that reads standard output.
fn announce(url: &str, json: bool, terminal: &mut Terminal) {
    let version = env!("CARGO_PKG_VERSION");
    // Nobody has to read it.
    let _ = if json {
        terminal.json(&serde_json::json!({ "url": url, "version": version }))
    } else {
        terminal.line(&format!("gongfu {version} serves MCP at {url}"))
    };
}

/// Finds out what scripts are run in, which health tells.
async fn find_level(runner: Arc<Runner>, level: Arc<OnceLock<&'static str>>) {
    let used = runner.level().await;
    let _ = level.set(used.map_or("unavailable", Level::as_str));
}

/// Keeps the number of skills, which health and metrics tell.
async fn count(store: Arc<dyn SkillStore>, skills: Arc<AtomicU64>) {
    while let Ok(library) = store.library().await {
        skills.store(library.skills().len() as u64, Ordering::Relaxed);
        let next = store.changed(library.revision()).await;
        if next.is_err() {
            return;
        }
    }
}

fn readings(
    skills: &Arc<AtomicU64>,
    sessions: &Arc<OnceLock<Sessions>>,
    servers: &Arc<OnceLock<Arc<UserServers>>>,
) -> Vec<(&'static str, &'static str, Reading)> {
    let (skills, sessions) = (Arc::clone(skills), Arc::clone(sessions));
    let skills: Reading = Box::new(move || {
        let number = skills.load(Ordering::Relaxed);
        (number != UNREAD).then_some(number)
    });
    let sessions: Reading = Box::new(move || Some(sessions.get()?() as u64));
    let servers = Arc::clone(servers);
    let servers: Reading = Box::new(move || Some(servers.get()?.sessions() as u64));
    vec![
        ("skills", "Skills of the library", skills),
        (
            "mcp_sessions",
            "Open sessions of the older revisions",
            sessions,
        ),
        (
            "connection_sessions",
            "Sessions of users with other servers",
            servers,
        ),
    ]
}

/// Why the server can't listen, and what to do.
fn unbound(address: &Address, error: &std::io::Error) -> Failure {
    let (message, hint) = match (error.kind(), address) {
        (ErrorKind::AddrInUse, Address::Tcp(tcp)) => (
            format!("port {} is in use", tcp.port()),
            "another `gongfu serve`? Choose another port with --listen, or :0 for a free one",
        ),
        (ErrorKind::AddrInUse, Address::Unix(_)) => (
            format!("{address} is in use by another server"),
            "stop that server, or choose another path with --listen",
        ),
        (ErrorKind::PermissionDenied, _) => (
            format!("no permission to listen on {address}"),
            "choose a port above 1023, or a path that you can write to, with --listen",
        ),
        _ => (
            format!("can't listen on {address}: {error}"),
            "choose another address with --listen",
        ),
    };
    Failure::new("ADDRESS_UNAVAILABLE", message, hint)
}

/// Returns the first value: of a flag, the environment, the settings.
fn chosen<T: FromStr + Clone>(
    flag: Option<&T>,
    environment: Option<&str>,
    settings: Option<&str>,
) -> anyhow::Result<Option<T>>
where
    T::Err: std::error::Error + Send + Sync + 'static,
{
    match (flag, environment.or(settings)) {
        (Some(flag), _) => Ok(Some(flag.clone())),
        (None, Some(text)) => match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                let hint = "fix it in the settings (`[server]`) or the environment";
                Err(Failure::new("INVALID_VALUE", error.to_string(), hint).into())
            }
        },
        (None, None) => Ok(None),
    }
}
