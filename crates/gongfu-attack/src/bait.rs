//! The names of everything that a probe tries to reach.
//!
//! Plain data: knows neither how it is laid out nor who reaches for it.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::system::hexadecimal;

/// The targets of a probe, as the probe sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bait {
    /// The text of every secret, which is also part of each name.
    pub(crate) token: String,
    /// The server's folder, which holds everything else.
    pub(crate) folder: PathBuf,
    /// A file of the server.
    pub(crate) secret: PathBuf,
    /// Another tenant's workspace, with a file `private`.
    pub(crate) neighbour: PathBuf,
    /// A folder that the probe may read.
    pub(crate) shown: PathBuf,
    /// Files that others left in the folders for temporary files.
    pub(crate) leftovers: [PathBuf; 2],
    /// The port of a listener at 127.0.0.1.
    pub(crate) port: u16,
    /// The port of a listener at `::1`, where the machine has IPv6.
    pub(crate) port_6: Option<u16>,
    /// The path of a listening socket.
    pub(crate) socket: PathBuf,
    /// The name of a listening socket without a path.
    pub(crate) name: String,
    /// A process of the server's user.
    pub(crate) victim: u32,
    /// The address of a secret in that process.
    pub(crate) address: u64,
    /// The server.
    pub(crate) server: u32,
    /// The path of this program on the machine.
    pub(crate) program: PathBuf,
    /// The name of the machine.
    pub(crate) machine: String,
    /// True when a mount that the probe makes would appear on the machine.
    pub(crate) shares_mounts: bool,
}

impl Bait {
    /// The bait as an argument. It is encoded, because a probe that looks for the token must not find
    /// it in its own command line.
    pub(crate) fn encode(&self) -> io::Result<String> {
        Ok(hexadecimal(&serde_json::to_vec(self)?))
    }

    /// The bait in an argument.
    pub(crate) fn decode(text: &str) -> Option<Self> {
        let digits = text.as_bytes().chunks(2);
        let bytes = digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        serde_json::from_slice(&bytes.collect::<Option<Vec<u8>>>()?).ok()
    }
}
