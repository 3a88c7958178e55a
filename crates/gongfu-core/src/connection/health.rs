//! The health of a connection: a pure state machine over what happens to it (spec, "Health").

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Verdict;

/// The number of calls that are remembered.
const REMEMBERED: usize = 10;
/// The number of those that make a connection slow or failing.
const TOO_MANY: usize = 5;
/// A call that takes longer is slow.
const SLOW: Duration = Duration::from_secs(20);
/// The probes in a row without an answer after which a server doesn't answer, and after which it is dead.
const UNANSWERED: u32 = 2;
const DEAD_AFTER: u32 = 4;
/// The pause before the first restart; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LAST_PAUSE: Duration = Duration::from_mins(1);
/// The restarts in a row for which the tools of a server stay listed.
const QUICK_RESTARTS: u32 = 2;
/// The restarts in a row after which it stays dead until somebody needs it.
const MAX_RESTARTS: u32 = 6;
/// The time for which a server must work, so that its next end is not counted with those before.
const STABLE: Duration = Duration::from_mins(1);
/// The names that a reason lists.
const NAMED: usize = 3;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum State {
    /// It was not started yet, or is starting.
    Init,
    /// It works.
    Ready,
    /// It works in part.
    Degraded,
    /// It doesn't work.
    Dead,
}

impl State {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::Ready => "READY",
            Self::Degraded => "DEGRADED",
            Self::Dead => "DEAD",
        }
    }
}

/// Something wrong with a connection that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Probes get no answer.
    NotAnswering,
    /// Many of its last calls failed.
    FailingCalls,
    /// Many of its last calls took long.
    SlowCalls,
    /// Tools are wanted that it doesn't offer.
    MissingTools(Vec<String>),
    /// Definitions of tools changed since a person approved them.
    ChangedTools(Vec<String>),
}

/// The outcome of a call, as far as the connection is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The server answered after this time, and be it with an error of the tool.
    Answered(Duration),
    /// It gave no answer, or none that makes sense.
    Failed,
}

/// The health of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    state: State,
    /// Why it is not ready, for people.
    reason: Option<String>,
    faults: Vec<Fault>,
    /// The last calls.
    calls: VecDeque<Outcome>,
    /// The probes in a row without an answer.
    unanswered: u32,
    /// The restarts in a row.
    restarts: u32,
    is_connected: bool,
    /// It worked, and is started again at once.
    is_recovering: bool,
}

impl Health {
    /// A connection that was not started yet, for a reason.
    pub fn new(reason: &str) -> Self {
        Self {
            state: State::Init,
            reason: Some(reason.to_owned()),
            faults: Vec::new(),
            calls: VecDeque::new(),
            unanswered: 0,
            restarts: 0,
            is_connected: false,
            is_recovering: false,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Why it is not ready, for people.
    pub fn reason(&self) -> Option<String> {
        let reasons = self.reason.clone().into_iter();
        let reasons: Vec<String> = reasons.chain(self.faults.iter().map(reason)).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// Its tools can be called, or it can be started for a call.
    pub fn is_usable(&self) -> bool {
        self.state != State::Dead || self.is_recovering
    }

    /// It is starting.
    pub fn starting(&mut self) {
        if self.state != State::Dead {
            self.state = State::Init;
            self.reason = Some("it is starting".to_owned());
        }
    }

    /// It is connected, and listed its tools.
    pub fn connected(&mut self, verdict: &Verdict) {
        self.reason = None;
        self.calls.clear();
        self.unanswered = 0;
        self.is_connected = true;
        self.faults.clear();
        self.listed(verdict);
    }

    /// It listed its tools again.
    pub fn listed(&mut self, verdict: &Verdict) {
        let changed = verdict.changed.iter().map(|one| one.name.clone()).collect();
        let missing = verdict.missing.clone();
        self.set(Fault::MissingTools(missing.clone()), !missing.is_empty());
        self.set(Fault::ChangedTools(changed), !verdict.changed.is_empty());
    }

    /// A call has ended.
    pub fn called(&mut self, outcome: Outcome) {
        if self.calls.len() == REMEMBERED {
            self.calls.pop_front();
        }
        self.calls.push_back(outcome);
        let count = |is: fn(&Outcome) -> bool| self.calls.iter().filter(|one| is(one)).count();
        let failed = count(|one| *one == Outcome::Failed);
        let slow = count(|one| matches!(one, Outcome::Answered(took) if *took > SLOW));
        self.set(Fault::FailingCalls, failed >= TOO_MANY);
        self.set(Fault::SlowCalls, slow >= TOO_MANY);
    }

    /// A probe was answered or not; answers whether the server counts as alive.
    pub fn probed(&mut self, is_answered: bool) -> bool {
        self.unanswered = if is_answered { 0 } else { self.unanswered + 1 };
        self.set(Fault::NotAnswering, self.unanswered >= UNANSWERED);
        self.unanswered < DEAD_AFTER
    }

    /// It has ended after this time, or could not be started. Answers the pause before the next start, to which
    /// `jitter` from 0 to 1 adds up to a quarter; `None` where it stays dead until somebody needs it.
    pub fn ended(&mut self, why: String, after: Duration, jitter: f64) -> Option<Duration> {
        if self.is_connected && after >= STABLE {
            self.restarts = 0;
        }
        self.is_recovering = self.is_connected && self.restarts < QUICK_RESTARTS;
        self.is_connected = false;
        self.state = State::Dead;
        self.reason = Some(why);
        self.faults.clear();
        if self.restarts >= MAX_RESTARTS {
            return None;
        }
        let pause = FIRST_PAUSE.saturating_mul(1 << self.restarts.min(16));
        self.restarts += 1;
        let pause = pause.min(LAST_PAUSE);
        Some(pause + pause.mul_f64(jitter.clamp(0.0, 1.0) / 4.0))
    }

    /// It was stopped because nobody used it, or may not be started any more.
    pub fn stopped(&mut self, reason: &str) {
        *self = Self::new(reason);
    }

    /// Notes a fault, or that it is gone.
    fn set(&mut self, fault: Fault, is_there: bool) {
        let kind = std::mem::discriminant(&fault);
        self.faults
            .retain(|known| std::mem::discriminant(known) != kind);
        if is_there {
            self.faults.push(fault);
        }
        if self.is_connected {
            self.state = if self.faults.is_empty() {
                State::Ready
            } else {
                State::Degraded
            };
        }
    }
}

/// A fault in words.
fn reason(fault: &Fault) -> String {
    let named = |names: &[String]| {
        let mut text = names
            .iter()
            .take(NAMED)
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>()
            .join(", ");
        if names.len() > NAMED {
            let _ = write!(text, " and {} more", names.len() - NAMED);
        }
        text
    };
    match fault {
        Fault::NotAnswering => "it doesn't answer".to_owned(),
        Fault::FailingCalls => "many of its last calls failed".to_owned(),
        Fault::SlowCalls => "many of its last calls took longer than 20 seconds".to_owned(),
        Fault::MissingTools(names) => format!("it doesn't offer {}", named(names)),
        Fault::ChangedTools(names) => {
            format!("since its approval, it changed {}", named(names))
        }
    }
}
