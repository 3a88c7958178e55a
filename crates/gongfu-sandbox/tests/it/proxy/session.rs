//! Python programs that evaluate one line after the other: in a sandbox, or beside the server.

use std::io::{BufRead as _, BufReader, PipeWriter, Write};
use std::process::{Child, Command as Process, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gongfu_core::account::{Owner, UserId};
use gongfu_core::network::Rules;
use gongfu_core::sandbox::{Command, Input, Outcome, Reach};
use gongfu_sandbox::Runner;
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use crate::fixture::{Fixture, runtime};

/// The program that evaluates lines.
const AGENT: &str = include_str!("agent.py");
/// The time that a line may take.
const LINE_TIMEOUT: Duration = Duration::from_mins(2);

/// The place of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In a run that was granted `good.test` and the names that lead astray, some as private ones.
    Granted,
    /// In a run in which all of them may be private hosts.
    Private,
    /// In a run of another owner, which was granted another host.
    Other,
    /// In a run that was granted nothing.
    Nothing,
    /// Beside the server, in no sandbox.
    Outside,
}

/// A program that waits for lines.
pub(super) struct Session {
    input: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
    run: Option<JoinHandle<Outcome>>,
    outside: Option<Child>,
}

impl Session {
    pub(super) fn start(place: Place, fixture: &Arc<Fixture>, runner: &Arc<Runner>) -> Self {
        let (line, lines) = channel();
        if place == Place::Outside {
            return Self::outside(fixture, line, lines);
        }
        fixture.write("skill/agent.py", AGENT);
        let mut spec = fixture.spec(Command::Line("exec python3 -u agent.py".to_owned()));
        let (reader, input) = std::io::pipe().unwrap();
        spec.input = Input::Reader(Arc::new(Mutex::new(reader)));
        spec.reach = reach(place);
        spec.limits.wall = Duration::from_mins(10);
        let owner = match place {
            Place::Other => Owner::User(UserId::new("other").unwrap()),
            _ => Owner::Local,
        };
        let said = Mutex::new(Vec::new());
        let listener = Arc::new(move |_, bytes: &[u8]| {
            let mut said = said.lock().unwrap();
            said.extend_from_slice(bytes);
            while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
                let rest = said.split_off(end + 1);
                let whole = std::mem::replace(&mut *said, rest);
                let _ = line.send(String::from_utf8_lossy(&whole).trim_end().to_owned());
            }
        });
        let runner = Arc::clone(runner);
        let run = std::thread::spawn(move || {
            let running = runner.run(&owner, spec, listener);
            runtime().block_on(running).unwrap()
        });
        let input: Box<PipeWriter> = Box::new(input);
        Self {
            input: Some(input),
            lines,
            run: Some(run),
            outside: None,
        }
    }

    fn outside(fixture: &Fixture, line: Sender<String>, lines: Receiver<String>) -> Self {
        fixture.write("outside/agent.py", AGENT);
        // Raw sockets need capabilities, which an ordinary user has only in the test network.
        lend(true);
        let mut child = Process::new("python3")
            .args(["-u".as_ref(), fixture.path("outside/agent.py").as_os_str()])
            .current_dir(fixture.path("workspace"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        lend(false);
        let said = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for one in BufReader::new(said).lines().map_while(Result::ok) {
                let _ = line.send(one);
            }
        });
        Self {
            input: child
                .stdin
                .take()
                .map(|input| Box::new(input) as Box<dyn Write + Send>),
            lines,
            run: None,
            outside: Some(child),
        }
    }

    /// Evaluates a line; returns the result.
    pub(super) fn ask(&mut self, line: &str) -> String {
        assert!(!line.contains('\n'), "{line}");
        if let Some(input) = &mut self.input {
            // If it has ended, there is no answer either.
            let _ = writeln!(input, "{line}");
        }
        let answer = self.lines.recv_timeout(LINE_TIMEOUT);
        answer.unwrap_or_else(|_| "no answer".to_owned())
    }

    /// Ends it; returns the outcome of a run.
    pub(super) fn end(mut self) -> Option<Outcome> {
        self.input = None;
        if let Some(mut child) = self.outside.take() {
            let _ = child.wait();
        }
        self.run.take().map(|run| run.join().unwrap())
    }
}

/// Passes the capabilities for networks and processes on to the programs that this thread starts, or stops that.
fn lend(is_lent: bool) {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let rights = [CapabilitySet::NET_RAW, CapabilitySet::SYS_PTRACE];
    let mut own = capabilities(None).unwrap();
    for right in rights {
        own.inheritable.set(right, is_lent);
    }
    set_capabilities(None, own).unwrap();
    if is_lent {
        for right in rights {
            configure_capability_in_ambient_set(right, true).unwrap();
        }
    }
}

/// The reach of runs at a place.
fn reach(place: Place) -> Reach {
    let rule = |text: &str| text.parse().unwrap();
    let named = |is_its: fn(&str) -> bool| {
        let names = super::name::NAMES.iter().map(|(name, _)| *name);
        let names = names.chain(super::name::ALIASES.iter().map(|(name, _)| *name));
        let its = names.filter(|name| is_its(name));
        its.map(|name| rule(&format!("{name}:8443")))
            .collect::<Vec<_>>()
    };
    let is_granted = |name: &str| {
        let others = ["evil", "xgood", "wild", "other", "xn--"];
        name != "good.tes" && !others.iter().any(|part| name.contains(part))
    };
    let mut rules = named(is_granted);
    rules.extend(
        [
            "good.test",
            "*.wild.test:8443",
            "*.wild.test",
            "several.test:7443",
        ]
        .map(rule),
    );
    let private = match place {
        Place::Private => rules.clone(),
        _ => named(|name| name.starts_with("private-") || name == "index.test"),
    };
    match place {
        Place::Granted | Place::Private => Reach {
            rules: Rules(rules),
            private: Rules(private),
            beside: Rules(named(|name| ["files.test", "mirror.test"].contains(&name))),
            ..Reach::default()
        },
        Place::Other => Reach {
            rules: Rules(vec![rule("other.test:8443")]),
            ..Reach::default()
        },
        Place::Nothing | Place::Outside => Reach::default(),
    }
}
