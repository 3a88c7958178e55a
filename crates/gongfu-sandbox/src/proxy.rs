//! What a run reaches of the network: a proxy of its own, to which alone its network leads.
//!
//! The child listens inside, where there is nothing else, and hands the listener out; who is let through
//! is decided here, outside. A connection is for one host that was granted (`CONNECT`, RFC 9110, 9.3.6), at
//! an address that is everybody's, and for the same host by TLS: the first thing said has to name it
//! (RFC 6066, 3). Names are resolved here alone, once.

mod head;
mod hello;
mod resolver;
mod tunnel;

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gongfu_core::sandbox::{Contact, Reach};
use tokio::sync::{Semaphore, oneshot};

use crate::threads::stand_behind;
use resolver::Resolver;

/// Where the proxy is, inside.
pub(crate) const ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);
/// How many connections a run has at once.
const AT_ONCE: usize = 32;
/// How many of them are told.
const TOLD: usize = 100;

/// How many connections all runs of this process have at once: each takes two handles.
static ALL: Semaphore = Semaphore::const_new(256);
/// How long it is waited where nobody can be let in: there are no more handles.
const PAUSE: Duration = Duration::from_millis(50);
/// What is told of a host of which nobody knows yet whether it is reached.
const OPEN: &str = "the run ended before it was known whether it is reached";

/// What the run asked for, and what became of it: each once, those that were reached before others.
#[derive(Debug, Clone, Default)]
struct Contacts(Arc<Mutex<Vec<Contact>>>);

impl Contacts {
    /// Notes that a host is asked for.
    fn open(&self, host: &str) {
        self.add(Contact {
            host: host.to_owned(),
            refused: Some(OPEN.to_owned()),
        });
    }

    /// Notes what became of it.
    fn close(&self, contact: Contact) {
        let mut all = self.held();
        all.retain(|known| known.host != contact.host || known.refused.as_deref() != Some(OPEN));
        drop(all);
        self.add(contact);
    }

    fn add(&self, contact: Contact) {
        let mut all = self.held();
        if all.contains(&contact) {
            return;
        }
        if all.len() >= TOLD && contact.refused.is_none() {
            // What is refused can be asked for without end, to hide what isn't.
            let refused = all.iter().rposition(|known| known.refused.is_some());
            refused.map(|at| all.remove(at));
        }
        if all.len() < TOLD {
            all.push(contact);
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<Contact>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The proxy of a run, until this is let go of.
#[derive(Debug)]
pub(crate) struct Proxy {
    contacts: Contacts,
    /// Ends it by being dropped.
    wanted: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Lets through what may be reached, of those who come to this listener.
    ///
    /// # Errors
    /// There can be no more threads, or nothing that waits.
    pub(crate) fn begin(listener: OwnedFd, reach: Reach) -> io::Result<Self> {
        Self::with(listener, reach, Arc::new(resolver::System))
    }

    /// The same, where names are resolved by this.
    fn with(listener: OwnedFd, reach: Reach, resolver: Arc<dyn Resolver>) -> io::Result<Self> {
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(2)
            .build()?;
        let contacts = Contacts::default();
        let told = contacts.clone();
        let (wanted, unwanted) = oneshot::channel();
        let serves = move || {
            // What a run loads is no more urgent than the run.
            stand_behind();
            let _ = runtime.block_on(async {
                tokio::select! {
                    served = serve(listener, Arc::new(reach), resolver, told) => served,
                    _ = unwanted => Ok(()),
                }
            });
            // A name that is still being resolved is waited for by nobody.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("proxy".to_owned());
        Ok(Self {
            contacts,
            wanted: Some(wanted),
            thread: Some(thread.spawn(serves)?),
        })
    }

    /// Ends it, with every connection; answers what was asked for.
    pub(crate) fn end(mut self) -> Vec<Contact> {
        self.stop();
        std::mem::take(&mut *self.contacts.held())
    }

    fn stop(&mut self) {
        self.wanted = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(
    listener: TcpListener,
    reach: Arc<Reach>,
    resolver: Arc<dyn Resolver>,
    contacts: Contacts,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(room) = Arc::clone(&room).acquire_owned().await else {
            return Ok(());
        };
        let Ok(shared) = ALL.acquire().await else {
            return Ok(());
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (reach, contacts) = (Arc::clone(&reach), contacts.clone());
        let resolver = Arc::clone(&resolver);
        tokio::spawn(async move {
            tunnel::carry(stream, &reach, &*resolver, &contacts).await;
            drop((room, shared));
        });
    }
}

#[cfg(test)]
mod tests;
