//! What a person said about calls that need one: records, by what is called and with what (spec,
//! "Command policy", "Permission and approval").
//!
//! Pure: where they are kept, and who asks the person, others know.

use serde::{Deserialize, Serialize};

use crate::port::Timestamp;
use crate::skill::Digest;

/// How many calls that wait for a person are kept; the oldest go first.
const WAITING: usize = 200;
/// For how long one waits, in milliseconds.
const PATIENCE: i64 = 7 * 24 * 60 * 60 * 1000;

/// A call that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The tool.
    pub tool: String,
    /// Everything that it would be called with.
    pub digest: Digest,
    /// What it would do, for people: a command.
    pub what: String,
    /// Why a person is asked.
    pub reason: String,
}

impl Request {
    /// What it is called by: the same call is always called the same. Eight hexadecimal digits.
    pub fn id(&self) -> String {
        let digest = Digest::of(format!("{}\n{}", self.tool, self.digest).as_bytes());
        let [first, second, third, fourth, ..] = digest.to_bytes();
        format!("{:08x}", u32::from_be_bytes([first, second, third, fourth]))
    }
}

/// For how many calls an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// For the next one alone.
    Once,
    /// For every one.
    Always,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Nothing yet.
    Waiting,
    /// It may be done.
    Allowed(Scope),
    /// It may not.
    Denied,
}

/// A call and what a person said about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// What it is called by.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The digest of what it would be called with.
    pub digest: String,
    /// What it would do.
    pub what: String,
    /// Why a person is asked.
    pub reason: String,
    /// When it was asked for last, in milliseconds since 1970.
    pub asked: i64,
    /// What the person said.
    pub answer: Ruling,
    /// Until when that holds, in milliseconds since 1970; `None` for good.
    pub until: Option<i64>,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// A person allowed it.
    Allowed,
    /// A person denied it.
    Denied,
    /// No person has said anything.
    Waiting,
}

/// All that was asked and said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// The oldest first.
    #[serde(default)]
    pub all: Vec<Approval>,
}

impl Approvals {
    /// What becomes of a call; it is remembered, so that a person can be shown it. What is allowed once is
    /// used up by it.
    pub fn decide(&mut self, request: &Request, now: Timestamp) -> Decision {
        self.forget(now);
        let (id, digest) = (request.id(), request.digest.to_string());
        let is_it = |known: &Approval| known.tool == request.tool && known.digest == digest;
        let found = self.all.iter().position(is_it);
        let answer = found
            .and_then(|at| self.all.get(at))
            .map(|known| known.answer);
        match (found, answer) {
            (_, Some(Ruling::Denied)) => Decision::Denied,
            (_, Some(Ruling::Allowed(Scope::Always))) => Decision::Allowed,
            (Some(at), Some(Ruling::Allowed(Scope::Once))) => {
                self.all.remove(at);
                Decision::Allowed
            }
            (found, _) => {
                found.map(|at| self.all.remove(at));
                self.all.push(Approval {
                    id,
                    tool: request.tool.clone(),
                    digest,
                    what: request.what.clone(),
                    reason: request.reason.clone(),
                    asked: now.0,
                    answer: Ruling::Waiting,
                    until: Some(now.0.saturating_add(PATIENCE)),
                });
                Decision::Waiting
            }
        }
    }

    /// Writes down what a person says; answers about what, or `None` where there is no such call.
    pub fn answer(
        &mut self,
        id: &str,
        answer: Ruling,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Option<Approval> {
        self.forget(now);
        let known = self.all.iter_mut().find(|known| known.id == id)?;
        known.answer = answer;
        known.until = until.map(|until| until.0);
        Some(known.clone())
    }

    /// Takes away what no longer holds, and what has waited for too long.
    pub fn forget(&mut self, now: Timestamp) {
        self.all
            .retain(|known| known.until.is_none_or(|until| until > now.0));
        let is_waiting = |known: &&Approval| known.answer == Ruling::Waiting;
        let mut surplus = self
            .all
            .iter()
            .filter(is_waiting)
            .count()
            .saturating_sub(WAITING);
        self.all.retain(|known| {
            let goes = surplus > 0 && known.answer == Ruling::Waiting;
            surplus -= usize::from(goes);
            !goes
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Approvals, Decision, PATIENCE, Request, Ruling, Scope, WAITING};
    use crate::port::Timestamp;
    use crate::skill::Digest;

    fn request(what: &str) -> Request {
        Request {
            tool: "skill_run".to_owned(),
            digest: Digest::of(what.as_bytes()),
            what: what.to_owned(),
            reason: "it is unknown".to_owned(),
        }
    }

    const NOW: Timestamp = Timestamp(1_000);

    #[test]
    fn what_is_allowed_once_is_used_up() {
        let mut approvals = Approvals::default();
        let (git, curl) = (request("git log"), request("curl"));
        assert_eq!(approvals.decide(&git, NOW), Decision::Waiting);
        assert_eq!(approvals.decide(&git, NOW), Decision::Waiting);
        assert_eq!(approvals.all.len(), 1);
        let answered = approvals.answer(&git.id(), Ruling::Allowed(Scope::Once), None, NOW);
        assert_eq!(answered.unwrap().what, "git log");
        assert_eq!(approvals.decide(&curl, NOW), Decision::Waiting);
        assert_eq!(approvals.decide(&git, NOW), Decision::Allowed);
        assert_eq!(approvals.decide(&git, NOW), Decision::Waiting);
    }

    #[test]
    fn answers_hold_until_they_end() {
        let mut approvals = Approvals::default();
        let git = request("git log");
        assert_eq!(approvals.answer(&git.id(), Ruling::Denied, None, NOW), None);
        approvals.decide(&git, NOW);
        let until = Some(Timestamp(5_000));
        approvals
            .answer(&git.id(), Ruling::Allowed(Scope::Always), until, NOW)
            .unwrap();
        assert_eq!(approvals.decide(&git, Timestamp(4_999)), Decision::Allowed);
        assert_eq!(approvals.decide(&git, Timestamp(4_999)), Decision::Allowed);
        assert_eq!(approvals.decide(&git, Timestamp(5_000)), Decision::Waiting);
        approvals
            .answer(&git.id(), Ruling::Denied, None, NOW)
            .unwrap();
        assert_eq!(
            approvals.decide(&git, Timestamp(i64::MAX)),
            Decision::Denied
        );
        // Another tool with the same arguments is another call.
        let other = Request {
            tool: "other".to_owned(),
            ..request("git log")
        };
        assert_ne!(other.id(), git.id());
        assert_eq!(approvals.decide(&other, NOW), Decision::Waiting);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut approvals = Approvals::default();
        let kept = request("kept");
        approvals.decide(&kept, NOW);
        approvals
            .answer(&kept.id(), Ruling::Denied, None, NOW)
            .unwrap();
        for number in 0..WAITING + 10 {
            approvals.decide(&request(&number.to_string()), NOW);
        }
        approvals.forget(NOW);
        assert_eq!(approvals.all.len(), WAITING + 1);
        assert_eq!(approvals.all[0].what, "kept");
        assert_eq!(approvals.all[1].what, "10");
        approvals.forget(Timestamp(NOW.0 + PATIENCE));
        assert_eq!(approvals.all.len(), 1);
    }
}
