//! The supervisor: the outermost process of a run, which makes the sandbox and waits for its end.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::ExitCode;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, waitpid};
use rustix::stdio::stdin;
use rustix::thread::{UnshareFlags, set_name};

use super::id_namespaces::IdNamespaces;
use super::step::{Failure, at};
use super::syscall::{self, Fork};
use super::{UNCERTAIN, direct, identity, init, launcher, mounts, stdio, watch};
use crate::plan::{Event, Grouping, Join, Launch, PROXY_ADDRESS, Plan, Step};
use crate::wire;

/// The name of the processes of a run.
const NAME: &std::ffi::CStr = c"gongfu-run";

/// The state that a supervisor has before it knows its run.
pub(super) struct Preparation {
    pub(super) id_namespaces: IdNamespaces,
    /// The namespaces that it is in already, if any.
    pub(super) namespaces: Option<UnshareFlags>,
}

/// Supervises a run; the control socket is the standard input.
pub(super) fn run(preparation: &Preparation) -> ExitCode {
    let Ok(control) = fcntl_dupfd_cloexec(stdin(), 3) else {
        return ExitCode::from(2);
    };
    let _ = set_name(NAME);
    match supervise(&control, preparation) {
        Ok(exit) => exit,
        Err(Failure { step, number }) => {
            // The server may be gone.
            let _ = wire::send(&control, &Event::Failed(step, number), &[]);
            ExitCode::FAILURE
        }
    }
}

fn supervise(control: &OwnedFd, preparation: &Preparation) -> Result<ExitCode, Failure> {
    identity::prefer_in_oom().map_err(at(Step::Privileges))?;
    let received = wire::receive(control).map_err(Failure::at(Step::Group))?;
    let Some((grouping, handles)) = received else {
        return Ok(ExitCode::SUCCESS);
    };
    // It joins before it knows anything of the run, so that everything is counted.
    if let Some(grouping) = grouping
        && let Some(inside) = join(grouping, &handles).map_err(Failure::at(Step::Group))?
    {
        return Ok(follow(inside));
    }
    drop(handles);
    let received = wire::receive::<Plan>(control).map_err(Failure::at(Step::Program))?;
    let Some((plan, input)) = received else {
        return Ok(ExitCode::SUCCESS);
    };
    match &plan.launch {
        Some(Launch::Namespaces) => {
            let init = namespaces(control, &plan, preparation, &input, grouping)?;
            drop(input);
            Ok(wait(control, init))
        }
        Some(Launch::Launcher { program, options }) => {
            launcher::start(control, &plan, program, options, grouping, &input)
        }
        Some(Launch::Direct { folder }) => {
            let folder = folder.clone();
            direct::run(control, plan, grouping, &folder, &input)
        }
        None => Err(Failure::at(Step::Program)(
            io::ErrorKind::InvalidData.into(),
        )),
    }
}

/// Joins the control group of the run; returns the process inside, where this one has to stay outside.
fn join(grouping: Grouping, handles: &[OwnedFd]) -> io::Result<Option<Pid>> {
    match (grouping.join, handles) {
        (Join::Threads(count), files) if files.len() == count => {
            for file in files {
                rustix::io::write(file, b"0")?;
            }
            Ok(None)
        }
        (Join::Fork, [folder]) => match syscall::fork_into(folder)? {
            Fork::Parent(inside) => Ok(Some(inside)),
            Fork::Child => Ok(None),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Ends as the process inside the control group does.
fn follow(inside: Pid) -> ExitCode {
    let _ = stdio::close();
    let status = loop {
        match waitpid(Some(inside), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            waited => {
                let status = waited.ok().flatten();
                break status.and_then(|(_, status)| status.exit_status());
            }
        }
    };
    let code = status.and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(UNCERTAIN))
}

/// Moves this process into a network of its own, which takes most of the time that namespaces take; answers
/// the namespaces that it is in now. A user who isn't root needs a user namespace for it.
pub(super) fn enter_network() -> Result<UnshareFlags, Failure> {
    let network = UnshareFlags::NEWNET;
    if syscall::unshare(network).is_ok() {
        return Ok(network);
    }
    let outside = identity::current();
    let namespaces = network | UnshareFlags::NEWUSER;
    syscall::unshare(namespaces).map_err(Failure::at(Step::Namespaces))?;
    identity::map_into_namespace(outside).map_err(at(Step::Identity))?;
    Ok(namespaces)
}

/// Makes the namespaces, and starts init in them.
fn namespaces(
    control: &OwnedFd,
    plan: &Plan,
    preparation: &Preparation,
    input: &[OwnedFd],
    grouping: Option<Grouping>,
) -> Result<Pid, Failure> {
    let entered = match preparation.namespaces {
        Some(entered) => entered,
        None => enter_network()?,
    };
    // It has the right to do so until it is the tenant.
    if plan.is_proxied {
        listen(control).map_err(Failure::at(Step::Namespaces))?;
    }
    let detach = |tenant| mounts::detach(&plan.sources, tenant, &preparation.id_namespaces);
    let mut sources = Vec::new();
    if let Some(tenant) = plan.tenant {
        sources = detach(Some(tenant))?;
        identity::become_tenant(tenant)?;
    }
    let outside = identity::current();
    let namespaces = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    syscall::unshare(namespaces - entered).map_err(Failure::at(Step::Namespaces))?;
    if !entered.contains(UnshareFlags::NEWUSER) {
        identity::map_into_namespace(outside).map_err(at(Step::Identity))?;
    }
    if plan.tenant.is_none() {
        sources = detach(None)?;
    }
    match syscall::fork().map_err(Failure::at(Step::Init))? {
        Fork::Parent(init) => {
            let _ = stdio::close();
            // Without this event the server waits for this process.
            if let Ok(handle) = pidfd_open(init, PidfdFlags::empty()) {
                let _ = wire::send(control, &Event::Init, &[handle.as_fd()]);
            }
            Ok(init)
        }
        Fork::Child => {
            let never: Infallible = init::run(control, plan, sources, input, grouping)?;
            match never {}
        }
    }
}

/// Listens where the program expects its proxy, and hands the listener to the server. The run's network has
/// nothing else in it.
fn listen(control: &OwnedFd) -> io::Result<()> {
    syscall::set_up(c"lo")?;
    let listener = TcpListener::bind(PROXY_ADDRESS)?;
    wire::send(control, &Event::Listening, &[listener.as_fd()])
}

/// Waits for the end of init, and kills it when the server has cancelled the run.
fn wait(control: &OwnedFd, init: Pid) -> ExitCode {
    watch::kill_when_cancelled(control, init);
    let _ = waitpid(Some(init), WaitOptions::empty());
    ExitCode::SUCCESS
}
