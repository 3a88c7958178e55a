//! The state of a session: a fold over its log.

mod reply;
mod request;

use std::fmt::Write as _;

use self::reply::reply;
use super::compaction::{self, Facts};
use super::entry::{CallStatus, End, Entry, EntryEvent, FORMAT};
use super::fence;
use super::limits::AgentLimits;
use super::observation::block;
use super::plan::{PlannedCall, plan};
use super::record::{CallRecord, LoadedSkill, TurnRecord};
use crate::port::{Message, ModelAnswer, ModelError, Usage};
use crate::text::clipped;

/// The characters of a result in the trace of a turn: 500 with the mark that it is cut.
pub const MAX_TRACED: usize = 499;

/// The next thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing until the person says something.
    Wait,
    /// Write this entry: the conversation is too long.
    Compact(EntryEvent),
    /// Ask the model.
    Ask {
        /// True if it must answer without tools.
        last: bool,
    },
    /// Make these calls, all at once; each result is an entry.
    Call(Vec<PlannedCall>),
    /// Write this entry: the turn ends.
    Finish(EntryEvent),
}

/// A log that can't be a session's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// Entries are missing.
    #[error("found entry {found} where entry {wanted} was expected: part of the log is missing")]
    Gap {
        /// The number that it should have.
        wanted: u64,
        /// The number that it has.
        found: u64,
    },
    /// The log is of a newer gongfu.
    #[error("the log has format {0}, but this gongfu reads format {FORMAT}: update gongfu")]
    Format(u32),
    /// The entry can't stand here.
    #[error("entry {n} can't follow the one before it")]
    Order {
        /// Its number.
        n: u64,
    },
}

/// The state of a turn that runs.
#[derive(Debug, Clone)]
struct Turn {
    limits: AgentLimits,
    /// The skills that the instructions list, where that aren't all.
    skills: Option<Vec<String>>,
    /// The answers so far.
    steps: u32,
    phase: Phase,
}

#[derive(Debug, Clone)]
enum Phase {
    /// The model is to be asked.
    Ask,
    /// It was asked; where no answer follows, it is asked again.
    Asking { last: bool },
    /// Its calls are to be made.
    Call(Vec<OpenCall>),
    /// It answered.
    Answered(String, End),
}

#[derive(Debug, Clone)]
struct OpenCall {
    call: PlannedCall,
    result: Option<(CallRecord, String)>,
}

/// The state of a session after the entries of its log so far.
#[derive(Debug, Clone, Default)]
pub struct Session {
    next: u64,
    forked_from: Option<String>,
    model: Option<String>,
    messages: Vec<Message>,
    /// The number of messages before the first turn.
    history: usize,
    /// The index of the last prompt in the messages.
    last_prompt: usize,
    /// The messages that the summary stands for, and the summary.
    compacted: Option<(usize, String)>,
    skills: Vec<LoadedSkill>,
    turns: Vec<TurnRecord>,
    turn: Option<Turn>,
    error: Option<ModelError>,
    usage: Usage,
}

