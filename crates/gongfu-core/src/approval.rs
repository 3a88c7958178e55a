//! Approvals: calls that need a person, and the person's answers (spec, "Permission and approval").
//!
//! A pure state machine over one record of a space. How the person is asked is the surface's affair.

use serde::{Deserialize, Serialize};

use crate::library::SkillVersion;
use crate::port::{PortError, RecordKey, Records, Timestamp, read_record, update_record};
use crate::skill::Digest;

/// The most calls that wait for a person.
const MAX_WAITING: usize = 200;
/// The time for which a call is certain to wait in place, in milliseconds. Then it makes room for others.
const PLACE_TIME: i64 = 15 * 60 * 1000;
/// The number of hexadecimal digits of an id.
const ID_LENGTH: usize = 32;
/// The fewest digits of an id that a person may name.
const SHORT_ID_LENGTH: usize = 8;
/// The time after which a waiting call is forgotten, in milliseconds.
const WAIT_LIMIT: i64 = 7 * 24 * 60 * 60 * 1000;
/// The time after which an answer for a session ends, in milliseconds: nobody hears of the end of every session.
const SESSION_LIMIT: i64 = 7 * 24 * 60 * 60 * 1000;

/// A call that needs a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRequest {
    /// The tool.
    pub tool: String,
    /// The digest of everything that decides what the call does.
    pub digest: Digest,
    /// The digest of the same without the arguments, which an answer for any arguments is for; `None` where each call
    /// is decided by itself.
    pub any: Option<Digest>,
    /// The session of the caller; `None` for a caller without one.
    pub session: Option<String>,
    /// The action, for people: a command.
    pub what: String,
    /// Everything else that decides what the call does, a line each, for people.
    pub details: Vec<String>,
    /// The reason why a person is asked.
    pub reason: String,
    /// The version of the skill that does it; `None` without a skill.
    pub skill: Option<SkillVersion>,
    /// The project that an approval for always trusts, instead of this one call.
    pub trust: Option<String>,
}

impl ApprovalRequest {
    /// The id of its record, the same for the same call: 32 hexadecimal digits, so that nobody can find two calls
    /// with one id.
    pub fn id(&self) -> String {
        id(&[&self.tool, &self.digest.to_string()])
    }
}

fn id(parts: &[&str]) -> String {
    Digest::of(parts.join("\n").as_bytes()).hex(ID_LENGTH)
}

/// The calls that an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The next one only.
    Once,
    /// Those of the session that asked.
    Session,
    /// All of them.
    Always,
}

/// A person's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// No answer yet.
    Waiting,
    /// Allowed.
    Allowed(Scope),
    /// Denied.
    Denied,
}

/// A person's answer, and what it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling {
    /// The answer.
    pub answer: Answer,
    /// True if it is for any arguments, and not only for those of the call that asked.
    pub is_for_any: bool,
    /// The session through which the person answers; `None` for that of the call that asked last.
    pub session: Option<String>,
    /// The time at which it ends; `None` for an answer without an end.
    pub until: Option<Timestamp>,
}

/// An answer that a record can't take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RulingError {
    /// No record has the id.
    Unknown,
    /// The id begins those of several records.
    Ambiguous,
    /// The caller has no session.
    NoSession,
    /// Each call of this kind is decided by itself.
    NotForAny,
}

/// The record of a call that needs a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// Its id.
    pub id: String,
    /// Its number: a later record of the same call has a higher one.
    #[serde(default)]
    pub serial: u64,
    /// The tool.
    pub tool: String,
    /// The digest of everything that decides what the call does.
    pub digest: String,
    /// The digest of the same without the arguments; `None` where each call is decided by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<String>,
    /// True if the answer is for any arguments.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_any: bool,
    /// The session that asked last, or that the answer is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The action, for people.
    pub what: String,
    /// Everything else that decides what the call does, a line each, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// The reason why a person is asked.
    pub reason: String,
    /// The version of the skill, to tell what is different when another one asks the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<SkillVersion>,
    /// The project that an approval for always trusts, instead of this one call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// The time of the last such call, in milliseconds since 1970.
    pub asked: i64,
    /// The person's answer.
    pub answer: Answer,
    /// The deadline of the question or the end of the answer, in milliseconds since 1970; `None` for
    /// an answer without an end.
    pub until: Option<i64>,
}

/// The decision about one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// A person allowed it; an approval for once is used up.
    Allowed,
    /// A person denied it.
    Denied,
    /// No person has answered the record with this number.
    Waiting(u64),
    /// Too many calls wait for a person already: there is no record of this one.
    Full,
}

/// The records that an answer is for, among those with its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerTarget {
    /// Any: it replaces an answer that was given before.
    Any,
    /// One that waits: the call itself asks.
    Waiting,
    /// The one with this number, while it waits: a client that asked has come back.
    Record(u64),
}

/// The approvals of a space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// The records, the oldest first.
    #[serde(default)]
    pub all: Vec<Approval>,
    /// The number of the last record.
    #[serde(default)]
    pub last_serial: u64,
}

