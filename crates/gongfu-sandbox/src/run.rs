//! One run: begins the child, tells it what to do, and listens until it ends.

use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use gongfu_core::sandbox::{Contact, Enforcement, Means, Reason, Spec, Stream};
use rustix::event::{PollFd, PollFlags, poll};

use crate::backend::Surroundings;
use crate::begun::{Begun, Mappings, is_heard, timespec};
use crate::cgroup::{Counted, Group};
use crate::network::Network;
use crate::pace::Start;
use crate::plan::{Grouped, How, Kind, Owner, Plan, Source, Step, Told};
use crate::proxy::Proxy;
use crate::spare::Key;
use crate::{input, wire};

/// How much is read of an output at once.
const READ: usize = 64 * 1024;
/// After how much output it is waited a moment before more is read: who floods waits, and not who asks
/// the server for something else. What is said otherwise never comes to so much.
const MOUTHFUL: usize = 1024 * 1024;
const MOMENT: Duration = Duration::from_millis(4);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) how: Option<How>,
    pub(crate) reason: Reason,
    pub(crate) failed: Option<(Step, i32)>,
    /// Whether everything stood that the program is begun in.
    pub(crate) stood: bool,
    pub(crate) layers: Vec<OwnedFd>,
    pub(crate) cpu: Duration,
    pub(crate) memory: u64,
    pub(crate) took: Duration,
    /// What a control group counted, besides which nobody had to.
    pub(crate) grouped: Option<Grouped>,
    /// The first process of the run, where its end is that of all.
    first: Option<OwnedFd>,
    /// The network that was made for it.
    network: Option<Network>,
    /// By what its network is listened to, until somebody does.
    listener: Option<OwnedFd>,
    /// The hosts that it asked for.
    pub(crate) contacts: Vec<Contact>,
}

/// Runs a plan to its end, in a control group of its own where there are any, and in a child that was
/// begun before where there is one, which may be given as `begun`. `stands` is given the layers before the
/// program is begun, where something else is to fill them.
///
/// # Errors
/// The child can't be begun, or is none, or its layers can't be filled.
pub(crate) fn run(
    plan: &Plan,
    spec: &Spec,
    surroundings: &Surroundings<'_>,
    begun: Option<Begun>,
    mut stands: impl FnMut(&[OwnedFd]) -> io::Result<()>,
    mut heard: impl FnMut(Stream, &[u8]) -> bool,
) -> io::Result<Ended> {
    let (groups, limits) = (surroundings.groups, &spec.limits);
    let is_wanted = || !is_heard(surroundings.cancel, PollFlags::IN, Duration::ZERO);
    let start = surroundings.pace.start(surroundings.since, is_wanted);
    if start.is_none() {
        return Ok(Ended {
            reason: Reason::Cancelled,
            ..Ended::not_yet(None)
        });
    }
    let mut run = Run {
        start,
        plan,
        spec,
        surroundings,
        begun: Instant::now(),
        key: None,
        input: input::handle(&spec.input, plan.tenant)?,
        stands: &mut stands,
        heard: &mut heard,
        stood: false,
        proxy: None,
    };
    if let Some(begun) = begun {
        return run.out(begun, &[]);
    }
    let Some(ground) = plan.ground() else {
        return run.out(Begun::begin(&plan.kind, None, None, groups, limits)?, &[]);
    };
    let key = run.key.insert(Key {
        ground,
        owner: surroundings.owner.clone(),
        memory: limits.memory,
        processes: limits.processes,
        grouped: groups.is_some(),
    });
    let missing = match plan.tenant {
        Some(tenant) => {
            let owners = plan.foreign_owners(tenant);
            let known = surroundings.spares.mapped(&owners, tenant);
            let is_missing = |owner: &Owner| !known.contains_key(owner);
            owners.into_iter().filter(is_missing).collect()
        }
        None => Vec::new(),
    };
    let key = key.clone();
    let spare = surroundings.spares.take(&key);
    if let Some(spare) = spare.filter(|_| missing.is_empty()) {
        let ended = run.out(spare, &[]);
        let is_final = |ended: &Ended| ended.stood || ended.reason != Reason::Ok;
        if run.stood || ended.as_ref().is_ok_and(is_final) {
            return ended;
        }
        // The machine was another one when it was begun, or it has ended: one that is begun anew works,
        // or says why it doesn't.
    }
    let ground = Some((&key.ground, missing.as_slice()));
    let network = surroundings.spares.network(&key);
    let begun = Begun::begin(&plan.kind, ground, network, groups, limits)?;
    run.out(begun, &missing)
}

