//! Other MCP servers, and the processes of those that are programs.

use std::any::Any;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Pending;
use crate::capability::Safety;
use crate::connection::{
    Confinement, Connection, ConnectionName, Definition, PinnedSkill, ServerContent, SkillOffer,
    SkillPin, SkillVerdict, State, Target, Verdict,
};
use crate::skill::Digest;
use crate::trace::TraceContext;

/// A connection and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// The connection.
    pub connection: Connection,
    /// The file or setting that declares it, for people.
    pub source: String,
    /// Its state.
    pub state: State,
    /// Why it is not ready, for people.
    pub reason: Option<String>,
    /// True if a person approved its target.
    pub is_approved: bool,
    /// The tools that can be called.
    pub tools: Vec<String>,
    /// The names of the skills that can be read.
    pub skills: Vec<String>,
}

/// The skills of a connection, as a person approved them.
#[derive(Debug, Clone)]
pub struct ServerSkills {
    /// The connection.
    pub connection: ConnectionName,
    /// Its target.
    pub target: Target,
    /// The approval; the same one while nothing changed.
    pub pin: Arc<SkillPin>,
}

impl ServerSkills {
    /// The skills that are approved now.
    pub fn usable(&self) -> impl Iterator<Item = &PinnedSkill> {
        self.pin.usable(&self.target)
    }
}

/// The tools of a connection that can be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerTools {
    /// The connection.
    pub connection: ConnectionName,
    /// The digest of its command or address.
    pub target: Digest,
    /// The safety level that the person, or the default, gives it.
    pub safety: Safety,
    /// The definitions, as a person approved them.
    pub definitions: Vec<Definition>,
}

/// The prompts and resources of a connection.
#[derive(Debug, Clone)]
pub struct ServerContents {
    /// The connection.
    pub connection: ConnectionName,
    /// The digest of its command or address.
    pub target: Digest,
    /// The safety level that the person, or the default, gives it.
    pub safety: Safety,
    /// The lists.
    pub content: Arc<ServerContent>,
}

/// A method of MCP by which a server gives a prompt or a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMethod {
    /// `prompts/get`.
    GetPrompt,
    /// `resources/read`.
    ReadResource,
    /// `completion/complete`.
    Complete,
}

impl ServerMethod {
    /// The method as MCP names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GetPrompt => "prompts/get",
            Self::ReadResource => "resources/read",
            Self::Complete => "completion/complete",
        }
    }
}

/// A request for a prompt or a resource of another server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerRequest {
    /// The connection.
    pub connection: ConnectionName,
    /// The method.
    pub method: ServerMethod,
    /// Its parameters, as MCP writes them.
    pub params: Map<String, Value>,
}

/// The reply of a server to a [`ServerRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerReply {
    /// The result, as MCP writes it.
    Result(Value),
    /// The server refuses, in its words.
    Refusal(String),
}

/// The tools that a server offers now, beside what a person approved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Discovery {
    /// The offer.
    pub offered: Vec<Definition>,
    /// The comparison with the approved ones.
    pub verdict: Verdict,
    /// The skills that it offers.
    pub skills: SkillOffer,
    /// The comparison of these with the approved ones.
    pub skill_verdict: SkillVerdict,
    /// The name and version by which the server calls itself.
    pub server: String,
    /// The revision of the protocol that it speaks.
    pub protocol: String,
}

/// A call of a tool of another server.
#[derive(Clone)]
pub struct ServerCall {
    /// The connection.
    pub connection: ConnectionName,
    /// The name of the tool there.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// Its place in the caller's trace, which the server is told.
    pub trace: Option<TraceContext>,
    /// Receives the progress.
    pub progress: ProgressListener,
    /// Asks the person behind the call.
    pub ask: Asker,
}

/// Asks the person behind a call a question of another server, as MCP writes an elicitation, and answers as MCP does;
/// `None` where nobody can be asked.
pub type Asker = Arc<dyn Fn(Value) -> Pending<'static, Option<Value>> + Send + Sync>;

/// Progress of a call: how much is done, of how much if that is known, and a word about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The part that is done.
    pub done: f64,
    /// The whole.
    pub total: Option<f64>,
    /// A word about it.
    pub message: Option<String>,
}

/// Receives the progress of a call.
pub type ProgressListener = Arc<dyn Fn(Progress) + Send + Sync>;

/// The answer of a tool of another server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerAnswer {
    /// Its pieces, as MCP writes content blocks.
    pub content: Vec<Value>,
    /// The structured part.
    pub structured: Option<Value>,
    /// True if the tool says that it failed.
    pub is_error: bool,
    /// Its `_meta`, which is for programs and no model.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
}

/// The other MCP servers of one space.
pub trait Servers: Send + Sync {
    /// Every connection with its state, by name. Starts nothing.
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>>;

    /// The tools that can be called, by connection. Starts nothing: they are those that a person approved.
    fn tools(&self) -> Pending<'_, Vec<ServerTools>>;

