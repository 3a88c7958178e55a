//! Generated histories of a workspace: runs, edits by a person meanwhile, other runs, change sets that are applied or
//! dropped, kills and full disks.
//!
//! After each step, the folder is compared with what was there before and with the answer. Nothing that a person
//! wrote may be lost, nothing that the table holds may be applied without being asked for, and every answer must
//! be true.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use gongfu_core::account::Owner;
use gongfu_core::change::{Artifact, Change, Holding, PersonalSettings};
use gongfu_core::port::ChangeSets as _;
use gongfu_core::sandbox::{Command, Exit, Input, Level, Outcome, Spec};
use gongfu_sandbox::{ChangeSets, Runner};
use libtest_mimic::Trial;

use self::tree::{Tree, check_moves, is_obeyed, tree_of};
use crate::fixture::{Fixture, Gate, NAMESPACES, Test, of_every_level, runtime, tests};
use crate::runner;

mod tree;

/// The argument that proves many histories; their number and the seed may follow.
pub(crate) const PROVE: &str = "prove-histories";
/// The argument that makes this program a process which is killed; its work follows.
pub(crate) const VICTIM: &str = "histories-victim";

/// The files of a workspace.
const FILES: [&str; 15] = [
    "a",
    "b",
    "d/x",
    "d/y",
    "d/e/z",
    "new",
    "d/new",
    "f/x",
    "f/y/z",
    "CLAUDE.md",
    ".envrc",
    ".git/config",
    ".git/hooks/post-merge",
    "d/e/AGENTS.md",
    "f/.git/HEAD",
];
const FOLDERS: [&str; 4] = ["d", "d/e", "f", ".git"];
/// The steps of a history.
const STEPS: u64 = 6;
/// The size of a small disk.
const DISK: &str = "size=256k,mode=755";

/// The number of histories of a usual test.
const FEW: u64 = 6;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [Test; 1] = tests!["histories": few_histories_lose_nothing];
    of_every_level(&all)
}

fn few_histories_lose_nothing(level: Level) {
    for seed in 0..FEW {
        if let Err(why) = History::new(level, seed, false).play() {
            panic!("history {seed}: {why}");
        }
    }
}