impl Session {
    /// The state after all these entries.
    ///
    /// # Errors
    /// The entries aren't the log of a session from its beginning.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, SessionError> {
        let mut session = Self::default();
        for entry in entries {
            session.apply(entry)?;
        }
        Ok(session)
    }

    /// The number of the next entry.
    pub fn next_entry(&self) -> u64 {
        self.next
    }

    /// The session that it was forked from.
    pub fn forked_from(&self) -> Option<&str> {
        self.forked_from.as_deref()
    }

    /// The model that was asked last.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The turns, the running one included.
    pub fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    /// True while a turn isn't at its end.
    pub fn is_open(&self) -> bool {
        self.turn.is_some()
    }

    /// The limits of the running turn.
    pub fn limits(&self) -> AgentLimits {
        let turn = self.turn.as_ref();
        turn.map_or_else(AgentLimits::default, |turn| turn.limits)
    }

    /// The failure of the model after which the turn waits.
    pub fn error(&self) -> Option<&ModelError> {
        self.error.as_ref()
    }

    /// The skills that the instructions of the running turn list; `None` for all that there is room for.
    pub fn listed_skills(&self) -> Option<&[String]> {
        self.turn.as_ref()?.skills.as_deref()
    }

    /// True if there was a conversation before the last turn.
    pub fn has_context(&self) -> bool {
        self.last_prompt > 0
    }

    /// The tokens of all turns.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The skills whose instructions are in the conversation.
    pub fn loaded_skills(&self) -> impl Iterator<Item = &str> {
        self.skills.iter().map(|skill| skill.name.as_str())
    }

    /// Takes the next entry of the log.
    ///
    /// # Errors
    /// The entry can't follow the ones before it; the state is as it was.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), SessionError> {
        if entry.n != self.next {
            return Err(SessionError::Gap {
                wanted: self.next,
                found: entry.n,
            });
        }
        self.fold(&entry.event)
            .ok_or(SessionError::Order { n: entry.n })?;
        if let EntryEvent::Started { format, .. } = entry.event
            && format != FORMAT
        {
            return Err(SessionError::Format(format));
        }
        self.next += 1;
        Ok(())
    }

    /// Changes the state by an event; `None` where the event can't happen now.
    fn fold(&mut self, event: &EntryEvent) -> Option<()> {
        if (self.next == 0) != matches!(event, EntryEvent::Started { .. }) {
            return None;
        }
        match event {
            EntryEvent::Started { forked_from, .. } => self.forked_from.clone_from(forked_from),
            EntryEvent::History { messages } => {
                if !self.messages.is_empty() {
                    return None;
                }
                self.messages.clone_from(messages);
                self.history = messages.len();
            }
            EntryEvent::Prompt {
                text,
                limits,
                skills,
            } => self.begin(text, *limits, skills.clone())?,
            EntryEvent::Asking { model, last, .. } => {
                let turn = self.turn.as_mut()?;
                if !matches!(turn.phase, Phase::Ask | Phase::Asking { .. }) {
                    return None;
                }
                turn.phase = Phase::Asking { last: *last };
                self.error = None;
                self.model = Some(model.clone());
            }
            EntryEvent::Answered { answer, .. } => self.answered(answer)?,
            EntryEvent::Failed { error } => {
                let turn = self.turn.as_mut()?;
                turn.phase = matches!(turn.phase, Phase::Asking { .. }).then_some(Phase::Ask)?;
                self.error = Some(error.clone());
            }
            EntryEvent::Calling { id, .. } => {
                self.open_call(id)?;
            }
            EntryEvent::Called {
                id,
                status,
                text,
                skill,
                duration_ms,
                ..
            } => {
                let open = self.open_call(id)?;
                let record = CallRecord {
                    call: open.call.clone(),
                    status: *status,
                    result: clipped(text, MAX_TRACED, ' '),
                    duration_ms: *duration_ms,
                };
                open.result = Some((record, text.clone()));
                if let Some(name) = skill {
                    self.note_skill(name, text);
                }
                self.close_calls();
            }
            EntryEvent::Finished { reply, end } => {
                let phase = &self.turn.as_ref()?.phase;
                let is_at_end = match end {
                    End::Budget => matches!(phase, Phase::Ask | Phase::Asking { .. }),
                    _ => matches!(phase, Phase::Answered(..)),
                };
                if !is_at_end {
                    return None;
                }
                self.turn = None;
                self.turns.last_mut()?.reply = Some((reply.clone(), *end));
            }
            EntryEvent::Interrupted => self.interrupt()?,
            EntryEvent::Compacted { through, summary } => {
                if *through > self.messages.len() {
                    return None;
                }
                self.compacted = Some((*through, summary.clone()));
            }
        }
        Some(())
    }

    fn begin(
        &mut self,
        text: &str,
        limits: AgentLimits,
        skills: Option<Vec<String>>,
    ) -> Option<()> {
        if self.turn.is_some() {
            return None;
        }
        self.turn = Some(Turn {
            limits,
            skills,
            steps: 0,
            phase: Phase::Ask,
        });
        self.last_prompt = self.messages.len();
        self.messages.push(Message::User {
            text: text.to_owned(),
        });
        self.turns.push(TurnRecord {
            prompt: text.to_owned(),
            calls: Vec::new(),
            reply: None,
            usage: Usage::default(),
        });
        Some(())
    }

    fn answered(&mut self, answer: &ModelAnswer) -> Option<()> {
        let turn = self.turn.as_mut()?;
        let Phase::Asking { last } = turn.phase else {
            return None;
        };
        let record = self.turns.last_mut()?;
        record.usage += answer.usage;
        self.usage += answer.usage;
        let planned = plan(answer, turn.steps, turn.limits.calls);
        turn.steps += 1;
        // Text after the last call may pretend to be its result, and calls of the last answer aren't made.
        let is_final = last || planned.is_empty();
        let text = if planned.iter().any(|call| call.is_fenced) {
            fence::parse(&answer.text).1
        } else {
            answer.text.trim_end()
        };
        let calls = if is_final {
            Vec::new()
        } else {
            answer.calls.clone()
        };
        if is_final {
            let (reply, end) = reply(text, answer, last, !planned.is_empty());
            self.messages.push(Message::Assistant {
                text: reply.clone(),
                calls,
            });
            turn.phase = Phase::Answered(reply, end);
            return Some(());
        }
        self.messages.push(Message::Assistant {
            text: text.to_owned(),
            calls,
        });
        let open = |call| OpenCall { call, result: None };
        turn.phase = Phase::Call(planned.into_iter().map(open).collect());
        Some(())
    }

    /// The call of this id, which has no result yet.
    fn open_call(&mut self, id: &str) -> Option<&mut OpenCall> {
        let Phase::Call(calls) = &mut self.turn.as_mut()?.phase else {
            return None;
        };
        let mut open = calls.iter_mut().filter(|open| open.result.is_none());
        open.find(|open| open.call.id == id)
    }

    /// Notes instructions that the next messages will hold.
    fn note_skill(&mut self, name: &str, text: &str) {
        self.skills.retain(|skill| skill.name != name);
        self.skills.push(LoadedSkill {
            name: name.to_owned(),
            text: text.to_owned(),
            at: self.messages.len(),
        });
    }

    /// Once every call has its result, the results become messages, in the order of the calls.
    fn close_calls(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        let Phase::Call(calls) = &mut turn.phase else {
            return;
        };
        if calls.iter().any(|open| open.result.is_none()) {
            return;
        }
        let calls = std::mem::take(calls);
        turn.phase = Phase::Ask;
        let results = calls.into_iter().filter_map(|open| open.result);
        let mut fenced = String::new();
        for (record, text) in results {
            if record.call.is_fenced {
                let tool = &record.call.tool;
                let block = block("result", &text);
                let _ = write!(fenced, "Result of `{tool}`:\n{block}\n\n");
            } else {
                self.messages.push(Message::Tool {
                    id: record.call.id.clone(),
                    name: record.call.tool.clone(),
                    text,
                });
            }
            if let Some(turn) = self.turns.last_mut() {
                turn.calls.push(record);
            }
        }
        if !fenced.is_empty() {
            self.messages.push(Message::User {
                text: fenced.trim_end().to_owned(),
            });
        }
    }

    /// Ends the turn: calls without a result get one that says so.
    fn interrupt(&mut self) -> Option<()> {
        if let Phase::Call(calls) = &mut self.turn.as_mut()?.phase {
            for open in calls.iter_mut().filter(|open| open.result.is_none()) {
                let text = "stopped by the person; part of the work may already be done";
                let record = CallRecord {
                    call: open.call.clone(),
                    status: CallStatus::Interrupted,
                    result: text.to_owned(),
                    duration_ms: 0,
                };
                open.result = Some((record, text.to_owned()));
            }
            self.close_calls();
        }
        self.turn = None;
        self.error = None;
        Some(())
    }

    /// The next thing to do.
    ///
    /// The request that an answer would follow takes about `request_tokens`.
    pub fn next(&self, request_tokens: u64) -> Effect {
        let Some(turn) = &self.turn else {
            return Effect::Wait;
        };
        match &turn.phase {
            Phase::Ask | Phase::Asking { .. } => self.ask(turn, request_tokens),
            Phase::Call(calls) => {
                let open = calls.iter().filter(|open| open.result.is_none());
                Effect::Call(open.map(|open| open.call.clone()).collect())
            }
            Phase::Answered(reply, end) => Effect::Finish(EntryEvent::Finished {
                reply: reply.clone(),
                end: *end,
            }),
        }
    }

    fn ask(&self, turn: &Turn, request_tokens: u64) -> Effect {
        let used = self.usage.total();
        if let Some(most) = turn.limits.session_tokens.filter(|most| used >= *most) {
            let reply = format!(
                "this session has used {used} of the {most} tokens that it may use; raise `agent.session_tokens`, or \
                 start a new session"
            );
            let end = End::Budget;
            return Effect::Finish(EntryEvent::Finished { reply, end });
        }
        let is_long = request_tokens > turn.limits.context_tokens;
        if let Some(compacted) = is_long.then(|| self.compaction()).flatten() {
            return Effect::Compact(compacted);
        }
        let last = turn.steps >= turn.limits.steps;
        Effect::Ask { last }
    }

    /// A summary of the conversation but for its end; `None` where there is nothing to summarise.
    pub fn compaction(&self) -> Option<EntryEvent> {
        let from = self.compacted.as_ref().map_or(0, |(through, _)| *through);
        let through = compaction::through(&self.messages, from, self.last_prompt)?;
        let facts = Facts {
            history: self.messages.get(..self.history).unwrap_or_default(),
            turns: &self.turns,
            is_open: self.turn.is_some(),
        };
        Some(EntryEvent::Compacted {
            through,
            summary: facts.summary(),
        })
    }
}

#[cfg(test)]
mod tests;
