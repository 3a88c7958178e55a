//! An HTTP server on this machine, for tests: each request gets what a function writes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use url::Url;

/// A server that runs until it is dropped.
pub(super) struct TestServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    /// Starts a server; the function gets the path of each request.
    pub(super) fn start(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, is_over) = (Arc::new(Mutex::default()), Arc::new(AtomicBool::new(false)));
        let (log, stop, answer) = (
            Arc::clone(&requests),
            Arc::clone(&is_over),
            Arc::new(answer),
        );
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                thread::spawn(move || serve(stream.unwrap(), &log, &*answer));
            }
        });
        Self {
            address,
            requests,
            is_over,
            thread: Some(thread),
        }
    }

    /// Starts a server that has these contents, and answers 404 for all others.
    pub(super) fn with(pages: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self::start(move |path, stream| {
            let page = pages.iter().find(|(other, _)| *other == path);
            match page {
                Some((_, body)) => respond(stream, "200 OK", "", body),
                None => respond(stream, "404 Not Found", "", b"nothing"),
            }
        })
    }

    /// The address of a path.
    pub(super) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    /// The heads of the requests so far.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    /// The paths of the requests so far.
    pub(super) fn paths(&self) -> Vec<String> {
        let path = |head: String| head.split(' ').nth(1).unwrap().to_owned();
        self.requests().into_iter().map(path).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Answers one request.
fn serve(mut stream: TcpStream, log: &Mutex<Vec<String>>, answer: &dyn Fn(&str, &mut TcpStream)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    log.lock().unwrap().push(head.clone());
    answer(head.split(' ').nth(1).unwrap(), &mut stream);
}

/// Writes a whole answer. Headers end with a line break each.
pub(super) fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    // The client may have left.
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// Writes a redirect.
pub(super) fn redirect(stream: &mut TcpStream, location: &str) {
    respond(
        stream,
        "302 Found",
        &format!("location: {location}\r\n"),
        b"",
    );
}