/// Proves as many histories as are asked for; every fourth has a small disk, where mounts can be made.
pub(crate) fn prove() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let mut number = |default| {
        arguments
            .next()
            .map_or(default, |text| text.parse().unwrap())
    };
    let (count, first) = (number(10_000_u64), number(0));
    let is_root = rustix::process::geteuid().is_root();
    if is_root && std::env::var_os("OWN_MOUNTS").is_none() {
        let mut unshare = Process::new("unshare");
        unshare.args(["--mount", "--propagation", "private"]);
        let itself = unshare.arg(std::env::current_exe().unwrap());
        let itself = itself.args([PROVE, &count.to_string(), &first.to_string()]);
        let ended = itself.env("OWN_MOUNTS", "1").status().unwrap();
        return if ended.success() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let (mut failed, mut counts) = (0, Counts::default());
    for seed in first..first + count {
        let mut history = History::new(NAMESPACES, seed, is_root && seed % 4 == 0);
        if let Err(why) = history.play() {
            failed += 1;
            println!("history {seed}: {why}");
        }
        counts.add(&history.counts);
    }
    println!("{count} histories: {failed} failed; {counts:?}");
    // What never happened proves nothing.
    let happened = [
        counts.runs,
        counts.conflicts,
        counts.held,
        counts.applied,
        counts.dropped,
        counts.kills,
        counts.swaps,
    ];
    let is_thin = count >= 100 && happened.contains(&0);
    if failed > 0 || is_thin {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

#[derive(Debug, Default)]
struct Counts {
    runs: u64,
    edits: u64,
    swaps: u64,
    conflicts: u64,
    held: u64,
    applied: u64,
    dropped: u64,
    kills: u64,
    refusals: u64,
}

impl Counts {
    fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.edits += other.edits;
        self.swaps += other.swaps;
        self.conflicts += other.conflicts;
        self.held += other.held;
        self.applied += other.applied;
        self.dropped += other.dropped;
        self.kills += other.kills;
        self.refusals += other.refusals;
    }
}

struct History {
    fixture: Fixture,
    random: u64,
    /// Every text that somebody wrote as a whole.
    texts: BTreeSet<String>,
    count: u64,
    counts: Counts,
    is_small: bool,
    /// The folder when the run of each set began.
    begun: BTreeMap<String, Tree>,
}

impl Drop for History {
    fn drop(&mut self) {
        if self.is_small {
            let _ = Process::new("umount")
                .arg("--lazy")
                .arg(self.fixture.path("workspace"))
                .status();
        }
    }
}

impl History {
    fn new(level: Level, seed: u64, is_small: bool) -> Self {
        let fixture = Fixture::new(level);
        if is_small {
            let mut mount = Process::new("mount");
            let mount = mount.args(["-t", "tmpfs", "-o", DISK, "tmpfs"]);
            assert!(
                mount
                    .arg(fixture.path("workspace"))
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let mut history = Self {
            fixture,
            random: seed
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(0x1234_5678_9ABC_DEF1),
            texts: BTreeSet::new(),
            count: 0,
            counts: Counts::default(),
            is_small,
            begun: BTreeMap::new(),
        };
        for path in FILES {
            if history.one_in(2) {
                history.edit(path);
            }
            // Another version, which somebody moves into place later.
            if history.one_in(2) {
                let text = history.text("person");
                history.fixture.write(&format!("aside/{path}"), &text);
            }
        }
        history
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % limit
    }

    fn one_in(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// A text that nobody has written yet.
    fn text(&mut self, by: &str) -> String {
        self.count += 1;
        let long = if self.is_small && self.one_in(3) {
            120_000
        } else {
            8
        };
        let text = format!("{by}{}-{}", self.count, "x".repeat(long));
        self.texts.insert(text.clone());
        text
    }

    /// Writes a file as a person does: a full disk is no reason to fail.
    fn edit(&mut self, path: &str) {
        let text = self.text("person");
        let path = self.fixture.path("workspace").join(path);
        if let Some(folder) = path.parent()
            && std::fs::create_dir_all(folder).is_err()
        {
            return;
        }
        let new = path.with_extension("new~");
        if std::fs::write(&new, text).is_err() || std::fs::rename(&new, &path).is_err() {
            let _ = std::fs::remove_file(new);
        }
        self.counts.edits += 1;
    }

    /// Moves a folder that is older than a run into the place of another one.
    fn swap(&mut self) {
        let (folder, root) = (self.pick(&FOLDERS), self.fixture.path("workspace"));
        let (aside, place) = (self.fixture.path("aside"), root.join(folder));
        // A small disk is another one.
        if self.is_small || !place.is_dir() || !aside.join(folder).is_dir() {
            return;
        }
        self.counts.swaps += 1;
        let former = aside.join(format!("former-{}", self.counts.swaps));
        std::fs::rename(&place, &former).unwrap();
        std::fs::rename(aside.join(folder), &place).unwrap();
    }

    /// A few edits of a person.
    fn edits(&mut self) {
        if self.one_in(4) {
            self.swap();
        }
        for _ in 0..self.below(5) {
            let path = self.pick(&FILES);
            if self.one_in(4) {
                let _ = std::fs::remove_file(self.fixture.path("workspace").join(path));
            } else {
                self.edit(path);
            }
        }
    }

    fn tree(&self) -> Tree {
        tree_of(&self.fixture.path("workspace"))
    }

    /// A line of a run, which waits for a line of input before it changes anything.
    fn line(&mut self) -> String {
        let mut line = "cd /workspace; echo begun; read go".to_owned();
        for _ in 0..=self.below(4) {
            let path = self.pick(&FILES);
            let step = match self.below(9) {
                0 => format!("; rm -f {path}"),
                1 => format!("; rm -rf {}", self.pick(&FOLDERS)),
                2 => format!("; mkdir -p moved; mv {path} moved/ 2> /dev/null"),
                3 => {
                    let folder = self.pick(&FOLDERS);
                    format!("; rm -rf away; mv {folder} away 2> /dev/null")
                }
                _ => {
                    let text = self.text("run");
                    // A long text would be too long for a line.
                    let (start, long) = text.split_at(text.find('-').unwrap() + 1);
                    let length = long.len();
                    format!(
                        "; mkdir -p $(dirname {path}); {{ printf {start}; head -c {length} /dev/zero | tr '\\0' x; }} > {path}"
                    )
                }
            };
            line.push_str(&step);
        }
        line + "; true"
    }

    fn spec(&self, line: &str, holds_all: bool, input: Input) -> Spec {
        Spec {
            holding: Some(Holding {
                targets: vec!["/workspace".to_owned()],
                holds_all,
                protected: Arc::new(|_| Vec::new()),
                git: PersonalSettings::default(),
                folder: self.fixture.path("changes"),
                about: "a history".to_owned(),
            }),
            input,
            ..self
                .fixture
                .spec(Command::Line(self.fixture.guest_line(line)))
        }
    }

    /// Runs a line; `meanwhile` happens before it changes anything.
    fn run(&mut self, line: &str, holds_all: bool, meanwhile: impl FnOnce(&mut Self)) -> Outcome {
        let (go, gate) = mpsc::channel();
        let input = Input::Reader(Arc::new(Mutex::new(Gate(gate))));
        let spec = self.spec(line, holds_all, input);
        let runner = shared_runner(self.fixture.level);
        self.counts.runs += 1;
        let (said, hears) = mpsc::channel();
        let listener = Arc::new(move |_, _: &[u8]| {
            let _ = said.send(());
        });
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let running = runner.run(&Owner::Local, spec, listener);
                runtime().block_on(running).unwrap()
            });
            hears.recv().unwrap();
            meanwhile(self);
            go.send(()).unwrap();
            drop(go);
            running.join().unwrap()
        })
    }

    fn play(&mut self) -> Result<(), String> {
        for _ in 0..STEPS {
            match self.below(10) {
                0..=3 => self.step_run(false)?,
                4..=5 => self.step_run(true)?,
                6 => self.step_settle()?,
                7 => self.step_kill_run()?,
                8 => self.step_kill_apply()?,
                _ => self.edits(),
            }
        }
        Ok(())
    }

    /// A run, with edits of a person and perhaps a whole other run meanwhile.
    fn step_run(&mut self, has_other: bool) -> Result<(), String> {
        let holds_all = self.one_in(6);
        let (line, other) = (self.line(), self.line());
        let before = self.tree();
        let (mut now, mut why) = (Tree::new(), Ok(()));
        let outcome = self.run(&line, holds_all, |history| {
            if has_other {
                let before = history.tree();
                let outcome = history.run(&other, false, |_| {});
                why = history.check(&before, &before, &outcome, false);
            }
            history.edits();
            now = history.tree();
        });
        why.map_err(|why| format!("the other run: {why}: {other}"))?;
        let checked = self.check(&before, &now, &outcome, holds_all);
        checked.map_err(|why| format!("{why}: {line}: {:?}", outcome.artifacts))
    }

    /// Compares the folder with what was there when the run began, and before it changed anything.
    fn check(
        &mut self,
        begun: &Tree,
        now: &Tree,
        outcome: &Outcome,
        holds_all: bool,
    ) -> Result<(), String> {
        if outcome.exit != Some(Exit::Code(0)) && !self.is_small {
            return Err(format!("it ended: {outcome:?}"));
        }
        let after = self.tree();
        let is_held = |path: &str| holds_all || is_obeyed(path);
        if let Some(id) = &outcome.held {
            self.begun.insert(id.clone(), begun.clone());
            let waiting = tree_of(&self.fixture.path("changes").join(id));
            let mut answers = outcome.artifacts.iter();
            if !self.is_small && !answers.any(|one| matches!(one.change, Change::Conflict(_))) {
                check_moves(begun, now, &after, &waiting)?;
            }
        }
        self.check_changes(begun, now, &after, &outcome.artifacts, is_held)?;
        let held = outcome.artifacts.iter();
        let held = held
            .filter(|one| matches!(one.change, Change::Held(_)))
            .count() as u64;
        self.counts.held += held;
        if (held > 0) != outcome.held.is_some() {
            return Err("the answer names no set, or one without changes".to_owned());
        }
        Ok(())
    }

    /// Checks every difference against the answer, and every answer against the folder.
    fn check_changes(
        &mut self,
        begun: &Tree,
        now: &Tree,
        after: &Tree,
        artifacts: &[Artifact],
        is_held: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        let answers: BTreeMap<&str, &Change> = artifacts
            .iter()
            .map(|one| {
                (
                    one.path
                        .trim_start_matches("/workspace")
                        .trim_start_matches('/'),
                    &one.change,
                )
            })
            .collect();
        let beside: BTreeSet<&str> = answers
            .values()
            .filter_map(|change| match change {
                Change::Conflict(Some(beside)) => Some(beside.trim_start_matches("/workspace/")),
                _ => None,
            })
            .collect();
        let is_beside = |path: &str| {
            beside
                .iter()
                .any(|one| path == *one || path.starts_with(&format!("{one}/")))
        };
        // The answer about a path, or about a folder above it.
        let answer = |path: &str| {
            let above = path.match_indices('/').map(|(end, _)| &path[..end]);
            std::iter::once(path)
                .chain(above)
                .find_map(|path| answers.get(path).copied())
        };
        for (path, text) in now {
            if after.get(path) == Some(text) {
                continue;
            }
            if begun.get(path) != Some(text) {
                return Err(format!("what somebody wrote meanwhile to {path} is gone"));
            }
            if is_held(path) {
                return Err(format!("{path} is changed, and a person wasn't asked"));
            }
            let is_told = match (after.get(path), answer(path)) {
                (Some(_), Some(Change::Written(_)))
                | (
                    // It is gone with what was in a folder, or a folder is in its place.
                    None,
                    Some(Change::Removed | Change::Conflict(None) | Change::Written(_)),
                ) => true,
                (None, None) => answers
                    .keys()
                    .any(|other| other.starts_with(&format!("{path}/"))),
                _ => false,
            };
            if !is_told {
                return Err(format!(
                    "{path} is changed, and the answer says {:?}",
                    answer(path)
                ));
            }
        }
        for (path, text) in after {
            if !self.texts.contains(text) {
                return Err(format!(
                    "{path} has a text that nobody wrote: {} bytes",
                    text.len()
                ));
            }
            let is_told = now.contains_key(path)
                || is_beside(path)
                || matches!(answer(path), Some(Change::Written(_)));
            if !is_told {
                return Err(format!("{path} is new, and the answer doesn't say so"));
            }
            if is_held(path) && !now.contains_key(path) && !is_beside(path) {
                return Err(format!("{path} is new, and a person wasn't asked"));
            }
        }
        for (path, change) in &answers {
            let (then, text) = (now.get(*path), after.get(*path));
            let is_true = match change {
                Change::Written(bytes) => text.is_some_and(|text| text.len() as u64 == *bytes),
                Change::Removed => text.is_none(),
                Change::Held(_) | Change::Refused(_) => then == text,
                Change::Conflict(Some(to)) => {
                    let to = to.trim_start_matches("/workspace/");
                    self.counts.conflicts += 1;
                    then == text
                        && after
                            .keys()
                            .any(|path| path == to || path.starts_with(&format!("{to}/")))
                }
                Change::Conflict(None) | Change::Linked => true,
            };
            if matches!(change, Change::Refused(_)) {
                self.counts.refusals += 1;
            }
            if !is_true {
                return Err(format!("the answer about {path} isn't true: {change:?}"));
            }
        }
        Ok(())
    }

    fn sets(&self) -> Vec<String> {
        let sets = ChangeSets::new(self.fixture.path("changes"));
        let all = runtime().block_on(async { sets.list().await.unwrap() });
        all.into_iter().map(|set| set.id).collect()
    }

    /// Applies or drops a set.
    fn step_settle(&mut self) -> Result<(), String> {
        let all = self.sets();
        if all.is_empty() {
            return Ok(());
        }
        let index = usize::try_from(self.below(all.len() as u64)).unwrap();
        let id = all[index].clone();
        let sets = ChangeSets::new(self.fixture.path("changes"));
        let before = self.tree();
        if self.one_in(3) {
            runtime().block_on(async { sets.drop_set(&id).await.unwrap() });
            self.counts.dropped += 1;
            let is_same = self.tree() == before && !self.sets().contains(&id);
            return is_same
                .then_some(())
                .ok_or_else(|| "dropping a set changed something".to_owned());
        }
        let report = runtime().block_on(async { sets.apply(&id).await.unwrap() });
        self.counts.applied += 1;
        let after = self.tree();
        // What somebody changed since the run is a conflict, which the answer must name.
        let begun = self
            .begun
            .get(&id)
            .cloned()
            .unwrap_or_else(|| before.clone());
        let checked = self.check_changes(&begun, &before, &after, &report.artifacts, |_| false);
        checked.map_err(|why| format!("applying: {why}: {report:?}"))?;
        let is_left = self.sets().contains(&id);
        if is_left != report.is_partial {
            return Err(
                "a set that was applied is there still, or one that wasn't is gone".to_owned(),
            );
        }
        Ok(())
    }

    /// Starts a process that works in these folders, and kills it some time after it said something.
    fn kill(&mut self, work: &[&str]) {
        self.counts.kills += 1;
        let mut victim = Process::new(std::env::current_exe().unwrap());
        victim
            .arg(VICTIM)
            .arg(self.fixture.level.as_str())
            .arg(self.fixture.folder.path());
        let mut victim = victim.args(work).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 1];
        let _ = victim.stdout.take().unwrap().read(&mut said);
        std::thread::sleep(Duration::from_micros(self.below(20_000)));
        let _ = victim.kill();
        victim.wait().unwrap();
    }

    /// Kills the server of a run near its end: each file is as before, or as the run left it.
    fn step_kill_run(&mut self) -> Result<(), String> {
        let line = self.line().replacen("; read go", "", 1);
        let before = self.tree();
        self.kill(&["run", &line]);
        for id in self.sets() {
            self.begun.entry(id).or_insert_with(|| before.clone());
        }
        let mut after = self.tree();
        after.retain(|path, _| !path.starts_with(".gongfu-"));
        for (path, text) in &after {
            if !self.texts.contains(text) {
                return Err(format!("{path} is half a file after a kill"));
            }
            if is_obeyed(path) && before.get(path) != Some(text) {
                return Err(format!("{path} is changed, and a person wasn't asked"));
            }
        }
        let gone = before
            .keys()
            .find(|path| is_obeyed(path) && !after.contains_key(*path));
        if let Some(path) = gone {
            return Err(format!("{path} is gone, and a person wasn't asked"));
        }
        self.sweep()
    }

    /// Kills a process that applies a set: it can be applied again.
    fn step_kill_apply(&mut self) -> Result<(), String> {
        let sets = ChangeSets::new(self.fixture.path("changes"));
        let all = runtime().block_on(async { sets.list().await.unwrap() });
        let Some(last) = all.last() else {
            return Ok(());
        };
        let (id, begun) = (last.id.clone(), self.begun.get(&last.id).cloned());
        let paths = last
            .changes
            .iter()
            .map(|one| one.path.trim_start_matches("/workspace/").to_owned());
        let set: BTreeSet<String> = paths.collect();
        let before = self.tree();
        self.kill(&["apply", &id]);
        let after = self.tree();
        let mut half = after
            .iter()
            .filter(|(path, text)| !path.starts_with(".gongfu-") && !self.texts.contains(*text));
        if let Some((path, _)) = half.next() {
            return Err(format!("{path} is half a file after a kill"));
        }
        if self.sets().contains(&id) {
            let sets = ChangeSets::new(self.fixture.path("changes"));
            let report = runtime().block_on(async { sets.apply(&id).await.unwrap() });
            let refused = report
                .artifacts
                .iter()
                .any(|one| matches!(one.change, Change::Refused(_)));
            if refused && !self.is_small {
                return Err(format!("it can't be applied after a kill: {report:?}"));
            }
        }
        // Only what is in the set is different.
        let after = self.tree();
        let is_in_set = |path: &str| {
            set.iter().any(|one| {
                let is_below = |path: &str, folder: &str| {
                    path.strip_prefix(folder)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                // Where a file took the place of a folder, the run's folder is beside that.
                let mut folders = Path::new(one).ancestors().filter_map(Path::to_str);
                is_below(path, one)
                    || is_below(one, path)
                    || folders.any(|folder| {
                        !folder.is_empty() && path.starts_with(&format!("{folder}.run-"))
                    })
            })
        };
        let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for path in paths {
            if before.get(path) != after.get(path)
                && !is_in_set(path)
                && !path.starts_with(".gongfu-")
            {
                return Err(format!(
                    "{path} is different after a kill, and isn't in the set"
                ));
            }
            let then = begun.as_ref().and_then(|begun| begun.get(path));
            let is_theirs = before.get(path).is_some_and(|text| Some(text) != then);
            if is_theirs && before.get(path) != after.get(path) && begun.is_some() {
                return Err(format!(
                    "what somebody wrote to {path} after the run is gone"
                ));
            }
        }
        self.sweep()
    }

    /// The next run removes what a killed process left.
    fn sweep(&mut self) -> Result<(), String> {
        let text = self.text("run");
        let line = format!(
            "cd /workspace; read go; printf {} > swept",
            &text[..text.find('-').unwrap()]
        );
        self.texts
            .insert(text[..text.find('-').unwrap()].to_owned());
        let spec = self.spec(&line, false, Input::Bytes(b"\n".to_vec()));
        let runner = shared_runner(self.fixture.level);
        let outcome = runtime().block_on(runner.run(&Owner::Local, spec, Arc::new(|_, _| {})));
        let is_full = outcome
            .unwrap()
            .artifacts
            .iter()
            .any(|one| matches!(one.change, Change::Refused(_)));
        let entries = std::fs::read_dir(self.fixture.path("workspace")).unwrap();
        let mut names = entries.flatten().map(|entry| entry.file_name());
        let left = names.find(|name| name.to_string_lossy().starts_with(".gongfu-"));
        match left {
            Some(name) if !is_full => {
                Err(format!("{} is left of a killed process", name.display()))
            }
            _ => Ok(()),
        }
    }
}