    /// The skills that a person approved, by connection. Starts nothing. The default is for servers without skills.
    fn skills(&self) -> Pending<'_, Vec<ServerSkills>> {
        super::ready(Ok(Vec::new()))
    }

    /// Fetches a file of an approved skill by its URI, as the server has it now: nothing of it is compared with what a
    /// person approved.
    ///
    /// Errors are those of [`Servers::discover`].
    fn fetch<'a>(&'a self, name: &'a ConnectionName, uri: &'a str) -> Pending<'a, Vec<u8>> {
        let _ = (name, uri);
        super::ready(Err(super::PortError::NotFound))
    }

    /// The prompts and resources of the approved connections, as their servers listed them last. Starts nothing. The
    /// default is for servers without any.
    fn contents(&self) -> Pending<'_, Vec<ServerContents>> {
        super::ready(Ok(Vec::new()))
    }

    /// Asks an approved server for a prompt or a resource. Errors are those of [`Servers::discover`].
    fn request(&self, request: ServerRequest) -> Pending<'_, ServerReply> {
        let _ = request;
        super::ready(Err(super::PortError::NotFound))
    }

    /// Waits until what [`Servers::tools`], [`Servers::skills`] or [`Servers::contents`] answers may be something else than
    /// at the number `since`; answers the new number.
    fn changed(&self, since: u64) -> Pending<'_, u64>;

    /// Starts or contacts a server whose target a person approved, and lists its tools.
    ///
    /// [`super::PortError::NotFound`] for an unknown connection, [`super::PortError::Denied`] for one that isn't
    /// approved, [`super::PortError::OutOfReach`] for one at which a person must sign in, and
    /// [`super::PortError::Unavailable`] for one that doesn't work.
    fn discover<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, Discovery>;

    /// Begins a sign-in at a server; the browser comes back to the address `redirect`.
    ///
    /// Errors are those of [`Servers::discover`].
    fn sign_in<'a>(
        &'a self,
        name: &'a ConnectionName,
        redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>>;

    /// Forgets the sign-in at a server; answers whether there was one.
    fn sign_out<'a>(&'a self, name: &'a ConnectionName) -> Pending<'a, bool>;

    /// Calls a tool that a person approved; dropping the answer cancels it. Errors are those of
    /// [`Servers::discover`].
    fn call(&self, call: ServerCall) -> Pending<'_, ServerAnswer>;
}

/// A sign-in that a person is in the middle of.
pub trait SignIn: Send {
    /// The page that the person opens in a browser.
    fn url(&self) -> &str;

    /// Ends it with the address to which the browser came back, and stores the tokens.
    ///
    /// [`super::PortError::Denied`] where the person or the server refused it.
    fn finish(self: Box<Self>, callback: String) -> Pending<'static, ()>;
}

/// A space without other servers.
pub struct NoServers;

impl Servers for NoServers {
    fn statuses(&self) -> Pending<'_, Vec<ConnectionStatus>> {
        super::ready(Ok(Vec::new()))
    }

    fn tools(&self) -> Pending<'_, Vec<ServerTools>> {
        super::ready(Ok(Vec::new()))
    }

    fn changed(&self, _since: u64) -> Pending<'_, u64> {
        Box::pin(std::future::pending())
    }

    fn discover<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, Discovery> {
        super::ready(Err(super::PortError::NotFound))
    }

    fn sign_in<'a>(
        &'a self,
        _name: &'a ConnectionName,
        _redirect: String,
    ) -> Pending<'a, Box<dyn SignIn>> {
        super::ready(Err(super::PortError::NotFound))
    }

    fn sign_out<'a>(&'a self, _name: &'a ConnectionName) -> Pending<'a, bool> {
        super::ready(Err(super::PortError::NotFound))
    }

    fn call(&self, _call: ServerCall) -> Pending<'_, ServerAnswer> {
        super::ready(Err(super::PortError::NotFound))
    }
}

/// A program that goes on until it is dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The program and its arguments; a name without a slash is looked for in the `PATH` of the environment.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// The folder that it starts in, absolute.
    pub folder: String,
    /// Its sandbox; `None` where it runs as the person.
    pub sandbox: Option<Confinement>,
}

/// A program that runs. Dropping it ends it and all its descendants.
pub struct Process {
    /// Its standard input: a pipe.
    pub input: OwnedFd,
    /// Its standard output: a pipe.
    pub output: OwnedFd,
    /// Its standard error: a pipe.
    pub error: OwnedFd,
    /// Waits for its end, and says how it ended, for people.
    pub end: Pending<'static, String>,
    /// Ends it when it is dropped.
    pub hold: Box<dyn Any + Send>,
}

/// Starts programs that go on. They end with this process, however that ends.
pub trait Processes: Send + Sync {
    /// Starts a program as the person, or in its sandbox. Without that it isn't started.
    ///
    /// [`super::PortError::Unavailable`] where it can't be started.
    fn start(&self, spec: ProcessSpec) -> Pending<'_, Process>;
}
