//! The outermost process: makes the namespaces, and waits.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal,
    set_dumpable_behavior, waitpid,
};
use rustix::stdio::{dup2_stdin, stdin};
use rustix::thread::{UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use rustix::{fs, thread};

use super::call::{self, Fork};
use super::stage::Stage;
use super::{Failure, UNCERTAIN, at, bubble, init, lite, network, stage};
use crate::begun::Mappings;
use crate::network::Network;
use crate::plan::{Entrance, Ground, Grouped, Kind, Order, Owner, Step, Told};
use crate::wire;

/// Whom the run takes itself for.
pub(super) const USER: u32 = 1000;

/// Is the outermost process.
pub(super) fn run() -> ExitCode {
    let Ok(control) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let ran = match enter(&control) {
        Ok(Entered::Outside(inside)) => return follow(inside),
        Ok(Entered::Inside(grouped)) => begin(&control, grouped),
        Err(failure) => Err(failure),
    };
    match ran {
        Ok(Begun::Init(init)) => wait(&control, init),
        Ok(Begun::Ended(how)) => how,
        Err(Failure { step, number }) => {
            // Whoever can't be told has gone.
            let _ = wire::send(&control, &Told::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

/// What came of a plan.
enum Begun {
    /// The first process of the run.
    Init(Pid),
    /// Nothing that still runs, and what this process ends with.
    Ended(ExitCode),
}

/// Which of two processes this is once there is a control group.
enum Entered {
    /// The one that is in it, if there is one.
    Inside(Option<Grouped>),
    /// The one that waits for this other one.
    Outside(Pid),
}

/// Comes into the control group of the run, before anything is known of it.
fn enter(control: &OwnedFd) -> Result<Entered, Failure> {
    die_first().map_err(at(Step::Privileges))?;
    let wrong = Failure::at(Step::Group);
    let received = wire::receive::<Option<Grouped>>(control).map_err(&wrong)?;
    let Some((Some(grouped), doors)) = received else {
        return Ok(Entered::Inside(None));
    };
    match grouped.entrance {
        Entrance::Threads(count) if doors.len() == count => {
            for door in &doors {
                rustix::io::write(door, b"0").map_err(at(Step::Group))?;
            }
        }
        Entrance::Fork if doors.len() == 1 => {
            for door in &doors {
                if let Fork::Parent(inside) = call::fork_into(door).map_err(&wrong)? {
                    return Ok(Entered::Outside(inside));
                }
            }
        }
        _ => return Err(wrong(std::io::ErrorKind::InvalidData.into())),
    }
    Ok(Entered::Inside(Some(grouped)))
}

/// Ends as the process inside does.
fn follow(inside: Pid) -> ExitCode {
    let _ = super::close_outputs();
    let status = loop {
        match waitpid(Some(inside), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            waited => {
                break waited
                    .ok()
                    .flatten()
                    .and_then(|(_, status)| status.exit_status());
            }
        }
    };
    let code = status.and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(UNCERTAIN))
}

fn begin(control: &OwnedFd, grouped: Option<Grouped>) -> Result<Begun, Failure> {
    let received = wire::receive::<Order>(control).map_err(Failure::at(Step::Program))?;
    let Some((order, handles)) = received else {
        return Ok(Begun::Ended(ExitCode::SUCCESS));
    };
    let plan = match order {
        Order::Ground(ground, owners) => {
            let network = Network::received(handles);
            return namespaces(control, &ground, &owners, network, grouped);
        }
        Order::Plan(plan) => plan,
    };
    if let Kind::Lite { folder, .. } = &plan.kind {
        let folder = folder.clone();
        return lite::run(control, *plan, grouped, &folder, &handles).map(Begun::Ended);
    }
    bubble::outside(control, &plan, grouped, &handles)?;
    Ok(Begun::Ended(ExitCode::SUCCESS))
}

/// Makes the namespaces, and begins the first process in them.
fn namespaces(
    control: &OwnedFd,
    ground: &Ground,
    owners: &[Owner],
    network: Option<Network>,
    grouped: Option<Grouped>,
) -> Result<Begun, Failure> {
    let wrong = Failure::at(Step::Namespaces);
    let mut sources = None;
    let enter = |is_root| {
        let made = network::enter(network.as_ref(), is_root)?;
        if ground.proxied {
            let listener = network::proxied()?;
            // It is of this run alone.
            return wire::send(control, &Told::Proxied, &[listener.as_fd()]);
        }
        made.map_or(Ok(()), |made| {
            wire::send(control, &Told::Network, &made.handles())
        })
    };
    if let Some(tenant) = ground.tenant {
        mapped(control, owners, tenant)?;
        let nobody = Mappings::new();
        let stage = Stage {
            machine: "",
            tenant: Some((tenant, &nobody)),
        };
        sources = Some(stage.trees(&ground.sources, 0)?);
        enter(true).map_err(&wrong)?;
        become_tenant(tenant)?;
    } else {
        enter(false).map_err(&wrong)?;
    }
    drop(network);
    let itself = itself();
    let namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    call::unshare(namespaces).map_err(&wrong)?;
    identity(itself).map_err(at(Step::Identity))?;
    match call::fork().map_err(Failure::at(Step::Init))? {
        Fork::Parent(init) => {
            drop(sources);
            // Whoever reads what the program says must see its end.
            let _ = super::close_outputs();
            // Whoever can't be given it waits for this process.
            if let Ok(handle) = pidfd_open(init, PidfdFlags::empty()) {
                let _ = wire::send(control, &Told::First, &[handle.as_fd()]);
            }
            Ok(Begun::Init(init))
        }
        Fork::Child => init::run(control, ground, sources, grouped),
    }
}

/// Says in which namespaces these owners are the tenant. Those for whom there can be none are left out.
fn mapped(control: &OwnedFd, owners: &[Owner], tenant: Owner) -> Result<(), Failure> {
    if owners.is_empty() {
        return Ok(());
    }
    let made = owners.iter().filter_map(|owner| {
        let namespace = stage::mapping(*owner, tenant).ok()?;
        Some((*owner, namespace))
    });
    let (owners, namespaces): (Vec<Owner>, Vec<OwnedFd>) = made.unzip();
    let handles: Vec<BorrowedFd<'_>> = namespaces.iter().map(AsFd::as_fd).collect();
    wire::send(control, &Told::Mapped(owners), &handles).map_err(Failure::at(Step::Tenant))
}

/// What the program reads; nothing where there is nothing.
pub(super) fn take_input(input: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
    let nothing = match input {
        Some(_) => None,
        None => Some(fs::open(
            c"/dev/null",
            fs::OFlags::RDONLY | fs::OFlags::CLOEXEC,
            fs::Mode::empty(),
        )?),
    };
    let nothing = nothing.as_ref().map(AsFd::as_fd);
    input.or(nothing).map_or(Ok(()), dup2_stdin)
}

/// When the machine has no memory left, this is what it takes it from, and not the server.
pub(super) fn die_first() -> rustix::io::Result<()> {
    die(b"1000")
}

/// Says how soon memory is taken from this process.
pub(super) fn die(how: &[u8]) -> rustix::io::Result<()> {
    let file = fs::open(
        c"/proc/self/oom_score_adj",
        fs::OFlags::WRONLY | fs::OFlags::CLOEXEC,
        fs::Mode::empty(),
    )?;
    rustix::io::write(file, how).map(drop)
}

/// Has a pipe be somebody's, so that they can open it anew by its name, as scripts do: `/dev/stderr`. What
/// is no pipe, and so perhaps somebody else's, stays whose it is.
pub(super) fn hand_over(handle: BorrowedFd<'_>, to: Owner) -> Result<(), Failure> {
    let kind = fs::fstat(handle).map(|found| fs::FileType::from_raw_mode(found.st_mode));
    if kind == Ok(fs::FileType::Fifo) {
        let (user, group) = (fs::Uid::from_raw(to.user), fs::Gid::from_raw(to.group));
        fs::fchown(handle, Some(user), Some(group)).map_err(at(Step::Tenant))?;
    }
    Ok(())
}

/// Is somebody from now on who has nothing on this machine.
pub(super) fn become_tenant(tenant: Owner) -> Result<(), Failure> {
    let (user, group) = (
        thread::Uid::from_raw(tenant.user),
        thread::Gid::from_raw(tenant.group),
    );
    for handle in [stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
        hand_over(handle, tenant)?;
    }
    let done = set_thread_groups(&[])
        .and_then(|()| set_thread_res_gid(group, group, group))
        .and_then(|()| set_thread_res_uid(user, user, user))
        // Else `/proc/self` would be another's.
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::Dumpable));
    done.map_err(at(Step::Tenant))
}

/// Who this is where it is.
pub(super) fn itself() -> Owner {
    Owner {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    }
}

/// Says who this is in the namespace: one user and one group, and no others.
pub(super) fn identity(outside: Owner) -> rustix::io::Result<()> {
    let write = |path, text: String| {
        let file = fs::open(
            path,
            fs::OFlags::WRONLY | fs::OFlags::CLOEXEC,
            fs::Mode::empty(),
        )?;
        rustix::io::write(file, text.as_bytes()).map(drop)
    };
    write(c"/proc/self/setgroups", "deny".to_owned())?;
    write(c"/proc/self/uid_map", format!("{USER} {} 1", outside.user))?;
    write(c"/proc/self/gid_map", format!("{USER} {} 1", outside.group))
}

/// Waits for the end of the run, and ends it when nobody waits for it any more.
fn wait(control: &OwnedFd, init: Pid) -> ExitCode {
    // The program reads this, not who watches over it.
    if let Ok(handle) = pidfd_open(init, PidfdFlags::empty()) {
        let mut watched = [
            PollFd::new(control, PollFlags::empty()),
            PollFd::new(&handle, PollFlags::IN),
        ];
        while poll(&mut watched, None).is_err() {}
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
    let _ = waitpid(Some(init), WaitOptions::empty());
    ExitCode::SUCCESS
}
