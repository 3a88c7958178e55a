//! Programs of Python that do what they are told, line by line: in a sandbox, or beside the server.

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

use crate::ground::{Ground, runtime};

/// What attacks are made of.
const AGENT: &str = include_str!("agent.py");
/// How long a line may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Where something is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// In a run that was granted `good.test` and the names that lead astray, some as private ones.
    Granted,
    /// In a run in which all of them may be of this network.
    Private,
    /// In a run of another owner, which was granted another host.
    Other,
    /// In a run that was granted nothing.
    Nothing,
    /// Beside the server, in no sandbox.
    Outside,
}

/// A program that waits for what it is told.
pub(super) struct Session {
    tell: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
    run: Option<JoinHandle<Outcome>>,
    outside: Option<Child>,
}

impl Session {
    pub(super) fn begin(place: Place, ground: &Arc<Ground>, runner: &Arc<Runner>) -> Self {
        let (line, lines) = channel();
        if place == Place::Outside {
            return Self::outside(ground, line, lines);
        }
        ground.write("skill/agent.py", AGENT);
        let mut spec = ground.spec(Command::Line("exec python3 -u agent.py".to_owned()));
        let (reader, tell) = std::io::pipe().unwrap();
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
        let tell: Box<PipeWriter> = Box::new(tell);
        Self {
            tell: Some(tell),
            lines,
            run: Some(run),
            outside: None,
        }
    }

    fn outside(ground: &Ground, line: Sender<String>, lines: Receiver<String>) -> Self {
        ground.write("outside/agent.py", AGENT);
        // Raw sockets need the rights that an ordinary user has in the world alone; no other child has them.
        lend(true);
        let mut child = Process::new("python3")
            .args(["-u".as_ref(), ground.path("outside/agent.py").as_os_str()])
            .current_dir(ground.path("workspace"))
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
            tell: child
                .stdin
                .take()
                .map(|tell| Box::new(tell) as Box<dyn Write + Send>),
            lines,
            run: None,
            outside: Some(child),
        }
    }

    /// What comes of a line.
    pub(super) fn ask(&mut self, line: &str) -> String {
        assert!(!line.contains('\n'), "{line}");
        if let Some(tell) = &mut self.tell {
            // Nobody is there to be told when there is no answer either.
            let _ = writeln!(tell, "{line}");
        }
        let answer = self.lines.recv_timeout(PATIENCE);
        answer.unwrap_or_else(|_| "no answer".to_owned())
    }

    /// Ends it; a run answers how it ended.
    pub(super) fn end(mut self) -> Option<Outcome> {
        self.tell = None;
        if let Some(mut child) = self.outside.take() {
            let _ = child.wait();
        }
        self.run.take().map(|run| run.join().unwrap())
    }
}

/// Lets programs that are begun by this thread have the rights about networks and processes that it has.
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

/// What runs reach there.
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
        },
        Place::Other => Reach {
            rules: Rules(vec![rule("other.test:8443")]),
            ..Reach::default()
        },
        Place::Nothing | Place::Outside => Reach::default(),
    }
}
