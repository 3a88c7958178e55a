//! The last steps before the program: gives up every right that it doesn't need, for good.

use std::convert::Infallible;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, chdir, getrlimit, setpgid, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use super::step::{Failure, at};
use super::{priority, syscall};
use crate::plan::{Grouping, Isolation, Plan, Step};
use crate::seccomp;
use crate::system::TERMINALS;

/// Processes above the limit of a control group. The group refuses them, and counts that it did; the system's limit
/// counts other runs of the same user as well, also those that start later.
const GROUP_PROCESS_MARGIN: u64 = 4_096;
/// The devices that a program may write to.
const WRITABLE_DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The files in `/proc/self` that a program may read where other processes are visible.
const OWN_PROC_FILES: [&str; 10] = [
    "auxv",
    "cmdline",
    "comm",
    "fd",
    "limits",
    "maps",
    "oom_score_adj",
    "stat",
    "statm",
    "status",
];

/// Becomes the program; returns only when that fails.
pub(super) fn execute(plan: &Plan, grouping: Option<Grouping>) -> Result<Infallible, Failure> {
    // It has no terminal: its session is the fork server's, or bubblewrap's.
    setpgid(None, None).map_err(at(Step::Init))?;
    priority::lower(priority::NICE).map_err(Failure::at(Step::Init))?;
    let is_grouped = grouping.is_some_and(|grouping| grouping.processes);
    set_limits(plan, is_grouped).map_err(at(Step::Limits))?;
    syscall::close_handles_on_exec().map_err(Failure::at(Step::Privileges))?;
    drop_privileges().map_err(at(Step::Privileges))?;
    match restrict_files(plan) {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => {}
        _ => {
            return Err(Failure {
                step: Step::Landlock,
                number: libc::EPERM,
            });
        }
    }
    chdir(&*plan.folder).map_err(at(Step::Folder))?;
    let mut arguments = plan.arguments.iter();
    let program = arguments.next().map(String::as_str).unwrap_or_default();
    let mut command = Command::new(program);
    let environment = plan.environment.iter();
    command
        .args(arguments)
        .env_clear()
        .envs(environment.map(|(name, value)| (name, value)));
    restrict_calls(plan)?;
    Err(Failure::at(Step::Program)(command.exec()))
}

/// Restricts the system calls of this process.
fn restrict_calls(plan: &Plan) -> Result<(), Failure> {
    let refused = |number| Failure {
        step: Step::Seccomp,
        number,
    };
    let filters = seccomp::filters(plan.is_proxied).ok_or(refused(libc::ENOSYS))?;
    let mut filters = filters.to_vec();
    let owns_host_files = match plan.isolation {
        Isolation::Full => None,
        Isolation::SharedInit => Some(false),
        Isolation::Host { .. } => Some(plan.tenant.is_none()),
    };
    if let Some(owns_host_files) = owns_host_files {
        let more = seccomp::shared_rules::filters(owns_host_files);
        filters.extend(more.ok_or(refused(libc::ENOSYS))?);
    }
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(|_| refused(libc::EPERM))?;
    }
    Ok(())
}

/// Sets the limits that the kernel enforces for each process or user.
fn set_limits(plan: &Plan, is_grouped: bool) -> rustix::io::Result<()> {
    let limits = &plan.limits;
    let both = |limit: u64| Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    // With one byte there is no dump; with zero the kernel would still pipe it to a program.
    setrlimit(Resource::Core, both(1))?;
    setrlimit(Resource::Rtprio, both(0))?;
    // Memory that is used counts elsewhere; this keeps one process from asking for all there is.
    setrlimit(Resource::Data, both(limits.memory.saturating_mul(2)))?;
    let margin = if is_grouped { GROUP_PROCESS_MARGIN } else { 0 };
    let processes = u64::from(limits.processes) + plan.other_processes + margin;
    // The server may be allowed fewer.
    let allowed = getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nproc, both(processes.min(allowed)))?;
    // A signal says why, and a second later the kernel kills.
    let seconds = limits.cpu.as_secs().max(1);
    let time = Rlimit {
        current: Some(seconds),
        maximum: Some(seconds + 1),
    };
    setrlimit(Resource::Cpu, time)?;
    setrlimit(Resource::Fsize, both(limits.file))?;
    setrlimit(Resource::Nofile, both(limits.open_files))?;
    setrlimit(Resource::Memlock, both(64 * 1024))?;
    setrlimit(Resource::Msgqueue, both(0))?;
    setrlimit(Resource::Sigpending, both(1024))
}

/// Gives up every capability, and every way to get one again.
fn drop_privileges() -> rustix::io::Result<()> {
    if capabilities(None)?.permitted.is_empty() {
        // A process without any can't drop the others either; after this no program gives it one.
        return set_no_new_privs(true);
    }
    drop_bounding_set()?;
    clear_ambient_capability_set()?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits)?;
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    set_no_new_privs(true)
}

/// Gives up every capability that a program could bring.
pub(super) fn drop_bounding_set() -> rustix::io::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            // It was the last one.
            Err(rustix::io::Errno::INVAL) => break,
            done => done?,
        }
    }
    Ok(())
}

/// Restricts file access with Landlock: a second barrier behind the mounts of a view, or the only one on the host.
fn restrict_files(plan: &Plan) -> Result<RestrictionStatus, landlock::RulesetError> {
    let abi = ABI::V6;
    let everything = AccessFs::from_all(abi);
    let writable = plan.writable.iter().map(PathBuf::as_path);
    let writable = writable
        .chain(WRITABLE_DEVICES.map(Path::new))
        // Elsewhere the terminals would be the machine's.
        .chain((plan.isolation == Isolation::Full).then_some(Path::new(TERMINALS)))
        .filter(|path| path.exists());
    let mut rules = Ruleset::default();
    let readable = match &plan.isolation {
        Isolation::Full | Isolation::SharedInit => vec![PathBuf::from("/")],
        Isolation::Host { readable } => {
            // There is no other barrier, so the kernel must enforce all of it.
            rules = rules
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(ABI::V3))?;
            if plan.tenant.is_none() {
                rules = rules.scope(Scope::from_all(abi))?;
            }
            let itself = OWN_PROC_FILES.map(|name| PathBuf::from(format!("/proc/self/{name}")));
            readable.iter().cloned().chain(itself).collect()
        }
    };
    let readable = readable.iter().filter(|path| path.exists());
    rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .scope(Scope::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(abi)))?
        .add_rules(path_beneath_rules(writable, everything))?
        .restrict_self()
}