/// What a run is.
struct Run<'a> {
    /// Let go of once everything stands that the program is begun in.
    start: Option<Start<'a>>,
    plan: &'a Plan,
    spec: &'a Spec,
    surroundings: &'a Surroundings<'a>,
    begun: Instant,
    /// What the program reads, until the child has it for certain.
    input: Option<OwnedFd>,
    /// What a child must be begun for that the next such run can use.
    key: Option<Key>,
    stands: &'a mut dyn FnMut(&[OwnedFd]) -> io::Result<()>,
    heard: &'a mut dyn FnMut(Stream, &[u8]) -> bool,
    /// Whether everything stood that the program is begun in: from then on it can't be begun once more.
    stood: bool,
    /// What its network leads to.
    proxy: Option<Proxy>,
}

impl Run<'_> {
    /// Carries it out by a child, which was asked to map these owners.
    fn out(&mut self, mut begun: Begun, asked: &[Owner]) -> io::Result<Ended> {
        let limits = &self.spec.limits;
        let mut ended = Ended::not_yet(begun.grouped);
        let trees = match self.trees(&begun, asked)? {
            Ok(trees) => trees,
            Err(failed) => {
                ended.failed = Some(failed);
                return Ok(ended);
            }
        };
        let mut broken = begun
            .order(self.plan, self.input.as_ref().map(AsFd::as_fd), &trees)
            .err();
        drop(trees);
        let (mut hears_out, mut hears_error, mut listens) = (true, true, true);
        let mut last = Instant::now();
        let mut buffer = vec![0; READ];
        let mut swallowed = 0;
        'run: while hears_out || hears_error || listens {
            let by = self.begun + limits.wall;
            let by = limits.idle.map_or(by, |idle| by.min(last + idle));
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                ended.reason = Reason::Timeout;
                break;
            }
            let plain = |heard: Heard, handle| (heard, handle, PollFlags::IN);
            let mut watched = vec![plain(Heard::Cancel, self.surroundings.cancel.as_fd())];
            watched.extend(listens.then(|| plain(Heard::Control, begun.control().as_fd())));
            watched
                .extend(hears_out.then(|| plain(Heard::Output(Stream::Stdout), begun.out.as_fd())));
            watched.extend(
                hears_error.then(|| plain(Heard::Output(Stream::Stderr), begun.error.as_fd())),
            );
            let alarm = begun.group.as_ref().and_then(Group::alarm);
            watched.extend(alarm.map(|(handle, flags)| (Heard::Memory, handle, flags)));
            let first = ended.first.as_ref().filter(|_| listens);
            watched.extend(first.map(|first| plain(Heard::First, first.as_fd())));
            let ready = ready(&watched, left)?;
            let mut flood = false;
            for heard_of in ready {
                let stream = match heard_of {
                    Heard::Cancel => {
                        ended.reason = Reason::Cancelled;
                        break 'run;
                    }
                    Heard::Memory => {
                        if begun.group.as_mut().is_some_and(Group::is_out_of_memory) {
                            ended.reason = Reason::Oom;
                            break 'run;
                        }
                        continue;
                    }
                    Heard::Control => {
                        listens = self.follow(&mut ended, &begun, &mut broken);
                        continue;
                    }
                    Heard::First => {
                        // What it said before its end is there, and nobody says more.
                        while listens && is_heard(begun.control(), PollFlags::IN, Duration::ZERO) {
                            listens = self.follow(&mut ended, &begun, &mut broken);
                        }
                        listens = false;
                        continue;
                    }
                    Heard::Output(stream) => stream,
                };
                let (read, hears) = match stream {
                    Stream::Stdout => (begun.out.read(&mut buffer)?, &mut hears_out),
                    Stream::Stderr => (begun.error.read(&mut buffer)?, &mut hears_error),
                };
                *hears = read > 0;
                swallowed += read;
                flood |= !(self.heard)(stream, buffer.get(..read).unwrap_or_default());
                last = Instant::now();
            }
            if flood {
                ended.reason = Reason::Output;
                break;
            }
            if swallowed >= MOUTHFUL {
                swallowed = 0;
                std::thread::sleep(MOMENT);
            }
        }
        self.over(ended, begun, broken)
    }

    /// Sees to it that it is over, and that nothing is left of it.
    fn over(
        &mut self,
        mut ended: Ended,
        mut begun: Begun,
        broken: Option<io::Error>,
    ) -> io::Result<Ended> {
        // Not while the program runs: it would take time from it, and whoever asks again waits for the
        // answer first.
        let Surroundings {
            spares,
            threads,
            groups,
            ..
        } = self.surroundings;
        let is_time =
            self.stood && ended.reason != Reason::Cancelled && !self.surroundings.pace.is_busy();
        if let Some(key) = self.key.as_ref().filter(|_| is_time) {
            spares.renew(key, *groups, threads);
        }
        // One whose group is empty is dead as well, whoever ended it.
        let first = ended.first.take();
        if !begun.end(first.as_ref()) && !begun.group.as_ref().is_some_and(Group::end) {
            return Err(io::Error::other("the sandbox didn't end"));
        }
        ended.contacts = self.proxy.take().map(Proxy::end).unwrap_or_default();
        let network = ended.network.take().or(begun.network.take());
        if let (Some(key), Some(network)) = (&self.key, network) {
            spares.keep_network(key, network);
        }
        if let Some(group) = &begun.group {
            ended.count(group.counted());
        }
        // Nobody waits until what is left of it is taken away. Where there can be no more threads it is
        // done at once.
        let _ = threads.begin("sweeper", *groups, move || drop(begun));
        // A child that is ended in the middle of a word says so in vain.
        if let Some(broken) =
            broken.filter(|_| ended.reason != Reason::Oom && ended.failed.is_none())
        {
            return Err(broken);
        }
        ended.took = self.begun.elapsed();
        Ok(ended)
    }

    /// The mounts that only whoever runs gongfu can take, where the run is somebody else; or what failed.
    fn trees(
        &self,
        begun: &Begun,
        asked: &[Owner],
    ) -> io::Result<Result<Vec<OwnedFd>, (Step, i32)>> {
        let (Some(key), Some(tenant)) = (&self.key, self.plan.tenant) else {
            return Ok(Ok(Vec::new()));
        };
        let spares = self.surroundings.spares;
        let mut mappings = spares.mapped(&self.plan.foreign_owners(tenant), tenant);
        if !asked.is_empty() {
            match begun.mapped()? {
                Ok(new) => {
                    spares.keep(&new, tenant);
                    mappings.extend(new);
                }
                Err(failed) => return Ok(Err(failed)),
            }
        }
        let but = key.ground.sources.len();
        Ok(taken(&self.plan.sources, but, tenant, &mappings))
    }

    /// Takes what the child tells, and has its layers filled where it waits for that; answers whether
    /// there may be more.
    fn follow(&mut self, ended: &mut Ended, begun: &Begun, broken: &mut Option<io::Error>) -> bool {
        let control = begun.control();
        let mut told = ended.told(control);
        if let Some(listener) = ended.listener.take() {
            match Proxy::begin(listener, self.spec.reach.clone()) {
                Ok(proxy) => self.proxy = Some(proxy),
                Err(error) => {
                    // It would ask somebody who never answers.
                    let _ = control.shutdown(Shutdown::Both);
                    told = Err(error);
                }
            }
        }
        if ended.stood && !self.stood {
            self.stood = true;
            self.start = None;
            // Whoever fills it is to notice when nobody reads it any more.
            self.input = None;
            if matches!(
                self.plan.kind,
                Kind::Bubblewrap { .. } | Kind::Docker { .. }
            ) {
                let filled =
                    (self.stands)(&ended.layers).and_then(|()| wire::send(control, &(), &[]));
                if let Err(error) = filled {
                    // It would wait for good.
                    let _ = control.shutdown(Shutdown::Both);
                    told = Err(error);
                }
            }
        }
        let listens = matches!(told, Ok(true));
        if broken.is_none() {
            *broken = told.err();
        }
        listens
    }
}