impl Approvals {
    /// Reads the approvals of a space, expired ones included.
    ///
    /// # Errors
    /// They can't be read.
    pub async fn read(records: &dyn Records) -> Result<Self, PortError> {
        read_record(records, &RecordKey::new("approvals")?).await
    }

    /// Changes the approvals of a space, without the expired ones.
    ///
    /// # Errors
    /// They can't be read or written; then they stay as they are, and no call may go on.
    pub async fn update<A: Send>(
        records: &dyn Records,
        now: Timestamp,
        mut change: impl FnMut(&mut Self) -> A + Send,
    ) -> Result<A, PortError> {
        let key = RecordKey::new("approvals")?;
        update_record(records, &key, |approvals: &mut Self| {
            approvals.expire(now);
            change(approvals)
        })
        .await
    }

    /// Decides about a call. A call without an answer is recorded as waiting; an approval for once
    /// is used up.
    pub fn decide(&mut self, request: &ApprovalRequest, now: Timestamp) -> Decision {
        self.expire(now);
        let found = self.find_answer(request, now);
        match (found, self.peek(request, now)) {
            (_, Some(Answer::Denied)) => Decision::Denied,
            (Some(at), Some(Answer::Allowed(Scope::Once))) => {
                self.all.remove(at);
                Decision::Allowed
            }
            (_, Some(Answer::Allowed(Scope::Session | Scope::Always))) => {
                // A question that it was asked before is answered, too.
                self.all
                    .retain(|known| known.answer != Answer::Waiting || !known.is_of(request));
                Decision::Allowed
            }
            (found, _) => {
                let known = found.map(|at| self.all.remove(at));
                if known.is_none() && !self.make_room(now) {
                    return Decision::Full;
                }
                let serial = known.map_or(self.last_serial + 1, |known| known.serial);
                self.last_serial = self.last_serial.max(serial);
                self.all.push(Approval {
                    id: request.id(),
                    serial,
                    tool: request.tool.clone(),
                    digest: request.digest.to_string(),
                    any: request.any.map(|any| any.to_string()),
                    is_for_any: false,
                    session: request.session.clone(),
                    what: request.what.clone(),
                    details: request.details.clone(),
                    reason: request.reason.clone(),
                    skill: request.skill.clone(),
                    trust: request.trust.clone(),
                    asked: now.0,
                    answer: Answer::Waiting,
                    until: Some(now.0.saturating_add(WAIT_LIMIT)),
                });
                Decision::Waiting(serial)
            }
        }
    }

    /// The place of the record that decides about a call: a refusal wins, and what lasts is used before what is used up.
    fn find_answer(&self, request: &ApprovalRequest, now: Timestamp) -> Option<usize> {
        let all = self.all.iter().enumerate();
        let covering = all.filter(|(_, known)| known.is_valid(now) && known.covers(request));
        let found = covering.min_by_key(|(_, known)| match known.answer {
            Answer::Denied => 0,
            Answer::Allowed(Scope::Session | Scope::Always) => 1,
            Answer::Allowed(Scope::Once) => 2,
            Answer::Waiting => 3,
        });
        found.map(|(at, _)| at)
    }

    /// The files that are different from the version of the skill for which a person last answered the same
    /// question; empty where nobody did.
    pub fn difference(&self, request: &ApprovalRequest, now: Timestamp) -> Vec<String> {
        let Some(skill) = &request.skill else {
            return Vec::new();
        };
        let answered = self.all.iter().rev().filter(|known| {
            known.is_valid(now)
                && known.answer != Answer::Waiting
                && (&known.tool, &known.what) == (&request.tool, &request.what)
        });
        let mut versions = answered.filter_map(|known| known.skill.as_ref());
        let last = versions.find(|version| version.is_of_the_same_skill(skill));
        last.map(|last| last.difference(skill)).unwrap_or_default()
    }

    /// The answer to a call, without using it up; `None` where there is no record.
    pub fn peek(&self, request: &ApprovalRequest, now: Timestamp) -> Option<Answer> {
        let found = self.find_answer(request, now);
        found.and_then(|at| Some(self.all.get(at)?.answer))
    }

    /// Returns true if an answer that lasts allows every call of a tool, whatever its arguments: `any` is the digest of
    /// all that decides without them.
    pub fn allows_any(
        &self,
        tool: &str,
        any: Digest,
        session: Option<&str>,
        now: Timestamp,
    ) -> bool {
        let any = any.to_string();
        self.all.iter().any(|known| {
            let lasts = match known.answer {
                Answer::Allowed(Scope::Always) => true,
                Answer::Allowed(Scope::Session) => {
                    session.is_some() && known.session.as_deref() == session
                }
                Answer::Allowed(Scope::Once) | Answer::Waiting | Answer::Denied => false,
            };
            lasts
                && known.is_valid(now)
                && known.is_for_any
                && known.tool == tool
                && known.any.as_deref() == Some(&*any)
        })
    }

