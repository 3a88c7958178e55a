//! Attacks on the proxy, each with its control: as a table, and as a test for each group.
//!
//! Each comes from a real run in a test network where every address answers, so an allowed request would succeed.
//! It counts as refused only if no host heard anything of it, whatever answer the run got.

mod case;
mod host;
mod name;
mod netlink;
mod session;
mod test_network;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command as Process, ExitCode, Stdio};
use std::sync::Arc;

use gongfu_sandbox::Runner;
use libtest_mimic::{Failed, Trial};

use crate::fixture::{Fixture, NAMESPACES};
use case::{Attempt, Case, Need};
use session::{Place, Session};
use test_network::TestNetwork;

/// The argument that makes this program try all cases, or those that are named.
pub(crate) const PROVE: &str = "prove-proxy";
/// The exit code when no case can be tried here.
const NOT_RUN: u8 = 77;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, cases): (&str, Vec<Case>)| {
        let run = move || {
            // Each group has a process of its own, because it leaves the host's network namespace.
            let mut process = Process::new(std::env::current_exe().unwrap());
            let names = cases.iter().map(|case| &case.name);
            let ran = process.arg(PROVE).args(names).output().unwrap();
            let said = [ran.stdout, ran.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            let is_left_out = ran.status.code() == Some(i32::from(NOT_RUN)) && !is_ci();
            let is_good = ran.status.success() || is_left_out;
            is_good.then_some(()).ok_or(Failed::from(said))
        };
        Trial::test(format!("proxy::{name}"), run)
    };
    case::groups().into_iter().map(trial).collect()
}

