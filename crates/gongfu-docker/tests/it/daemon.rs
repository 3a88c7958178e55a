//! A Docker daemon from outside: a plain client of its API, and a daemon for one test alone.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use gongfu_docker::Settings;

/// The time that a daemon may take to start or to end.
const DAEMON_TIMEOUT: Duration = Duration::from_mins(1);

/// The settings of the daemon of the tests, which `DOCKER_HOST` names.
pub(crate) fn settings() -> Settings {
    Settings {
        socket: std::env::var("DOCKER_HOST").ok(),
        image: None,
    }
}

/// Returns whether that daemon exists.
pub(crate) fn is_there() -> bool {
    let socket = settings().socket;
    let socket = socket.as_deref().unwrap_or("/var/run/docker.sock");
    Path::new(socket.trim_start_matches("unix://")).exists()
}

/// A client of the API.
pub(crate) struct Api {
    socket: PathBuf,
}

impl Api {
    /// A client of the daemon of the tests.
    pub(crate) fn of_tests() -> Self {
        let socket = settings().socket;
        let socket = socket.unwrap_or("/var/run/docker.sock".to_owned());
        Self {
            socket: PathBuf::from(socket.trim_start_matches("unix://")),
        }
    }

    fn ask(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        let head = format!(
            "{method} /v1.41{path} HTTP/1.0\r\nHost: docker\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
        let body = answer.split_off(end.unwrap() + 4);
        let head = String::from_utf8_lossy(&answer).into_owned();
        let said = String::from_utf8_lossy(&body).into_owned();
        assert!(head.contains(" 20"), "{method} {path}: {head}{said}");
        body
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ask("GET", path, "", b"")).unwrap()
    }

    pub(crate) fn post(&self, path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
        self.ask("POST", path, kind, body)
    }

    pub(crate) fn delete(&self, path: &str) {
        self.ask("DELETE", path, "", b"");
    }

    /// The containers of this process.
    pub(crate) fn ours(&self) -> Vec<String> {
        let all = self.get("/containers/json?all=1");
        let process = format!("/{}/", std::process::id());
        let is_ours = |one: &&Value| {
            let server = one["Labels"]["gongfu.sandbox"].as_str();
            server.is_some_and(|server| server.contains(&process))
        };
        let ours = all.as_array().unwrap().iter().filter(is_ours);
        let mut ours: Vec<String> = ours
            .map(|one| one["Id"].as_str().unwrap().to_owned())
            .collect();
        ours.sort();
        ours
    }
}

/// A daemon of one test.
pub(crate) struct Daemon {
    folder: TempDir,
    process: Child,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = start_process(folder.path());
        let daemon = Self { folder, process };
        daemon.wait();
        daemon
    }

    pub(crate) fn socket(&self) -> String {
        format!("unix://{}", self.folder.path().join("sock").display())
    }

    pub(crate) fn api(&self) -> Api {
        Api {
            socket: self.folder.path().join("sock"),
        }
    }

    /// Starts it again, with the same folder.
    pub(crate) fn restart(&mut self) {
        // Processes of a killed daemon may not be reaped yet, and their files would stop the new one.
        for number in ["pid", "exec/containerd/containerd.pid"] {
            let _ = std::fs::remove_file(self.folder.path().join(number));
        }
        self.process = start_process(self.folder.path());
        self.wait();
    }

    fn wait(&self) {
        let start = Instant::now();
        let socket = self.folder.path().join("sock");
        let answers = || {
            let mut stream = UnixStream::connect(&socket).ok()?;
            stream.write_all(b"GET /_ping HTTP/1.0\r\n\r\n").ok()?;
            let mut said = String::new();
            stream.read_to_string(&mut said).ok()?;
            said.ends_with("OK").then_some(())
        };
        while answers().is_none() {
            let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(
                start.elapsed() < DAEMON_TIMEOUT,
                "the daemon doesn't start: {log}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the daemon, and nothing else.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Lets it end in order: it ends its containers first.
    pub(crate) fn end(&mut self) {
        let number = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &number]).status();
        let start = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < DAEMON_TIMEOUT, "the daemon doesn't end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // Its children end with it, unless it was killed.
        let number =
            std::fs::read_to_string(self.folder.path().join("exec/containerd/containerd.pid"));
        if let Ok(number) = number {
            let _ = Command::new("kill").args(["-KILL", number.trim()]).status();
        }
        let unmount = format!(
            "awk '{{print $2}}' /proc/self/mounts | grep '^{}/' | sort -r | xargs -r umount -l",
            self.folder.path().display()
        );
        let _ = Command::new("sh").args(["-c", &unmount]).status();
    }
}

/// Starts a daemon that uses nothing of the machine but this folder.
fn start_process(folder: &Path) -> Child {
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    // Its mounts are private: other tests check that the machine's mounts stay the same.
    Command::new("unshare")
        .args(["--mount", "--propagation", "slave", "--", "dockerd"])
        .args(["--host", &format!("unix://{}", at("sock"))])
        .args(["--data-root", &at("data"), "--exec-root", &at("exec")])
        .args(["--pidfile", &at("pid"), "--iptables=false", "--bridge=none"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}