    /// Makes room for a call that waits; returns whether there is room. The oldest one goes whose caller waits no
    /// more.
    fn make_room(&mut self, now: Timestamp) -> bool {
        let is_waiting = |known: &&Approval| known.answer == Answer::Waiting;
        if self.all.iter().filter(is_waiting).count() < MAX_WAITING {
            return true;
        }
        let is_left = |known: &Approval| {
            known.answer == Answer::Waiting && now.0.saturating_sub(known.asked) > PLACE_TIME
        };
        let left = self.all.iter().position(is_left);
        left.map(|at| self.all.remove(at)).is_some()
    }

    /// Records a person's answer to the call with an id, or with the only id that begins so; returns its record.
    ///
    /// Trusting a project allows this call once: further ones need no approval. Trust has no end, so an answer
    /// with one is about this call. An answer for a session or for any arguments has an id of its own: the same call
    /// may be asked about again in another session.
    ///
    /// # Errors
    /// There is no such record, or it can't have such an answer.
    pub fn answer(
        &mut self,
        id: &str,
        target: AnswerTarget,
        ruling: &Ruling,
        now: Timestamp,
    ) -> Result<Approval, RulingError> {
        self.expire(now);
        let at = self.find(id)?;
        let known = self.all.get(at).filter(|known| {
            let is_waiting = known.answer == Answer::Waiting;
            match target {
                AnswerTarget::Any => true,
                AnswerTarget::Waiting => is_waiting,
                AnswerTarget::Record(serial) => is_waiting && known.serial == serial,
            }
        });
        let mut known = known.cloned().ok_or(RulingError::Unknown)?;
        known.rule(ruling, now)?;
        self.all.remove(at);
        self.all.retain(|other| other.id != known.id);
        self.all.push(known.clone());
        Ok(known)
    }

    /// Removes the record with an id, or with the only id that begins so; returns it.
    ///
    /// # Errors
    /// There is no such record.
    pub fn revoke(&mut self, id: &str) -> Result<Approval, RulingError> {
        let at = self.find(id)?;
        Ok(self.all.remove(at))
    }

    /// The place of the record with an id, or with the only id that begins so.
    fn find(&self, id: &str) -> Result<usize, RulingError> {
        let places = |is: &dyn Fn(&str) -> bool| {
            let all = self.all.iter().enumerate();
            let found = all.filter(|(_, known)| is(&known.id)).map(|(at, _)| at);
            found.collect::<Vec<_>>()
        };
        let mut found = places(&|known| known == id);
        if found.is_empty() && id.len() >= SHORT_ID_LENGTH {
            found = places(&|known| known.starts_with(id));
        }
        match found.as_slice() {
            [] => Err(RulingError::Unknown),
            [at] => Ok(*at),
            _ => Err(RulingError::Ambiguous),
        }
    }

    /// The shortest beginning of an id that means only this record: at least eight digits.
    pub fn short_id<'a>(&self, id: &'a str) -> &'a str {
        let lengths = SHORT_ID_LENGTH..id.len();
        let mut short = lengths.filter_map(|length| id.get(..length));
        let is_unique = |short: &&str| self.find(short).is_ok();
        short.find(is_unique).unwrap_or(id)
    }

    /// Removes expired records.
    pub fn expire(&mut self, now: Timestamp) {
        self.all.retain(|known| known.is_valid(now));
    }
}

impl Approval {
    fn is_valid(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now.0)
    }

    /// True if it is about this very call.
    fn is_of(&self, request: &ApprovalRequest) -> bool {
        self.tool == request.tool && self.digest == request.digest.to_string()
    }

    /// True if its answer, or its question, is about this call.
    fn covers(&self, request: &ApprovalRequest) -> bool {
        let is_of_any = self.is_for_any
            && self.tool == request.tool
            && self.any.is_some()
            && self.any == request.any.map(|any| any.to_string());
        let is_of_session = self.answer != Answer::Allowed(Scope::Session)
            || (self.session.is_some() && self.session == request.session);
        is_of_session && (is_of_any || self.is_of(request))
    }

    /// Takes a person's answer.
    fn rule(&mut self, ruling: &Ruling, now: Timestamp) -> Result<(), RulingError> {
        self.answer = match ruling.answer {
            Answer::Allowed(Scope::Always) if self.trust.is_some() && ruling.until.is_none() => {
                Answer::Allowed(Scope::Once)
            }
            answer => answer,
        };
        self.until = ruling.until.map(|until| until.0);
        self.is_for_any = ruling.is_for_any && self.answer != Answer::Denied;
        let covered = match &self.any {
            Some(any) if self.is_for_any => any,
            None if self.is_for_any => return Err(RulingError::NotForAny),
            _ => &self.digest,
        };
        self.id = id(&[&self.tool, covered]);
        if self.answer == Answer::Allowed(Scope::Session) {
            let session = ruling.session.as_ref().or(self.session.as_ref());
            let session = session.ok_or(RulingError::NoSession)?.clone();
            self.id = id(&[&self.tool, covered, &session]);
            self.session = Some(session);
            let end = now.0.saturating_add(SESSION_LIMIT);
            self.until = Some(self.until.map_or(end, |until| until.min(end)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