/// Returns whether a case that can't be tried here is a failure.
fn is_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Tries the cases, and prints a table of the results: `prove-proxy [NAME…]`.
pub(crate) fn prove() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    let is_wanted = |case: &Case| wanted.is_empty() || wanted.contains(&case.name);
    let cases: Vec<Case> = case::all().into_iter().filter(is_wanted).collect();
    println!("attack | with the proxy (must be refused) | control (must succeed) | verdict");
    let mut table = match Table::new(&cases) {
        Ok(table) => table,
        Err(why) => {
            for case in &cases {
                println!("{} | | | not run: {why}", case.name);
            }
            return summary(0, 0, cases.len());
        }
    };
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    let slow = table.start_slow(&cases);
    for case in cases.iter().filter(|case| !case.is_slow) {
        let lacks = case.needs.filter(|need| !table.has(*need));
        if let Some(need) = lacks {
            println!("{} | | | not run: {need}", case.name);
            left_out += 1;
            continue;
        }
        let attack = table.attack(case);
        if table.passes(case, &attack) {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    for (case, session) in slow {
        let attack = session.join().unwrap();
        if table.passes(&case, &attack) {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    table.end();
    summary(passed, failed, left_out)
}

fn summary(passed: usize, failed: usize, left_out: usize) -> ExitCode {
    let others = if left_out > 0 {
        format!(", {left_out} not run")
    } else {
        String::new()
    };
    println!("{passed} passed, {failed} failed{others}");
    if failed > 0 || (left_out > 0 && is_ci()) || passed + left_out == 0 {
        return ExitCode::FAILURE;
    }
    // Nothing was proven.
    if passed == 0 {
        return ExitCode::from(NOT_RUN);
    }
    ExitCode::SUCCESS
}

/// The result of an attempt, for the run and for the hosts.
struct AttemptResult {
    said: String,
    /// A fault that the hosts saw, if any.
    wrong: Option<String>,
}

/// The test network, and the sessions in it.
struct Table {
    network: TestNetwork,
    fixture: Arc<Fixture>,
    runner: Arc<Runner>,
    sessions: BTreeMap<Place, Session>,
    /// The host that speaks TLS, if it could be started.
    tls: Option<Child>,
}

impl Table {
    fn new(cases: &[Case]) -> Result<Self, String> {
        let network = TestNetwork::enter()?;
        let fixture = Arc::new(Fixture::new(NAMESPACES));
        let local = UnixListener::bind(fixture.path("workspace/host.sock"));
        network
            .hosts
            .local(local.map_err(|error| error.to_string())?);
        let needs_tls = cases
            .iter()
            .any(|case| case.needs.is_some_and(Need::is_of_tls));
        let tls = needs_tls
            .then(|| start_tls_host(&network, &fixture))
            .flatten();
        Ok(Self {
            network,
            fixture,
            runner: Arc::new(Runner::new(Some(NAMESPACES))),
            sessions: BTreeMap::new(),
            tls,
        })
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Six => self.network.has_six,
            Need::Certificate => self.tls.is_some(),
            Need::Curl => self.tls.is_some() && Path::new("/usr/bin/curl").exists(),
        }
    }

    fn session(&mut self, place: Place) -> &mut Session {
        let (fixture, runner) = (&self.fixture, &self.runner);
        self.sessions
            .entry(place)
            .or_insert_with(|| Session::start(place, fixture, runner))
    }

    /// Starts the slow cases, each in a run of its own.
    fn start_slow(&self, cases: &[Case]) -> Vec<(Case, std::thread::JoinHandle<AttemptResult>)> {
        let slow = cases.iter().filter(|case| case.is_slow).cloned();
        let start = slow.map(|case| {
            let mut session = Session::start(case.attack.place, &self.fixture, &self.runner);
            let line = case.attack.line.clone();
            let asks = std::thread::spawn(move || {
                let said = session.ask(&line);
                let _ = session.end();
                AttemptResult { said, wrong: None }
            });
            (case, asks)
        });
        start.collect()
    }

    /// Tries an attack, and looks at what the hosts have seen.
    fn attack(&mut self, case: &Case) -> AttemptResult {
        let before = self.network.hosts.settle(&TestNetwork::last());
        let said = self.session(case.attack.place).ask(&case.attack.line);
        let after = self.network.hosts.settle(&TestNetwork::last());
        let Some((before, _)) = before.zip(after) else {
            let wrong = Some("a connection to a host doesn't end".to_owned());
            return AttemptResult { said, wrong };
        };
        let (came, heard) = self.network.hosts.since(before);
        let granted: IpAddr = name::GOOD.parse().unwrap();
        // The proxy connects to the granted host before it reads the greeting.
        let is_astray = |at: &&IpAddr| **at != granted && !is_index(case, **at);
        let wrong = match (came.iter().find(is_astray), heard.first()) {
            (Some(at), _) => Some(format!("a connection to {at}")),
            (None, Some(at)) if !case.is_heard => Some(format!("{at} heard something")),
            _ => None,
        };
        AttemptResult { said, wrong }
    }

    /// Tries the control, prints both, and returns whether both are as expected.
    fn passes(&mut self, case: &Case, attack: &AttemptResult) -> bool {
        let Attempt {
            place,
            line,
            wanted,
        } = &case.control;
        let control = self.session(*place).ask(line);
        let succeeds = wanted.iter().any(|wanted| control.starts_with(wanted));
        let is_refused = case.attack.wanted.contains(&attack.said);
        let verdict = match (&attack.wrong, is_refused, succeeds) {
            (Some(wrong), ..) => format!("FAILED: {wrong}"),
            (None, false, _) => format!("FAILED: not {}", case.attack.wanted.join(" or ")),
            (None, true, false) => format!("FAILED: the control isn't {}", wanted.join(" or ")),
            (None, true, true) => "passed".to_owned(),
        };
        println!("{} | {} | {control} | {verdict}", case.name, attack.said);
        verdict == "passed"
    }

    fn end(mut self) {
        for (_, session) in std::mem::take(&mut self.sessions) {
            let _ = session.end();
        }
        if let Some(mut tls) = self.tls.take() {
            let _ = tls.kill();
            let _ = tls.wait();
        }
    }
}

/// Returns whether an address is the index's, in an attack that names the index.
fn is_index(case: &Case, at: IpAddr) -> bool {
    case.attack.line.contains("index.test") && at == IpAddr::from([10, 0, 0, 1])
}

/// Starts a host that speaks TLS, with a certificate that runs can read; `None` where none can be made.
fn start_tls_host(network: &TestNetwork, fixture: &Fixture) -> Option<Child> {
    let folder = network.folder.path();
    let options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=good.test \
                   -addext subjectAltName=DNS:good.test,DNS:*.wild.test -keyout key.pem -out host.pem";
    let mut openssl = Process::new("openssl");
    let made = openssl
        .args(options.split(' ').filter(|word| !word.is_empty()))
        .current_dir(folder);
    made.output().ok().filter(|made| made.status.success())?;
    std::fs::copy(folder.join("host.pem"), fixture.path("skill/host.pem")).ok()?;
    std::fs::copy(folder.join("host.pem"), fixture.path("workspace/host.pem")).ok()?;
    let listener = OwnedFd::from(network.tls.try_clone().ok()?);
    let mut host = Process::new("python3");
    host.args(["-c", include_str!("proxy/host.py")])
        .current_dir(folder);
    host.stdin(listener).stdout(Stdio::null()).spawn().ok()
}
