//! Folders that the operator mounts beside the workspace, as they are declared.

use std::path::PathBuf;
use std::str::FromStr;

use gongfu_core::place::Location;
use gongfu_core::skill::SkillPath;

/// A folder of this machine that tools may reach, as the operator declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The folder.
    pub host: PathBuf,
    /// The absolute path that tools and runs see it at, without its first `/`.
    pub guest: SkillPath,
    /// True if it is only read.
    pub read_only: bool,
}

/// A text that declares no mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountError(String);

impl std::fmt::Display for MountError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{}; use HOST, HOST:GUEST, HOST:ro or HOST:GUEST:ro, such as /srv/data:/data:ro",
            self.0
        )
    }
}

impl std::error::Error for MountError {}

impl FromStr for Mount {
    type Err = MountError;

    fn from_str(text: &str) -> Result<Self, MountError> {
        let mut parts: Vec<&str> = text.split(':').collect();
        let read_only = parts.len() > 1 && parts.last() == Some(&"ro");
        if read_only {
            parts.pop();
        }
        let (host, guest) = match parts.as_slice() {
            [host] => (*host, None),
            [host, guest] => (*host, Some(*guest)),
            _ => return Err(MountError(format!("`{text}` has too many colons"))),
        };
        if host.is_empty() {
            return Err(MountError(format!("`{text}` has no host folder")));
        }
        let host = std::path::absolute(host)
            .map_err(|error| MountError(format!("`{host}` is not a valid path: {error}")))?;
        let shown = host.to_string_lossy().into_owned();
        let guest = guest.unwrap_or(&shown);
        if !guest.starts_with('/') {
            return Err(MountError(format!("`{guest}` is not an absolute path")));
        }
        match Location::parse(guest) {
            Ok(Location::Absolute(guest)) if is_taken(&guest) => {
                Err(MountError(format!("/{guest} is reserved in the sandbox")))
            }
            Ok(Location::Absolute(guest)) if !guest.is_root() => Ok(Self {
                host,
                guest,
                read_only,
            }),
            Ok(Location::Absolute(_)) => Err(MountError(
                "the whole file system (`/`) can't be mounted".to_owned(),
            )),
            Ok(Location::Workspace(_)) => Err(MountError(
                "/workspace is reserved for the workspace".to_owned(),
            )),
            Err(error) => Err(MountError(format!("`{guest}` can't be used: {error}"))),
        }
    }
}

/// Folders of commands that nothing may be mounted at or below.
const RESERVED: [&str; 5] = ["dev", "proc", "runs", "skill", "sys"];
/// Folders of the system: nothing may be mounted at them, but below them.
const SYSTEM: [&str; 11] = [
    "bin",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "run",
    "sbin",
    "tmp",
    "usr",
    "workspace",
];

fn is_taken(guest: &SkillPath) -> bool {
    let guest = guest.as_str();
    let first = guest.split('/').next().unwrap_or_default();
    RESERVED.contains(&first) || SYSTEM.contains(&guest)
}
