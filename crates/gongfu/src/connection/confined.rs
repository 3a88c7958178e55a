//! The programs of connections: as the person, or in the sandbox with the folders and hosts that were approved.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gongfu_core::connection::Confinement;
use gongfu_core::port::{Pending, PortError, Process, ProcessSpec, Processes};
use gongfu_core::sandbox::{Command, Input, Limits, Mode, Mount, Spec};
use gongfu_files::disk::real_outside;
use gongfu_files::{Home, PrivatePaths};
use gongfu_sandbox::{LocalProcesses, Runner, start_server};

use crate::config::Config;

/// The open files of a server in the sandbox.
const OPEN_FILES: u64 = 4_096;
/// The bytes of its errors that tell why it didn't start.
const SHOWN: usize = 4_096;
/// The variable with the folders that programs are looked for in.
const PATH: &str = "PATH";

/// Starts the programs of connections.
pub(super) struct ServerProcesses {
    home: Home,
    user: Option<PathBuf>,
    runner: OnceLock<Arc<Runner>>,
}

impl ServerProcesses {
    pub(super) fn new(home: Home, user: Option<PathBuf>) -> Self {
        Self {
            home,
            user,
            runner: OnceLock::new(),
        }
    }

    fn start_confined(
        &self,
        process: ProcessSpec,
        sandbox: &Confinement,
    ) -> Result<Process, PortError> {
        let private = PrivatePaths::new(&self.home, self.user.as_deref());
        if let Some(why) = refusal(&private, self.user.as_deref(), sandbox) {
            return Err(PortError::Unavailable(why));
        }
        let limits = Config::read(&self.home).map(|config| config.sandbox.limits());
        let limits = limits.map_err(|error| PortError::Unavailable(error.to_string()))?;
        let runner = self.runner.get_or_init(|| Arc::new(Runner::for_servers()));
        let started = start_server(Arc::clone(runner), spec(process, sandbox, &private, limits));
        started.map_err(|error| PortError::Other(Box::new(error)))
    }
}

impl Processes for ServerProcesses {
    fn start(&self, process: ProcessSpec) -> Pending<'_, Process> {
        match process.sandbox.clone() {
            None => LocalProcesses.start(process),
            Some(sandbox) => Box::pin(async move { self.start_confined(process, &sandbox) }),
        }
    }
}

/// The reason why a program can't have its folders, and the fix.
pub(crate) fn refusal(
    private: &PrivatePaths,
    user: Option<&Path>,
    sandbox: &Confinement,
) -> Option<String> {
    let read = sandbox.read.iter().map(|folder| (folder, false));
    let write = sandbox.write.iter().map(|folder| (folder, true));
    let why = read.chain(write).find_map(|(shown, is_written)| {
        let folder = Path::new(shown);
        let real = real_outside(folder);
        if private.refuses(&real) {
            let why = "is gongfu's own, which no program may see: remove it";
            return Some(format!("`{shown}` {why}"));
        }
        if real != folder {
            let real = real.display();
            return Some(format!("`{shown}` is a link, or below one: use `{real}`"));
        }
        // Keys and settings of programs could be made there, such as `.ssh/authorized_keys`.
        if is_written && user.is_some_and(|user| real_outside(user).starts_with(folder)) {
            let why = "has your home in it or is it: name the folders in it that are needed";
            return Some(format!("`{shown}` can't be written, because it {why}"));
        }
        // What is hidden in a folder that is written could be replaced.
        let hidden = private.below(folder);
        let hidden = hidden.first().filter(|_| is_written)?.display();
        Some(format!(
            "`{shown}` has `{hidden}` in it, which is private and can't be written: name the folders in it that are needed"
        ))
    });
    why.map(|why| format!("a folder for its sandbox: {why}"))
}

/// The run of a program. The innermost folder comes last, and what is written wins.
fn spec(
    mut process: ProcessSpec,
    sandbox: &Confinement,
    private: &PrivatePaths,
    limits: Limits,
) -> Spec {
    let read = sandbox.read.iter().map(|folder| (folder, Mode::ReadOnly));
    let write = sandbox.write.iter().map(|folder| (folder, Mode::ReadWrite));
    let mut folders: Vec<(&String, Mode)> = read.chain(write).collect();
    // The sort is stable, and of two with one path the later one is kept.
    folders.sort_by_key(|(folder, _)| *folder);
    folders.reverse();
    folders.dedup_by_key(|(folder, _)| *folder);
    folders.reverse();
    let named = |path: &Path| folders.iter().any(|(folder, _)| Path::new(folder) == path);
    let below = folders
        .iter()
        .flat_map(|(folder, _)| private.below(Path::new(folder)));
    let hidden = below
        .filter(|path| !named(path) || private.refuses(path))
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    let programs = process.environment.remove(PATH).unwrap_or_default();
    let programs = programs.split(':').filter(|folder| !folder.is_empty());
    Spec {
        command: Command::Program(process.arguments),
        folder: process.folder,
        mounts: folders
            .iter()
            .map(|(folder, mode)| Mount {
                sources: vec![folder.into()],
                target: (*folder).clone(),
                mode: *mode,
                keep: None,
            })
            .collect(),
        hidden,
        programs: programs.map(str::to_owned).collect(),
        links: Vec::new(),
        environment: process.environment,
        input: Input::Nothing,
        dialogue: None,
        reach: sandbox.reach(),
        limits: Limits {
            shown: SHOWN,
            open_files: OPEN_FILES,
            ..limits
        },
        logs: None,
        holding: None,
    }
}
