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
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use gongfu_core::sandbox::{Contact, Reach};
use tokio::sync::{Semaphore, oneshot};

use crate::threads::stand_behind;
use resolver::Resolver;

/// Where the proxy is, inside.
pub(crate) const ADDRESS: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);
/// How many connections a run has at once.
const AT_ONCE: usize = 64;
/// How many of them are told.
const TOLD: usize = 100;

/// What the run asked for, and what became of it: each once.
#[derive(Debug, Clone, Default)]
struct Contacts(Arc<Mutex<Vec<Contact>>>);

impl Contacts {
    fn add(&self, contact: Contact) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < TOLD && !all.contains(&contact) {
            all.push(contact);
        }
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
        let mut all = self.contacts.0.lock();
        let all = all.as_deref_mut();
        all.map(std::mem::take).unwrap_or_default()
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
        let (stream, _) = listener.accept().await?;
        let (reach, contacts) = (Arc::clone(&reach), contacts.clone());
        let resolver = Arc::clone(&resolver);
        tokio::spawn(async move {
            tunnel::carry(stream, &reach, &*resolver, |contact| contacts.add(contact)).await;
            drop(room);
        });
    }
}

#[cfg(test)]
mod tests;
