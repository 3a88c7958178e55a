//! The sandbox of a server's program: the folders and hosts that it gets besides the system's programs.

use serde_json::{Value, json};

use crate::network::{Rule, Rules};
use crate::sandbox::Reach;

/// The folders that every sandbox has of its own.
const OWN_FOLDERS: [&str; 4] = ["/dev", "/proc", "/run", "/sys"];
/// The name of this machine, which is private unless it is granted.
const THIS_MACHINE: &str = "localhost";

/// The part of the machine and of the network that a program in the sandbox gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The folders that it reads, at their own paths.
    pub read: Vec<String>,
    /// The folders that it writes as well.
    pub write: Vec<String>,
    /// The hosts that it reaches.
    pub hosts: Rules,
}

impl Confinement {
    /// Everything that a person approves, a line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let folders = |verb: &'static str, folders: &[String]| {
            let mut folders = folders.to_vec();
            folders.sort_unstable();
            folders.dedup();
            let lines = folders.into_iter();
            lines
                .map(|folder| format!("{verb}: {}", super::shown(&folder)))
                .collect()
        };
        let mut hosts: Vec<String> = self.hosts.0.iter().map(Rule::to_string).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let hosts = hosts.iter().map(|host| format!("reaches: {host}"));
        let lines: [Vec<String>; 4] = [
            vec!["runs in the sandbox".to_owned()],
            folders("reads", &self.read),
            folders("writes", &self.write),
            hosts.collect(),
        ];
        lines.concat()
    }

    /// All that decides what it gets.
    pub(super) fn decides(&self) -> Value {
        let sorted = |mut all: Vec<String>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        let hosts = self.hosts.0.iter().map(Rule::to_string);
        json!([
            sorted(self.read.clone()),
            sorted(self.write.clone()),
            sorted(hosts.collect()),
        ])
    }

    /// The part of the network that it reaches. This machine is private, unless it is named.
    pub fn reach(&self) -> Reach {
        let is_here = |rule: &&Rule| {
            let destination = rule.destination();
            destination.is_some_and(|one| one.host.as_str() == THIS_MACHINE)
        };
        let here = self.hosts.0.iter().filter(is_here);
        Reach {
            private: Rules(here.cloned().collect()),
            rules: self.hosts.clone(),
            ..Reach::default()
        }
    }
}

/// The path of a folder that a program in the sandbox can get.
///
/// # Errors
/// It can't get that one; the reason and the fix, for people.
pub fn sandbox_folder(path: &str) -> Result<String, String> {
    let Some(below) = path.strip_prefix('/') else {
        return Err(format!(
            "`{path}` must be an absolute path, or begin with ~/"
        ));
    };
    let below = below.trim_end_matches('/');
    if below.is_empty() {
        return Err("`/` is the whole machine: name the folders in it that are needed".to_owned());
    }
    if below.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return Err(format!("`{path}` must be written without `.` and `..`"));
    }
    let folder = format!("/{below}");
    let is_in = |own: &&&str| {
        let rest = folder.strip_prefix(**own);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match OWN_FOLDERS.iter().find(is_in) {
        Some(own) => Err(format!(
            "`{folder}` can't be shown, because each sandbox has its own {own}: name another folder"
        )),
        None => Ok(folder),
    }
}
