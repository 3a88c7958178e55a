//! A call: everything that passes through the gate, and all that a tool gets.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::Safety;
use gongfu_core::library::SkillVersion;
use gongfu_core::port::{Listener, Progress, Space};
use gongfu_core::sandbox::{Contact, Input, Stream};
use gongfu_core::skill::Digest;
use gongfu_core::trace::TraceContext;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// The number of a call, unique in a process.
pub type CallId = u64;

/// A call of a tool or an operation.
#[derive(Clone)]
pub struct Call {
    /// Its number.
    pub id: CallId,
    /// The call that caused it: an agent's step, a script.
    pub parent: Option<CallId>,
    /// The caller.
    pub actor: Actor,
    /// The space of the actor's owner.
    pub space: Space,
    /// The name of the tool or operation.
    pub entry: Arc<str>,
    /// The arguments.
    pub arguments: Arc<Map<String, Value>>,
    /// True for a call that a replay makes again, which isn't a use of what it reads.
    pub is_replay: bool,
    /// Its place in the caller's trace, where the caller named one.
    pub trace: Option<TraceContext>,
    /// Carries output, contacts and questions to the caller.
    pub events: Events,
    /// Ends the call and everything that it started.
    pub cancel: CancellationToken,
    /// The form of the call, which decides that of the answer.
    pub(crate) form: Form,
    /// The safety level of its entry, where that alone has a person asked; set by the gate.
    pub(crate) asked_level: Option<Safety>,
    /// The digest of the proposal that a person allowed; set by the gate.
    pub(crate) allowed: Option<Digest>,
}

/// The form of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// By the tool's own name: the answer keeps its schema.
    Direct,
    /// As a call of `tool_call`, which promises no schema.
    Indirect,
    /// By a script, which no answer is too long for.
    Scripted,
}

/// Something that happens during a call.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A program wrote to one of its outputs.
    Output(Stream, &'a [u8]),
    /// A run contacted hosts, or was refused to.
    Contacts(&'a [Contact]),
    /// The call is about this skill, by its full name, or by the one that the caller wrote.
    Skill(&'a str),
    /// A search found these skills, by their full names, the best first.
    Found(&'a [&'a str]),
    /// The call is to run this command.
    Command(&'a str),
    /// The command ended in this way.
    Ended(&'a str),
    /// Another server tells how far it is.
    Progress(&'a Progress),
}

/// A question to the person behind a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The id of the approval record.
    pub id: String,
    /// The number of the record, which an answer holds for.
    pub serial: u64,
    /// The wish of the caller in the words of the gate, such as `skill_run wants to run this command`.
    pub title: String,
    /// The command, or what else it is done to, as the caller wrote it.
    pub what: String,
    /// The rest that decides what the call does, a line each; much of it is the caller's as well.
    pub details: Vec<String>,
    /// The reason why a person is asked, in the words of the gate.
    pub reason: String,
    /// The effect of an answer for always, for people.
    pub always: String,
    /// True if an answer may be for the session of the caller.
    pub has_session: bool,
    /// True if an answer may be for any arguments.
    pub has_any: bool,
}

impl Question {
    /// The whole question in one text.
    pub fn text(&self) -> String {
        let mut text = format!("{}:\n\n{}\n\n", self.title, self.what);
        for line in &self.details {
            text.push_str(line);
            text.push('\n');
        }
        if !self.details.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.reason);
        text
    }
}

/// True if the person behind a call answered; that may take as long as a person takes.
pub type Asking<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// The answer to another server's question, as MCP writes the result of an elicitation.
pub type Elicitation<'a> = Pin<Box<dyn Future<Output = Option<Value>> + Send + 'a>>;

/// The surface's end of a call.
pub trait EventSink: Send + Sync {
    /// Receives an event, in the order in which they happen. Must not block.
    fn event(&self, _event: Event<'_>) {}

    /// Asks the person behind the call while the call waits, and records the answer as that
    /// person's. False where nobody can be asked in place, or nobody answered.
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(std::future::ready(false))
    }

    /// Shows the person behind the call a question of another server, as MCP writes an elicitation.
    /// `None` where nobody can be asked.
    fn elicit(&self, _question: Value) -> Elicitation<'_> {
        Box::pin(std::future::ready(None))
    }

    /// The standard input for a program that the call runs.
    fn input(&self) -> Input {
        Input::Nothing
    }
}

/// Carries the events of a call to its surface.
#[derive(Clone)]
pub struct Events(Arc<dyn EventSink>);

struct Nobody;

impl EventSink for Nobody {}

impl Default for Events {
    /// Events that nobody receives.
    fn default() -> Self {
        Self(Arc::new(Nobody))
    }
}

impl Events {
    /// Events to this sink.
    pub fn new(sink: Arc<dyn EventSink>) -> Self {
        Self(sink)
    }

    /// Sends an event.
    pub fn send(&self, event: Event<'_>) {
        self.0.event(event);
    }

    /// Asks the person behind the call; see [`EventSink::ask`].
    pub async fn ask(&self, question: &Question) -> bool {
        self.0.ask(question).await
    }

    /// Shows the person behind the call a question of another server; see [`EventSink::elicit`].
    pub async fn elicit(&self, question: Value) -> Option<Value> {
        self.0.elicit(question).await
    }

    /// The standard input for a program that the call runs.
    pub fn input(&self) -> Input {
        self.0.input()
    }

    /// The same as a listener for the output of runs.
    pub fn listener(&self) -> Listener {
        let events = self.clone();
        Arc::new(move |stream, bytes| events.send(Event::Output(stream, bytes)))
    }
}

/// An action that a person must allow before a call goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The kind of action: `run this command`.
    pub action: &'static str,
    /// The action itself, for people.
    pub what: String,
    /// Everything else that decides what it does, a line each, for people.
    pub details: Vec<String>,
    /// True if both show all of it; a person isn't asked over a client about more than they see.
    pub is_whole: bool,
    /// The reason why a person is asked.
    pub reason: String,
    /// The digest of everything that decides what the call does.
    pub digest: Digest,
    /// The digest of the same without the arguments, which an answer for any arguments is for; `None` where each call
    /// is decided by itself.
    pub any: Option<Digest>,
    /// The version of the skill that does it, to tell what is different when another one asks the same.
    pub skill: Option<SkillVersion>,
    /// The project that an answer for always trusts, instead of this one call.
    pub trust: Option<Arc<str>>,
}

impl Call {
    /// The reason why a person is asked, where that is the safety level alone.
    pub(crate) fn level_reason(&self) -> Option<String> {
        let level = self.asked_level?;
        Some(format!("its safety level is {}", level.as_str()))
    }

    /// The digest of the arguments.
    pub fn digest(&self) -> Digest {
        digest(&self.arguments)
    }
}

/// The digest of arguments, for the audit: they themselves may be private.
pub(crate) fn digest(arguments: &Map<String, Value>) -> Digest {
    Digest::of(&serde_json::to_vec(arguments).unwrap_or_default())
}