/// A runner that tries its level once.
fn shared_runner(level: Level) -> Arc<Runner> {
    static RUNNERS: Mutex<BTreeMap<Level, Arc<Runner>>> = Mutex::new(BTreeMap::new());
    let mut runners = RUNNERS.lock().unwrap();
    Arc::clone(
        runners
            .entry(level)
            .or_insert_with(|| Arc::new(runner(level))),
    )
}

/// The process that is killed.
pub(crate) fn victim() -> ExitCode {
    let mut arguments = std::env::args().skip(2);
    let level = arguments.next().unwrap();
    let mut levels = crate::kinds().into_iter().map(|(level, _)| level);
    let level = levels.find(|one| one.as_str() == level).unwrap();
    let folder = arguments.next().unwrap();
    let (work, what) = (arguments.next().unwrap(), arguments.next().unwrap());
    let changes = Path::new(&folder).join("changes");
    let say = || {
        println!("begun");
        let _ = io::Write::flush(&mut io::stdout());
    };
    if work == "apply" {
        say();
        let sets = ChangeSets::new(changes);
        let _ = runtime().block_on(async { sets.apply(&what).await });
        return ExitCode::SUCCESS;
    }
    let spec = Spec {
        holding: Some(Holding {
            targets: vec!["/workspace".to_owned()],
            holds_all: false,
            protected: Arc::new(|_| Vec::new()),
            git: PersonalSettings::default(),
            folder: changes,
            about: "a victim".to_owned(),
        }),
        ..Fixture::spec_in(Path::new(&folder), Command::Line(what))
    };
    let running = async {
        let listener = Arc::new(move |_, _: &[u8]| say());
        runner(level).run(&Owner::Local, spec, listener).await
    };
    let _ = runtime().block_on(running);
    ExitCode::SUCCESS
}
