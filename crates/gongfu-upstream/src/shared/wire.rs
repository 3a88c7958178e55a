//! The messages between a client and the process that runs servers: JSON, a line each.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gongfu_core::connection::{ConnectionName, State};
use gongfu_core::port::{ConnectionStatus, PortError, Progress, ServerRequest};
use gongfu_core::trace::TraceContext;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// The longest message, in bytes.
const MAX_MESSAGE: u64 = 256 * 1024 * 1024;

/// Something that a client asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    Statuses,
    Tools,
    Discover {
        name: ConnectionName,
    },
    Fetch {
        name: ConnectionName,
        uri: String,
    },
    Request(ServerRequest),
    SignOut {
        name: ConnectionName,
    },
    Call {
        connection: ConnectionName,
        tool: String,
        arguments: Map<String, Value>,
        trace: Option<TraceContext>,
    },
}

impl Ask {
    /// Returns true if the answer may take long: that it has begun is told first.
    pub(super) fn is_long(&self) -> bool {
        !matches!(self, Self::Statuses | Self::Tools)
    }

    /// Returns true if asking twice is more than asking once.
    pub(super) fn has_effect(&self) -> bool {
        match self {
            Self::Statuses
            | Self::Tools
            | Self::Discover { .. }
            | Self::Fetch { .. }
            | Self::Request(_) => false,
            Self::SignOut { .. } | Self::Call { .. } => true,
        }
    }
}

/// A message to the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToProcess {
    Ask {
        id: u64,
        ask: Ask,
    },
    /// Nobody waits for the answer any more.
    Cancel {
        id: u64,
    },
    /// The answer of a person to a question.
    Reply {
        number: u64,
        answer: Option<Value>,
    },
}

/// A message of the process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromProcess {
    /// The tools may have changed.
    Changed,
    /// It begins now to do what has an effect. Until then the client can ask another process.
    Begun {
        id: u64,
    },
    Answer {
        id: u64,
        answer: Box<RawValue>,
    },
    Failure {
        id: u64,
        failure: Failure,
    },
    Progress {
        id: u64,
        progress: Progress,
    },
    /// A server asks the person behind a call.
    Question {
        id: u64,
        number: u64,
        question: Value,
    },
}

/// An error of the port.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    NotFound,
    Denied(String),
    OutOfReach(String),
    Unavailable(String),
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        match error {
            PortError::NotFound => Self::NotFound,
            PortError::Denied(why) => Self::Denied(why),
            PortError::OutOfReach(why) => Self::OutOfReach(why),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<Failure> for PortError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotFound => Self::NotFound,
            Failure::Denied(why) => Self::Denied(why),
            Failure::OutOfReach(why) => Self::OutOfReach(why),
            Failure::Unavailable(why) => Self::Unavailable(why),
        }
    }
}

/// The state of a connection; the client knows the connection itself.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Status {
    pub(super) name: ConnectionName,
    state: State,
    reason: Option<String>,
    is_approved: bool,
    tools: Vec<String>,
    skills: Vec<String>,
}

impl From<ConnectionStatus> for Status {
    fn from(status: ConnectionStatus) -> Self {
        Self {
            name: status.connection.name,
            state: status.state,
            reason: status.reason,
            is_approved: status.is_approved,
            tools: status.tools,
            skills: status.skills,
        }
    }
}

impl Status {
    pub(super) fn fill(self, status: &mut ConnectionStatus) {
        status.state = self.state;
        status.reason = self.reason;
        status.is_approved = self.is_approved;
        status.tools = self.tools;
        status.skills = self.skills;
    }
}

/// The content of a file: most are text, which JSON holds as it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bytes {
    Text(String),
    Base64(String),
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Base64(STANDARD.encode(error.as_bytes())),
        }
    }
}

impl From<Bytes> for Vec<u8> {
    fn from(bytes: Bytes) -> Self {
        match bytes {
            Bytes::Text(text) => text.into_bytes(),
            // What is no base64 has another digest than the file.
            Bytes::Base64(text) => STANDARD.decode(text).unwrap_or_default(),
        }
    }
}

/// A message as a line.
pub(super) fn line(message: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

/// The names of a message that can't be read, by which its sender hears of that. It may be nested more deeply than a
/// message can be, which its parts are not.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Unreadable {
    pub(super) ask: Option<AskName>,
    pub(super) reply: Option<QuestionName>,
    pub(super) question: Option<QuestionName>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AskName {
    pub(super) id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct QuestionName {
    pub(super) number: u64,
}

/// Reads the next message, or the names in one that can't be read; `None` at the end.
///
/// # Errors
/// The line is broken, or speaks another language.
pub(super) async fn next<T: DeserializeOwned>(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<Result<T, Unreadable>>> {
    line.clear();
    let read = reader.take(MAX_MESSAGE).read_until(b'\n', line).await?;
    if read == 0 {
        return Ok(None);
    }
    match serde_json::from_slice(line) {
        Ok(message) => Ok(Some(Ok(message))),
        Err(error) => {
            tracing::warn!(%error, "a message can't be read");
            Ok(Some(Err(serde_json::from_slice(line)?)))
        }
    }
}

/// An answer as a value of the port.
pub(super) fn decoded<T: DeserializeOwned>(answer: &RawValue) -> Result<T, PortError> {
    serde_json::from_str(answer.get()).map_err(|error| PortError::Other(error.into()))
}

#[cfg(test)]
mod tests {
    use super::{ToProcess, next};

    #[tokio::test]
    async fn message_that_is_nested_too_deeply_costs_no_other() {
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let ask = format!(
            r#"{{"ask":{{"id":7,"ask":{{"call":{{"connection":"a","tool":"b","arguments":{{"x":{deep}}},"trace":null}}}}}}}}"#
        );
        let reply = format!(r#"{{"reply":{{"number":8,"answer":{deep}}}}}"#);
        let cancel = r#"{"cancel":{"id":9}}"#;
        let lines = format!("{ask}\n{reply}\n{cancel}\nno message\n");
        let (mut reader, mut line) = (lines.as_bytes(), Vec::new());
        let first = next::<ToProcess>(&mut reader, &mut line).await.unwrap();
        let first = first.unwrap().unwrap_err();
        assert_eq!(first.ask.unwrap().id, 7);
        let second = next::<ToProcess>(&mut reader, &mut line).await.unwrap();
        let second = second.unwrap().unwrap_err();
        assert_eq!(second.reply.unwrap().number, 8);
        let third = next::<ToProcess>(&mut reader, &mut line).await.unwrap();
        assert!(matches!(
            third.unwrap().unwrap(),
            ToProcess::Cancel { id: 9 }
        ));
        assert!(next::<ToProcess>(&mut reader, &mut line).await.is_err());
    }
}
