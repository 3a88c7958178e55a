//! Hosts that answer `hi`, and record the connections to each of their addresses.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The port of all hosts, at every address of their namespace.
pub(super) const PORT: u16 = 8443;
/// Another port of all hosts, which no run was granted.
pub(super) const OTHER_PORT: u16 = 9443;
/// A port of one private host only.
pub(super) const PRIVATE_PORT: u16 = 7443;
/// The time to wait for an event that must come.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);

/// The record of all hosts.
#[derive(Debug, Default)]
struct Record {
    /// The address of each connection, and the port that it came from.
    connections: Vec<(IpAddr, u16)>,
    /// The addresses that received bytes.
    heard: Vec<IpAddr>,
    /// The number of connections that haven't ended.
    open: usize,
}

/// All hosts of the test network.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts(Arc<Mutex<Record>>);

/// The lengths of the record at some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    connections: usize,
    heard: usize,
}

/// Listens at every address of the namespace that this thread is in.
pub(super) fn everywhere(port: u16) -> std::io::Result<TcpListener> {
    // Without IPv6, IPv4 is everything.
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
}

impl Hosts {
    /// Starts to answer `hi` to any bytes.
    pub(super) fn serve(&self, listener: TcpListener) {
        let hosts = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let ends = stream.local_addr().ok().zip(stream.peer_addr().ok());
                let Some((at, from)) = ends else { continue };
                let at = at.ip().to_canonical();
                let mut record = hosts.0.lock().unwrap();
                record.connections.push((at, from.port()));
                record.open += 1;
                drop(record);
                let hosts = hosts.clone();
                std::thread::spawn(move || hosts.hear(stream, at));
            }
        });
    }

    fn hear(&self, mut stream: TcpStream, at: IpAddr) {
        let _ = stream.set_read_timeout(Some(EVENT_TIMEOUT));
        let mut bytes = [0; 4_096];
        let mut has_answered = false;
        while matches!(stream.read(&mut bytes), Ok(1..)) {
            if !has_answered {
                self.0.lock().unwrap().heard.push(at);
                let _ = stream.write_all(format!("hi from {at}").as_bytes());
            }
            has_answered = true;
        }
        self.0.lock().unwrap().open -= 1;
    }

    /// Starts to answer datagrams.
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

    /// Starts to answer on a Unix socket.
    pub(super) fn local(&self, listener: UnixListener) {
        let hosts = self.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                // It counts at once, since no run may even connect.
                hosts
                    .0
                    .lock()
                    .unwrap()
                    .heard
                    .push(Ipv4Addr::LOCALHOST.into());
                // Unread bytes would make the kernel drop the answer.
                let _ = stream.set_read_timeout(Some(EVENT_TIMEOUT));
                let _ = stream.read(&mut [0; 4_096]);
                let _ = stream.write_all(b"hi from here");
            }
        });
    }

    /// Waits until all earlier connections were accepted and have ended; returns the moment, or `None` when one
    /// doesn't end.
    pub(super) fn settle(&self, listeners: &[SocketAddr]) -> Option<Moment> {
        // Connections are accepted in their order: after ours all others were.
        let mut ours = BTreeSet::new();
        for listener in listeners {
            let last = TcpStream::connect(listener).ok()?;
            ours.insert((listener.ip(), last.local_addr().ok()?.port()));
        }
        let start = Instant::now();
        while start.elapsed() < EVENT_TIMEOUT {
            let mut record = self.0.lock().unwrap();
            let seen = record.connections.iter().filter(|one| ours.contains(one));
            if record.open == 0 && seen.count() >= ours.len() {
                record.connections.retain(|one| !ours.contains(one));
                return Some(Moment {
                    connections: record.connections.len(),
                    heard: record.heard.len(),
                });
            }
            drop(record);
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// The addresses of the connections since a moment, and those that received bytes.
    pub(super) fn since(&self, moment: Moment) -> (Vec<IpAddr>, Vec<IpAddr>) {
        let record = self.0.lock().unwrap();
        let connections = record.connections.iter().skip(moment.connections);
        let heard = record.heard.iter().skip(moment.heard).copied();
        (connections.map(|(at, _)| *at).collect(), heard.collect())
    }
}
