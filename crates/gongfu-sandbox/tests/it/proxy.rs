//! Attacks on the proxy, each with its control: as a table, and as a test each.
//!
//! Each comes from a real run, in a world whose addresses answer: what is refused would be reached by who
//! may. It is refused only if no host heard anything of it, whatever the run was told.

mod host;
mod name;
mod netlink;
mod row;
mod session;
mod world;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command as Process, ExitCode, Stdio};
use std::sync::Arc;

use gongfu_sandbox::Runner;
use libtest_mimic::{Failed, Trial};

use crate::ground::{Ground, NAMESPACES};
use row::{Need, Row, Try};
use session::{Place, Session};
use world::World;

/// The argument by which this program tries all of them, or one by its name.
pub(crate) const PROVE: &str = "prove-proxy";
/// What it ends with where it can't try what it was told to.
const NOT_RUN: u8 = 77;

pub(crate) fn trials() -> Vec<Trial> {
    let trial = |(name, rows): (&str, Vec<Row>)| {
        let run = move || {
            // Each group in a process of its own, since it leaves the machine's network.
            let mut process = Process::new(std::env::current_exe().unwrap());
            let names = rows.iter().map(|row| &row.name);
            let ran = process.arg(PROVE).args(names).output().unwrap();
            let said = [ran.stdout, ran.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            let is_left_out = ran.status.code() == Some(i32::from(NOT_RUN)) && !everything();
            let is_good = ran.status.success() || is_left_out;
            is_good.then_some(()).ok_or(Failed::from(said))
        };
        Trial::test(format!("proxy::{name}"), run)
    };
    row::groups().into_iter().map(trial).collect()
}

/// Whether what can't be tried here is a failure.
fn everything() -> bool {
    std::env::var_os("CI").is_some()
}

/// Tries them, and prints what came of each: `prove-proxy [NAME…]`.
pub(crate) fn prove() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    let is_wanted = |row: &Row| wanted.is_empty() || wanted.contains(&row.name);
    let rows: Vec<Row> = row::all().into_iter().filter(is_wanted).collect();
    println!("attack | with the proxy (must be refused) | control (must succeed) | verdict");
    let mut table = match Table::new(&rows) {
        Ok(table) => table,
        Err(why) => {
            for row in &rows {
                println!("{} | | | not run: {why}", row.name);
            }
            return summed(0, 0, rows.len());
        }
    };
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    let slow = table.begin_slow(&rows);
    for row in rows.iter().filter(|row| !row.is_slow) {
        let lacks = row.needs.filter(|need| !table.has(*need));
        if let Some(need) = lacks {
            println!("{} | | | not run: {need}", row.name);
            left_out += 1;
            continue;
        }
        let attack = table.attacks(row);
        if table.shows(row, &attack) {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    for (row, session) in slow {
        let attack = session.join().unwrap();
        if table.shows(&row, &attack) {
            passed += 1;
        } else {
            failed += 1;
        }
    }
    table.end();
    summed(passed, failed, left_out)
}

fn summed(passed: usize, failed: usize, left_out: usize) -> ExitCode {
    let others = if left_out > 0 {
        format!(", {left_out} not run")
    } else {
        String::new()
    };
    println!("{passed} passed, {failed} failed{others}");
    if failed > 0 || (left_out > 0 && everything()) || passed + left_out == 0 {
        return ExitCode::FAILURE;
    }
    // Where nothing was tried, nothing is shown.
    if passed == 0 {
        return ExitCode::from(NOT_RUN);
    }
    ExitCode::SUCCESS
}

/// What a try came to, and what the hosts saw of it.
struct Came {
    said: String,
    /// What is wrong with it besides, if anything.
    wrong: Option<String>,
}

/// The world, and the programs in it that try things.
struct Table {
    world: World,
    ground: Arc<Ground>,
    runner: Arc<Runner>,
    sessions: BTreeMap<Place, Session>,
    /// The host that speaks TLS, where there is one.
    tls: Option<Child>,
}

impl Table {
    fn new(rows: &[Row]) -> Result<Self, String> {
        let world = World::enter()?;
        let ground = Arc::new(Ground::new(NAMESPACES));
        let local = UnixListener::bind(ground.path("workspace/host.sock"));
        world.hosts.local(local.map_err(|error| error.to_string())?);
        let needs_tls = rows
            .iter()
            .any(|row| row.needs.is_some_and(Need::is_of_tls));
        let tls = needs_tls.then(|| speaks_tls(&world, &ground)).flatten();
        Ok(Self {
            world,
            ground,
            runner: Arc::new(Runner::new(Some(NAMESPACES))),
            sessions: BTreeMap::new(),
            tls,
        })
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Six => self.world.has_six,
            Need::Certificate => self.tls.is_some(),
            Need::Curl => self.tls.is_some() && Path::new("/usr/bin/curl").exists(),
        }
    }

    fn session(&mut self, place: Place) -> &mut Session {
        let (ground, runner) = (&self.ground, &self.runner);
        self.sessions
            .entry(place)
            .or_insert_with(|| Session::begin(place, ground, runner))
    }

    /// Begins what takes long, each in a run of its own.
    fn begin_slow(&self, rows: &[Row]) -> Vec<(Row, std::thread::JoinHandle<Came>)> {
        let slow = rows.iter().filter(|row| row.is_slow).cloned();
        let begun = slow.map(|row| {
            let mut session = Session::begin(row.attack.place, &self.ground, &self.runner);
            let line = row.attack.line.clone();
            let asks = std::thread::spawn(move || {
                let said = session.ask(&line);
                let _ = session.end();
                Came { said, wrong: None }
            });
            (row, asks)
        });
        begun.collect()
    }

    /// Tries an attack, and looks at what the hosts know of it.
    fn attacks(&mut self, row: &Row) -> Came {
        let before = self.world.hosts.settle(&World::last());
        let said = self.session(row.attack.place).ask(&row.attack.line);
        let after = self.world.hosts.settle(&World::last());
        let Some((before, _)) = before.zip(after) else {
            let wrong = Some("a connection to a host doesn't end".to_owned());
            return Came { said, wrong };
        };
        let (came, heard) = self.world.hosts.since(before);
        let granted: IpAddr = name::GOOD.parse().unwrap();
        // The granted host is connected to before it is known whom the greeting is for.
        let is_astray = |at: &&IpAddr| **at != granted && !is_index(row, **at);
        let wrong = match (came.iter().find(is_astray), heard.first()) {
            (Some(at), _) => Some(format!("somebody came to {at}")),
            (None, Some(at)) if !row.is_heard => Some(format!("{at} heard something")),
            _ => None,
        };
        Came { said, wrong }
    }

    /// Tries the control, prints both, and answers whether they are as they must be.
    fn shows(&mut self, row: &Row, attack: &Came) -> bool {
        let Try {
            place,
            line,
            wanted,
        } = &row.control;
        let control = self.session(*place).ask(line);
        let succeeds = wanted.iter().any(|wanted| control.starts_with(wanted));
        let is_refused = row.attack.wanted.contains(&attack.said);
        let verdict = match (&attack.wrong, is_refused, succeeds) {
            (Some(wrong), ..) => format!("FAILED: {wrong}"),
            (None, false, _) => format!("FAILED: not {}", row.attack.wanted.join(" or ")),
            (None, true, false) => format!("FAILED: the control isn't {}", wanted.join(" or ")),
            (None, true, true) => "passed".to_owned(),
        };
        println!("{} | {} | {control} | {verdict}", row.name, attack.said);
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

/// Whether an address is the index's, in an attack by its name.
fn is_index(row: &Row, at: IpAddr) -> bool {
    row.attack.line.contains("index.test") && at == IpAddr::from([10, 0, 0, 1])
}

/// Begins a host that speaks TLS, with a certificate that runs can read; `None` where none can be made.
fn speaks_tls(world: &World, ground: &Ground) -> Option<Child> {
    let folder = world.folder.path();
    let options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=good.test \
                   -addext subjectAltName=DNS:good.test,DNS:*.wild.test -keyout key.pem -out host.pem";
    let mut openssl = Process::new("openssl");
    let made = openssl
        .args(options.split(' ').filter(|word| !word.is_empty()))
        .current_dir(folder);
    made.output().ok().filter(|made| made.status.success())?;
    std::fs::copy(folder.join("host.pem"), ground.path("skill/host.pem")).ok()?;
    std::fs::copy(folder.join("host.pem"), ground.path("workspace/host.pem")).ok()?;
    let listener = OwnedFd::from(world.tls.try_clone().ok()?);
    let mut host = Process::new("python3");
    host.args(["-c", include_str!("proxy/host.py")])
        .current_dir(folder);
    host.stdin(listener).stdout(Stdio::null()).spawn().ok()
}
