//! A catalog behind the MCP server in this process, and a client of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::catalogue::BUDGET;
use gongfu_core::port::Spaces;
use gongfu_hub::{Catalog, Quota};
use gongfu_mcp::{Server, Settings, StdioError, serve_streams};
use gongfu_testing::client::{Client, TIMEOUT, Transport, message};
use gongfu_testing::sample::{PDF_TOOLS_FILES, plain};
use gongfu_testing::{MemorySpace, MemorySpaces};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::runtime::{self, Runtime};
use tokio::task::JoinHandle;

/// A client in the process of its server.
pub(crate) type LocalClient = Client<Streams>;

/// A file: its path and content.
type File<'a> = (&'a str, &'a [u8]);

/// Files by their paths.
type FileTree = BTreeMap<String, Vec<u8>>;

/// A server over spaces in memory.
#[derive(Default)]
pub(crate) struct Fixture {
    pub(crate) space: Arc<MemorySpace>,
    skills: Mutex<BTreeMap<String, FileTree>>,
}

impl Fixture {
    /// Two skills, one with files of every kind.
    pub(crate) fn with_skills() -> Self {
        let fixture = Self::default();
        for (path, bytes) in PDF_TOOLS_FILES {
            fixture.write("lib/pdf-tools", path, bytes);
        }
        fixture.skill("release-notes", "Writes release notes.");
        fixture
    }

    /// Writes a plain skill.
    pub(crate) fn skill(&self, name: &str, description: &str) {
        let document = plain(name, description);
        self.write(&format!("lib/{name}"), "SKILL.md", document);
    }

    /// Writes a file of a skill. A full name that starts with `-` is a disabled skill.
    pub(crate) fn write(&self, full_name: &str, path: &str, bytes: impl Into<Vec<u8>>) {
        self.change(|skills| {
            let files = skills.entry(full_name.to_owned()).or_default();
            files.insert(path.to_owned(), bytes.into());
        });
    }

    /// Removes a file of a skill.
    pub(crate) fn remove(&self, full_name: &str, path: &str) {
        self.change(|skills| {
            skills.get_mut(full_name).unwrap().remove(path).unwrap();
        });
    }

    /// Changes the skills, as one change of the library.
    pub(crate) fn change(&self, change: impl FnOnce(&mut BTreeMap<String, FileTree>)) {
        let mut skills = self.skills.lock().unwrap();
        change(&mut skills);
        let skills: Vec<(&str, Vec<File<'_>>)> = skills
            .iter()
            .map(|(name, files)| {
                let files = files.iter();
                let files = files.map(|(path, bytes)| (path.as_str(), bytes.as_slice()));
                (name.as_str(), files.collect())
            })
            .collect();
        let skills = skills.iter().map(|(name, files)| (*name, files.as_slice()));
        self.space.skills.replace(&skills.collect::<Vec<_>>());
    }

    /// A client that has greeted the server.
    pub(crate) fn client(&self) -> LocalClient {
        self.client_of("standard")
    }

    /// A client that has greeted a server with these profiles.
    pub(crate) fn client_of(&self, profiles: &str) -> LocalClient {
        greeted(self.silent_client_of(profiles))
    }

    /// A client that has said nothing yet.
    pub(crate) fn silent_client(&self) -> LocalClient {
        self.silent_client_of("standard")
    }

    /// A client that has said nothing yet to a server with these profiles.
    pub(crate) fn silent_client_of(&self, profiles: &str) -> LocalClient {
        connect(
            Arc::new(MemorySpaces::of(Arc::clone(&self.space))),
            profiles,
        )
    }
}

/// A client after its greeting.
pub(crate) fn greeted(mut client: LocalClient) -> LocalClient {
    client.initialize("2025-11-25");
    client
}

/// A client of a server over these spaces that has said nothing yet.
pub(crate) fn connect(spaces: Arc<dyn Spaces>, profiles: &str) -> LocalClient {
    let catalog = Arc::new(Catalog::new(spaces, Quota::default(), None));
    let profiles = profiles.split(',').map(|name| name.parse().unwrap());
    let server = Server::new(
        catalog,
        Settings {
            profiles: profiles.collect(),
            catalogue: BUDGET,
            version: "1.0.0".to_owned(),
            adopt: None,
            work: None,
            set: None,
            roots: None,
        },
    );
    let runtime = runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    let (input, server_input) = duplex(64 << 10);
    let (server_output, output) = duplex(64 << 10);
    let served = runtime.spawn(serve_streams(server, server_input, server_output));
    Client::new(Streams {
        runtime,
        input,
        output: BufReader::new(output).lines(),
        served,
    })
}

/// Streams in memory that lead to a server.
pub(crate) struct Streams {
    runtime: Runtime,
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<(), StdioError>>,
}

impl Transport for Streams {
    fn send(&mut self, bytes: &[u8]) {
        let write = self.input.write_all(bytes);
        let written = async { tokio::time::timeout(TIMEOUT, write).await };
        self.runtime.block_on(written).unwrap().unwrap();
    }

    fn receive(&mut self, timeout: Duration) -> Option<String> {
        let next = self.output.next_line();
        let line = async { tokio::time::timeout(timeout, next).await };
        self.runtime.block_on(line).ok()?.unwrap()
    }
}

/// Closes the connection; returns the messages that were not taken before.
pub(crate) fn close(client: LocalClient) -> Vec<Value> {
    let Streams {
        runtime,
        input,
        mut output,
        served,
    } = client.transport;
    drop(input);
    let rest = async {
        let mut messages = Vec::new();
        while let Some(line) = output.next_line().await.unwrap() {
            messages.push(message(&line));
        }
        served.await.unwrap().unwrap();
        messages
    };
    let ended = async { tokio::time::timeout(TIMEOUT, rest).await };
    runtime.block_on(ended).unwrap()
}
