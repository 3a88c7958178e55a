//! The proxy of a run, the only thing that its network leads to.
//!
//! The child listens inside of the sandbox and hands the listener to the server, which decides outside. A
//! connection must be for a host that was granted (`CONNECT`, RFC 9110, 9.3.6), at a public address, and TLS must
//! name the same host (RFC 6066, 3). Names are resolved once, here.
//!
//! A build may besides reach the operator's index at an exact address, by plain HTTP, or by a proxy of the operator.

mod contacts;
mod head;
mod hello;
mod plain;
mod refusal;
mod resolver;
mod tunnel;
mod upstream;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use gongfu_core::sandbox::{Contact, Reach};
use tokio::sync::{Semaphore, oneshot};

use crate::threads::lower_priority;
use contacts::Contacts;
use resolver::Resolver;

/// The most connections of a run at once.
const MAX_CONNECTIONS: usize = 32;
/// Limits the connections of all runs at once, because each takes two handles.
static ALL_CONNECTIONS: Semaphore = Semaphore::const_new(256);
/// The pause when no connection can be accepted for lack of handles.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The proxy of a run. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Proxy {
    contacts: Contacts,
    /// Dropping it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy on this listener, for hosts within this reach.
    ///
    /// # Errors
    /// There can be no more threads or handles.
    pub(crate) fn start(listener: OwnedFd, reach: Reach) -> io::Result<Self> {
        Self::with(listener, reach, Arc::new(resolver::System))
    }

    /// The same with this resolver.
    fn with(listener: OwnedFd, reach: Reach, resolver: Arc<dyn Resolver>) -> io::Result<Self> {
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(2)
            .build()?;
        let contacts = Contacts::default();
        let noted = contacts.clone();
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            // A transfer is no more urgent than the run.
            lower_priority();
            let _ = runtime.block_on(async {
                tokio::select! {
                    served = serve(listener, Arc::new(reach), resolver, noted) => served,
                    _ = stopped => Ok(()),
                }
            });
            // A name may still be being resolved.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("proxy".to_owned());
        Ok(Self {
            contacts,
            stop: Some(stop),
            thread: Some(thread.spawn(work)?),
        })
    }

    /// Ends it with every connection; returns the hosts that were asked for.
    pub(crate) fn end(mut self) -> Vec<Contact> {
        self.join();
        self.contacts.take()
    }

    fn join(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.join();
    }
}

async fn serve(
    listener: TcpListener,
    reach: Arc<Reach>,
    resolver: Arc<dyn Resolver>,
    contacts: Contacts,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return Ok(());
        };
        let Ok(shared) = ALL_CONNECTIONS.acquire().await else {
            return Ok(());
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (reach, contacts) = (Arc::clone(&reach), contacts.clone());
        let resolver = Arc::clone(&resolver);
        tokio::spawn(async move {
            tunnel::tunnel(stream, &reach, &*resolver, &contacts).await;
            drop((permit, shared));
        });
    }
}

#[cfg(test)]
mod tests;
