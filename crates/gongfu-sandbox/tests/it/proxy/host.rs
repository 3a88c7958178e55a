//! Hosts that say `hi`, and keep who came to which of their addresses and what they heard.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Where they listen, at every address of their namespace.
pub(super) const PORT: u16 = 8443;
/// Where they listen as well, which is granted to nobody.
pub(super) const OTHER_PORT: u16 = 9443;
/// Where a host of their network listens, and no other.
pub(super) const PRIVATE_PORT: u16 = 7443;
/// How long it is waited for what has to come.
const PATIENCE: Duration = Duration::from_mins(1);

/// What they know.
#[derive(Debug, Default)]
struct Known {
    /// The address that each connection was made to, and the port that it came from.
    came: Vec<(IpAddr, u16)>,
    /// The addresses that were told something.
    heard: Vec<IpAddr>,
    /// How many connections haven't ended.
    open: usize,
}

/// All hosts of the world.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(Arc<Mutex<Known>>);

/// What they knew at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    came: usize,
    heard: usize,
}

/// Listens at every address of the namespace that this thread is in.
pub(super) fn everywhere(port: u16) -> std::io::Result<TcpListener> {
    // Where there is no IPv6, the older kind is everything.
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
}

impl Hosts {
    /// Says `hi` to whoever says something, from now on.
    pub(super) fn serve(&self, listener: TcpListener) {
        let hosts = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let ends = stream.local_addr().ok().zip(stream.peer_addr().ok());
                let Some((at, from)) = ends else { continue };
                let at = at.ip().to_canonical();
                let mut known = hosts.0.lock().unwrap();
                known.came.push((at, from.port()));
                known.open += 1;
                drop(known);
                let hosts = hosts.clone();
                std::thread::spawn(move || hosts.hear(stream, at));
            }
        });
    }

    fn hear(&self, mut stream: TcpStream, at: IpAddr) {
        let _ = stream.set_read_timeout(Some(PATIENCE));
        let mut bytes = [0; 4_096];
        let mut is_told = false;
        while matches!(stream.read(&mut bytes), Ok(1..)) {
            if !is_told {
                self.0.lock().unwrap().heard.push(at);
                let _ = stream.write_all(format!("hi from {at}").as_bytes());
            }
            is_told = true;
        }
        self.0.lock().unwrap().open -= 1;
    }

    /// The same for what needs no connection.
    pub(super) fn answer(&self, socket: UdpSocket, at: IpAddr) {
        let hosts = self.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok((_, from)) = socket.recv_from(&mut bytes) {
                hosts.0.lock().unwrap().heard.push(at);
                let _ = socket.send_to(format!("hi from {at}").as_bytes(), from);
            }
        });
    }

    /// The same for a socket of this machine.
    pub(super) fn local(&self, listener: UnixListener) {
        let hosts = self.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // Whoever comes is told, since nobody may even come.
                hosts
                    .0
                    .lock()
                    .unwrap()
                    .heard
                    .push(Ipv4Addr::LOCALHOST.into());
                // What isn't read would have the system take the answer back.
                let _ = stream.set_read_timeout(Some(PATIENCE));
                let _ = stream.read(&mut [0; 4_096]);
                let _ = stream.write_all(b"hi from here");
            }
        });
    }

    /// What they know when all who came before were let in, and have gone; `None` when somebody stays.
    pub(super) fn settle(&self, listeners: &[SocketAddr]) -> Option<Moment> {
        // They are let in one after the other: who comes last sees that all others were.
        let mut ours = BTreeSet::new();
        for listener in listeners {
            let last = TcpStream::connect(listener).ok()?;
            ours.insert((listener.ip(), last.local_addr().ok()?.port()));
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let mut known = self.0.lock().unwrap();
            let seen = known.came.iter().filter(|one| ours.contains(one));
            if known.open == 0 && seen.count() >= ours.len() {
                known.came.retain(|one| !ours.contains(one));
                return Some(Moment {
                    came: known.came.len(),
                    heard: known.heard.len(),
                });
            }
            drop(known);
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// The addresses to which somebody came since a moment, and those that were told something.
    pub(super) fn since(&self, moment: Moment) -> (Vec<IpAddr>, Vec<IpAddr>) {
        let known = self.0.lock().unwrap();
        let came = known.came.iter().skip(moment.came).map(|(at, _)| *at);
        let heard = known.heard.iter().skip(moment.heard).copied();
        (came.collect(), heard.collect())
    }
}