/// The mounts of all sources but so many of the first, for a tenant.
#[cfg(target_os = "linux")]
fn taken(
    sources: &[Source],
    but: usize,
    tenant: Owner,
    mappings: &Mappings,
) -> Result<Vec<OwnedFd>, (Step, i32)> {
    let stage = crate::child::stage::Stage {
        machine: "",
        tenant: Some((tenant, mappings)),
    };
    let trees = stage.trees(sources, but);
    trees.map_err(|failure| (failure.step, failure.number))
}

/// Nothing can be mounted here, and nothing is ever asked for that would have to be.
#[cfg(target_os = "macos")]
fn taken(
    _sources: &[Source],
    _but: usize,
    _tenant: Owner,
    _mappings: &Mappings,
) -> Result<Vec<OwnedFd>, (Step, i32)> {
    Err((Step::Root, libc::ENOSYS))
}

/// What something was heard of.
#[derive(Debug, Clone, Copy)]
enum Heard {
    Cancel,
    Memory,
    Control,
    First,
    Output(Stream),
}

/// Waits until there is something to hear.
fn ready(
    watched: &[(Heard, BorrowedFd<'_>, PollFlags)],
    patience: Duration,
) -> io::Result<Vec<Heard>> {
    let handles = watched.iter();
    let mut handles: Vec<PollFd<'_>> = handles
        .map(|(_, handle, flags)| PollFd::from_borrowed_fd(*handle, *flags))
        .collect();
    match poll(&mut handles, Some(&timespec(patience))) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let of = watched.iter().zip(handles);
    let ready = of.filter(|(_, handle)| !handle.revents().is_empty());
    Ok(ready.map(|((heard, ..), _)| *heard).collect())
}

impl Ended {
    /// Of a run that has only begun.
    fn not_yet(grouped: Option<Grouped>) -> Self {
        Self {
            how: None,
            reason: Reason::Ok,
            failed: None,
            stood: false,
            layers: Vec::new(),
            cpu: Duration::ZERO,
            memory: 0,
            took: Duration::ZERO,
            grouped,
            first: None,
            network: None,
            listener: None,
            contacts: Vec::new(),
        }
    }

    /// By what limits were held: the number of processes by `otherwise` where no control group counts,
    /// and what is written by `disk`.
    pub(crate) fn held(&self, otherwise: Means, disk: Means) -> Enforcement {
        let (memory, processes) = self.grouped.map_or((false, false), |grouped| {
            (grouped.memory, grouped.processes)
        });
        let by_group = |is_counted, without| {
            if is_counted {
                Means::ControlGroup
            } else {
                without
            }
        };
        Enforcement {
            memory: by_group(memory, Means::Watchdog),
            processes: by_group(processes, otherwise),
            disk,
        }
    }

    /// Takes what a control group counted.
    fn count(&mut self, counted: Counted) {
        let is_over = matches!(
            self.reason,
            Reason::Timeout | Reason::Output | Reason::Cancelled
        );
        if counted.oom && !is_over {
            self.reason = Reason::Oom;
            self.failed = None;
        }
        // A program that could do without is none that was ended.
        let is_well = matches!(self.how, None | Some(How::Exit(0)));
        if counted.crowded && self.reason == Reason::Ok && !is_well {
            self.reason = Reason::Pids;
        }
    }

    /// Takes what the child tells; answers whether there may be more.
    fn told(&mut self, control: &UnixStream) -> io::Result<bool> {
        match wire::receive::<Told>(control)? {
            None => return Ok(false),
            Some((Told::Ready, layers)) => {
                self.layers = layers;
                self.stood = true;
            }
            Some((Told::Network, handles)) => self.network = Network::received(handles),
            Some((Told::Proxied, handles)) => self.listener = handles.into_iter().next(),
            Some((Told::First, handles)) => self.first = handles.into_iter().next(),
            Some((Told::Mapped(_), _)) => {}
            Some((Told::Failed(step, number), _)) => self.failed = Some((step, number)),
            Some((Told::Memory, _)) => self.reason = Reason::Oom,
            Some((Told::Disk, _)) => self.reason = Reason::Disk,
            Some((Told::Processes, _)) => self.reason = Reason::Pids,
            Some((
                Told::Ended {
                    how,
                    full,
                    crowded,
                    cpu,
                    memory,
                },
                _,
            )) => {
                self.how = Some(how);
                self.cpu = Duration::from_micros(cpu);
                self.memory = memory;
                // A program that could do without is none that was ended.
                self.reason = match how {
                    How::Exit(0) => Reason::Ok,
                    How::Signal(libc::SIGSYS) => Reason::Denied,
                    How::Signal(libc::SIGXCPU) => Reason::Timeout,
                    How::Signal(libc::SIGXFSZ) => Reason::Disk,
                    _ if full => Reason::Disk,
                    _ if crowded => Reason::Pids,
                    _ => Reason::Ok,
                };
            }
        }
        Ok(true)
    }
}
