//! The servers of the local person's connections, as the files declare them now.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gongfu_core::connection::ConnectionName;
use gongfu_core::port::{
    ConnectionStatus, Discovery, Pending, Records, ServerAnswer, ServerCall, ServerContents,
    ServerReply, ServerRequest, ServerSkills, ServerTools, Servers, SignIn,
};
use gongfu_files::Home;
use gongfu_upstream::{LocalServers, SharedServers};
use tokio::sync::watch;
use tokio::time::sleep;

use super::servers::{address, local, name};
use super::{Connections, connections};
use crate::environment::Environment;
use crate::stamp::FileStamp;

/// The time between two looks at the files while somebody waits for a change.
const LOOK: Duration = Duration::from_secs(2);

/// The servers of the connections that the files declare now. Calls that run go on when the files change.
pub(crate) struct LiveServers {
    environment: Environment,
    home: Home,
    records: Arc<dyn Records>,
    current: Mutex<Current>,
    /// Held by the one who looks at the files.
    turn: tokio::sync::Mutex<()>,
    /// Counts the changes.
    version: watch::Sender<u64>,
}

/// The servers of one state of the files.
struct Current {
    files: Files,
    /// All that decides which servers run, and how.
    name: Option<String>,
    servers: Arc<dyn Servers>,
    /// Those of them that this process runs.
    local: Arc<LocalServers>,
    /// The number of the servers' last change.
    seen: u64,
}

/// The files of connections, and their states.
type Files = Vec<(Option<FileStamp>, PathBuf)>;

impl LiveServers {
    /// The servers of the connections that are declared now, and what is left out of the files.
    pub(crate) fn new(
        environment: &Environment,
        home: &Home,
        records: &Arc<dyn Records>,
    ) -> (Self, Vec<String>) {
        // Looked at before they are read: what changes between is read again.
        let files = files(environment, home);
        let connections = connections(environment, home);
        let left_out = left_out(&connections);
        let name = name(environment, &connections);
        let (servers, local) = servers(environment, home, records, connections, None);
        let live = Self {
            environment: environment.clone(),
            home: home.clone(),
            records: Arc::clone(records),
            current: Mutex::new(Current {
                files,
                name,
                servers,
                local,
                seen: 0,
            }),
            turn: tokio::sync::Mutex::default(),
            version: watch::Sender::new(0),
        };
        (live, left_out)
    }

    fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the files again if they changed.
    fn look(&self) {
        let files = files(&self.environment, &self.home);
        let mut current = self.lock();
        if current.files == files {
            return;
        }
        current.files = files;
        let connections = connections(&self.environment, &self.home);
        for one in left_out(&connections) {
            tracing::warn!("{one}");
        }
        let name = name(&self.environment, &connections);
        if current.name == name {
            return;
        }
        current.name = name;
        let (environment, home, records) = (&self.environment, &self.home, &self.records);
        let former = Some(&*current.local);
        let (servers, local) = servers(environment, home, records, connections, former);
        current.servers = servers;
        current.local = local;
        current.seen = 0;
        drop(current);
        self.version.send_modify(|version| *version += 1);
    }

    /// Looks at the files again and again. Of all who wait for a change, one does.
    async fn watch(&self) {
        let _turn = self.turn.lock().await;
        loop {
            sleep(LOOK).await;
            self.look();
        }
    }

    /// The servers as the files have them now.
    fn now(&self) -> Arc<dyn Servers> {
        self.look();
        Arc::clone(&self.lock().servers)
    }

    /// Notes a change of these servers.
    fn note(&self, servers: &Arc<dyn Servers>, seen: u64) {
        let mut current = self.lock();
        if !Arc::ptr_eq(&current.servers, servers) || current.seen == seen {
            return;
        }
        current.seen = seen;
        drop(current);
        self.version.send_modify(|version| *version += 1);
    }
}

/// The words about each entry that can't be used.
fn left_out(connections: &Connections) -> Vec<String> {
    let left_out = connections.diagnostics.iter();
    let left_out = left_out.map(|one| format!("a connection is left out: {}", one.text()));
    left_out.collect()
}

/// The servers of these connections, run by a process that all clients of the person use, or by this one; and those that
/// this one runs.
fn servers(
    environment: &Environment,
    home: &Home,
    records: &Arc<dyn Records>,
    connections: Connections,
    former: Option<&LocalServers>,
) -> (Arc<dyn Servers>, Arc<LocalServers>) {
    let is_shared = !environment.is_standalone && !connections.declared.is_empty();
    let address = is_shared.then(|| address(environment, home, &connections));
    let local = Arc::new(local(environment, home, records, connections, former));
    let servers: Arc<dyn Servers> = match address.flatten() {
        Some(address) => Arc::new(SharedServers::new(Arc::clone(&local), address)),
        None => Arc::<LocalServers>::clone(&local),
    };
    (servers, local)
}

/// The files of connections as they are now.
fn files(environment: &Environment, home: &Home) -> Files {
    let named = environment.connections_file.iter().cloned();
    let mut paths: Vec<PathBuf> = std::iter::once(home.connections()).chain(named).collect();
    if let Some(folder) = &environment.connections_dir {
        paths.extend(listed(folder).unwrap_or_default());
        paths.push(folder.clone());
    }
    let paths = paths.into_iter();
    paths.map(|path| (FileStamp::of(&path), path)).collect()
}

/// The paths in a folder, sorted.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    Ok(paths)
}

impl Servers for LiveServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        Box::pin(async move { self.now().statuses().await })
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        Box::pin(async move { self.now().tools().await })
    }

    fn skills(&self) -> Pending<'_, Vec<ServerSkills>> {
        Box::pin(async move { self.now().skills().await })
    }

    fn fetch<'a>(&'a self, name: &'a ConnectionName, uri: &'a str) -> Pending<'a, Vec<u8>> {
        Box::pin(async move { self.now().fetch(name, uri).await })
    }

    fn contents(&self) -> Pending<'_, Vec<ServerContents>> {
        Box::pin(async move { self.now().contents().await })
    }

    fn request(&self, request: ServerRequest) -> Pending<'_, ServerReply> {
        Box::pin(async move { self.now().request(request).await })
    }

    fn changed(&self, since: u64) -> Pending<'_, u64> {
        Box::pin(async move {
            let mut version = self.version.subscribe();
            loop {
                let now = *version.borrow_and_update();
                if now != since {
                    return Ok(now);
                }
                let (servers, seen) = {
                    let current = self.lock();
                    (Arc::clone(&current.servers), current.seen)
                };
                tokio::select! {
                    seen = servers.changed(seen) => self.note(&servers, seen?),
                    _ = version.changed() => {}
                    () = self.watch() => {}
                }
            }
        })
    }

    fn discover<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, Discovery> {
        Box::pin(async move { self.now().discover(name).await })
    }

    fn sign_in<'a>(
        &'a self,
        name: &'a ConnectionName,
        redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        Box::pin(async move { self.now().sign_in(name, redirect).await })
    }

    fn sign_out<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, bool> {
        Box::pin(async move { self.now().sign_out(name).await })
    }

    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer> {
        Box::pin(async move { self.now().call(call).await })
    }
}
