//! Tries a probe in one of our sandboxes.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::sandbox::{self, Exit, Input, Limits, Mode, Mount, Reach, Reason, Spec};
use gongfu_sandbox::Runner;
use gongfu_sandbox::backend::{HostView, Profile};

use crate::argument::{BEFORE, TRY, arguments};
use crate::bait::Bait;
use crate::decoys::{self, Decoys};
use crate::probe::Probe;
use crate::{Finding, Verdict, answer};

/// The path of the program inside.
const PROGRAM: &str = "/probe";
/// The path inside of the folder that the probe may read.
const SHOWN: &str = "/shown";
/// The time limit of a probe.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Tries a probe in a sandbox.
pub(crate) fn try_in_sandbox(
    probe: &Probe,
    profile: &Profile,
    program: &Program,
    runner: &Runner,
) -> io::Result<Finding> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let decoys = Decoys::new()?;
    let bait = bait_inside(profile, program, &decoys);
    let run = |role: &str| {
        let arguments = arguments(role, probe.name, &bait)?;
        let spec = spec(profile, program, &decoys, arguments)?;
        let running = runner.run(&Owner::Local, spec, Arc::new(|_, _| {}));
        Ok::<_, io::Error>(runtime.block_on(running))
    };
    if probe.before.is_some() {
        let _ = run(BEFORE)?;
    }
    let outcome = match run(TRY)? {
        Ok(outcome) => outcome,
        Err(error) => return Ok(Finding::void(error.to_string())),
    };
    let signal = match outcome.exit {
        Some(Exit::Signal(signal)) => Some(signal),
        Some(Exit::Code(_)) | None => None,
    };
    let output = [outcome.stdout.head, outcome.stderr.head].concat();
    let finding = answer::judge(probe, &decoys, signal, &output);
    // A run that exceeded a limit was ended before it could print anything.
    let is_limited = matches!(
        outcome.reason,
        Reason::Oom | Reason::Pids | Reason::Output | Reason::Disk
    );
    if finding.verdict != Verdict::Void || !is_limited {
        return Ok(finding);
    }
    Ok(Finding {
        verdict: Verdict::Refused,
        why: format!("it was ended: {}", outcome.reason.as_str()),
    })
}

/// The bait with its paths inside this kind of sandbox.
pub(crate) fn bait_inside(profile: &Profile, program: &Program, decoys: &Decoys) -> Bait {
    let shown = if profile.host == HostView::Open {
        decoys.shown()
    } else {
        SHOWN.into()
    };
    Bait {
        shown,
        program: program.path.clone(),
        shares_mounts: profile.host == HostView::Open,
        ..decoys.bait.clone()
    }
}

/// The run of a probe with these arguments in this kind of sandbox.
pub(crate) fn spec(
    profile: &Profile,
    program: &Program,
    decoys: &Decoys,
    arguments: Vec<String>,
) -> io::Result<Spec> {
    let mount = |source, target: &str, mode, keep| Mount {
        sources: vec![source],
        target: target.to_owned(),
        mode,
        keep,
    };
    let path = if profile.host == HostView::Open {
        let on_host = program.path.to_str().ok_or(io::ErrorKind::InvalidInput)?;
        on_host.to_owned()
    } else {
        PROGRAM.to_owned()
    };
    let workspace = decoys.workspace();
    Ok(Spec {
        command: sandbox::Command::Program([vec![path], arguments].concat()),
        folder: "/workspace".to_owned(),
        mounts: vec![
            mount(program.path.clone(), PROGRAM, Mode::ReadOnly, None),
            mount(decoys.shown(), SHOWN, Mode::ReadOnly, None),
            mount(
                workspace.clone(),
                "/workspace",
                Mode::Layered,
                Some(workspace),
            ),
        ],
        programs: Vec::new(),
        environment: BTreeMap::new(),
        input: Input::Nothing,
        dialogue: None,
        reach: Reach::default(),
        limits: Limits {
            wall: TIMEOUT,
            ..Limits::default()
        },
        logs: None,
        links: Vec::new(),
        hidden: Vec::new(),
        holding: None,
    })
}

/// This program at a path that the user of a run can read.
pub(crate) struct Program {
    path: PathBuf,
    /// The folder of a copy, which is removed at the end.
    folder: Option<PathBuf>,
}

impl Program {
    /// The program itself; a copy if another user starts it by its path on the host.
    pub(crate) fn new(is_started_on_host: bool) -> io::Result<Self> {
        let path = std::env::current_exe()?;
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || !is_started_on_host {
            return Ok(Self { path, folder: None });
        }
        let folder = decoys::new_folder(&decoys::token()?)?;
        let copy = Self {
            path: folder.join("probe"),
            folder: Some(folder.clone()),
        };
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        std::fs::copy(path, &copy.path)?;
        Ok(copy)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}
