//! A sandbox that runs nothing, and the folders of its runs.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::change::table;
use gongfu_core::library::Skill;
use gongfu_core::place::Location;
use gongfu_core::port::{
    Listener, Pending, PortError, RunFolder, RunFolders, RunMounts, Sandbox, ready,
};
use gongfu_core::sandbox::{
    BackendStatus, CapturedOutput, Enforcement, Exit, Input, Level, Means, Mode, Mount, Outcome,
    Reader, Reason, SKILL, Spec, Stream, WORKSPACE,
};
use gongfu_core::skill::SkillPath;
use tokio::sync::oneshot;

use crate::memory::MemoryLayers;

/// Stands for a program that speaks with its caller: gets its standard input and the listener of its outputs.
pub type Speaker = Box<dyn FnOnce(Reader, Listener) -> Outcome + Send>;

/// Answers a run with the scripted outcome; without one no sandbox works.
#[derive(Default)]
pub struct ScriptedSandbox {
    speaker: Mutex<Option<Speaker>>,
    next: Mutex<Option<Outcome>>,
    specs: Mutex<Vec<Spec>>,
    never_ends: AtomicBool,
    /// Receives the files that runs write beside a skill, where that is wanted.
    layers: Option<(Arc<MemoryLayers>, String)>,
}

impl ScriptedSandbox {
    /// A sandbox whose runs write their artifacts below `/skill` into the layer of this skill.
    pub fn with_layer(layers: Arc<MemoryLayers>, skill: &str) -> Self {
        Self {
            layers: Some((layers, skill.to_owned())),
            ..Self::default()
        }
    }

    /// Scripts the outcome of the next run.
    pub fn script(&self, outcome: Outcome) {
        *self.next.lock().unwrap() = Some(outcome);
    }

    /// Scripts the next run that speaks with its caller; it gets a thread.
    pub fn speak(&self, speaker: impl FnOnce(Reader, Listener) -> Outcome + Send + 'static) {
        *self.speaker.lock().unwrap() = Some(Box::new(speaker));
    }

    /// From now on no run ends.
    pub fn never_end(&self) {
        self.never_ends.store(true, Ordering::Relaxed);
    }

    /// The runs that were asked for since the last time.
    pub fn take_specs(&self) -> Vec<Spec> {
        std::mem::take(&mut *self.specs.lock().unwrap())
    }
}

impl Sandbox for ScriptedSandbox {
    fn statuses(&self) -> Pending<'_, Vec<BackendStatus>> {
        ready(Ok(Vec::new()))
    }

    fn run(&self, spec: Spec, listener: Listener) -> Pending<'_, Outcome> {
        let input = spec.input.clone();
        self.specs.lock().unwrap().push(spec);
        let speaker = self.speaker.lock().unwrap().take();
        if let (Some(speaker), Input::Reader(reader)) = (speaker, input) {
            let (sender, outcome) = oneshot::channel();
            std::thread::spawn(move || {
                // Nobody receives it of a run that was dropped.
                let _ = sender.send(speaker(reader, listener));
            });
            return Box::pin(async {
                let ended = outcome.await;
                ended.map_err(|error| PortError::Other(Box::new(error)))
            });
        }
        if self.never_ends.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let outcome = self.next.lock().unwrap().take();
        let outcome = outcome.ok_or_else(|| PortError::Unavailable("it has none".to_owned()));
        ready(outcome.inspect(|outcome| {
            listener(Stream::Stdout, &outcome.stdout.head);
            let Some((layers, skill)) = &self.layers else {
                return;
            };
            let paths = outcome.artifacts.iter();
            for path in paths.filter_map(|artifact| artifact.path.strip_prefix("/skill/")) {
                layers.put(skill, path, b"left");
            }
        }))
    }
}

/// The outcome of a run that succeeded with this output.
pub fn good(stdout: &str) -> Outcome {
    outcome(Some(Exit::Code(0)), Reason::Ok, stdout, "")
}

/// The outcome of a run that ended like this, with this output of errors.
pub fn failed(exit: Exit, stderr: &str) -> Outcome {
    outcome(Some(exit), Reason::Ok, "", stderr)
}

/// The outcome of a run.
pub fn outcome(exit: Option<Exit>, reason: Reason, stdout: &str, stderr: &str) -> Outcome {
    let said = |text: &str| CapturedOutput {
        head: text.as_bytes().to_vec(),
        ..CapturedOutput::default()
    };
    Outcome {
        level: Level::new("namespaces"),
        enforcement: Enforcement {
            memory: Means::ControlGroup,
            processes: Means::ProcessLimit,
            disk: Means::SizedFileSystem,
        },
        exit,
        reason,
        stdout: said(stdout),
        stderr: said(stderr),
        artifacts: Vec::new(),
        changed: 0,
        held: None,
        contacts: Vec::new(),
        took: Duration::from_millis(2_500),
        cpu: Duration::ZERO,
        memory: 0,
    }
}

/// Names folders and prepares nothing.
#[derive(Debug, Default)]
pub struct FakeRunFolders;

impl RunFolders for FakeRunFolders {
    fn folders(&self, with_skill: bool) -> Vec<RunFolder> {
        let folder = |guest: &str, host: Option<&str>| RunFolder {
            guest: guest.to_owned(),
            host: host.map(str::to_owned),
            is_read_only: false,
        };
        let skill = with_skill.then(|| folder(SKILL, None)).into_iter();
        skill
            .chain([folder(WORKSPACE, Some("workspace"))])
            .collect()
    }

    fn obeyed(&self, place: &Location) -> Option<&'static str> {
        table::obeyed_below(Path::new(WORKSPACE), Path::new(&place.to_string()))
    }

    fn obeyed_in_skill(&self, skill: &Skill, path: &SkillPath) -> Option<&'static str> {
        table::obeyed_in_skill(Path::new(&skill.path), Path::new(path.as_str()))
    }

    fn prepare<'a>(&'a self, skill: Option<&'a Skill>) -> Pending<'a, RunMounts> {
        let mount = |source: &str, target: &str| Mount {
            sources: vec![source.into()],
            target: target.to_owned(),
            mode: Mode::Layered,
            keep: Some(source.into()),
        };
        let skill = skill.map(|skill| mount(&skill.full_name, SKILL));
        let mounts = skill.into_iter().chain([mount("workspace", WORKSPACE)]);
        ready(Ok(RunMounts {
            mounts: mounts.collect(),
            programs: Vec::new(),
            logs: "logs/7".into(),
            logs_seen: "/runs/7".to_owned(),
            layer: None,
            links: Vec::new(),
            hidden: Vec::new(),
            room: u64::MAX,
            holding: None,
            holds: Vec::new(),
        }))
    }

    fn finish<'a>(&'a self, _skill: Option<&'a Skill>, _mounts: RunMounts) -> Pending<'a, ()> {
        ready(Ok(()))
    }
}
