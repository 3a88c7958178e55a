//! The last steps before the program: everything that it doesn't need is given up, for good.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, RestrictionStatus, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, chdir, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use super::{Failure, at, call, priority, session};
use crate::plan::{Ceilings, Grouped, Kind, Plan, Step};
use crate::seccomp;

/// How many more the system lets a user have where a group counts them: it is the one that refuses, and
/// tells that it did.
const BEHIND: u64 = 8;
/// The devices that a program may write to.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What a program may read of itself where there are other processes to be seen.
const ITSELF: [&str; 10] = [
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

/// Becomes the program; answers only when that fails.
///
/// `filters` are those of every kind of sandbox, where they were made already.
pub(super) fn begin<T>(
    plan: &Plan,
    grouped: Option<Grouped>,
    filters: Option<seccomp::Filters>,
) -> Result<T, Failure> {
    session::begin_group().map_err(at(Step::Init))?;
    priority::lower(priority::NICE).map_err(Failure::at(Step::Init))?;
    let is_counted = grouped.is_some_and(|grouped| grouped.processes);
    ceilings(&plan.ceilings, is_counted).map_err(at(Step::Ceilings))?;
    call::keep_no_handle().map_err(Failure::at(Step::Privileges))?;
    privileges().map_err(at(Step::Privileges))?;
    let without = Failure {
        step: Step::Landlock,
        number: libc::EPERM,
    };
    match landlock(plan) {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => {}
        _ => return Err(without),
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
    let refused = |number| Failure {
        step: Step::Seccomp,
        number,
    };
    let mut filters = Vec::from(
        filters
            .or_else(|| seccomp::filters(false))
            .ok_or(refused(libc::ENOSYS))?,
    );
    let is_among = match plan.kind {
        Kind::Lite { .. } => Some(plan.tenant.is_none()),
        // The first process of the container, which is there for the next run as well, is the same user.
        Kind::Docker { .. } => Some(false),
        Kind::Namespaces { .. } | Kind::Bubblewrap { .. } => None,
    };
    if let Some(is_same) = is_among {
        let more = seccomp::among::filters(is_same);
        filters.extend(more.ok_or(refused(libc::ENOSYS))?);
    }
    for filter in filters {
        seccompiler::apply_filter(&filter).map_err(|_| refused(libc::EPERM))?;
    }
    Err(Failure::at(Step::Program)(command.exec()))
}

fn ceilings(ceilings: &Ceilings, is_counted: bool) -> rustix::io::Result<()> {
    let most = |most: u64| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // By one byte the system gives a dump to nobody; by none it would still give it to a program.
    setrlimit(Resource::Core, most(1))?;
    setrlimit(Resource::Rtprio, most(0))?;
    // What counts is what is used; this alone keeps one process from asking for all there is.
    setrlimit(Resource::Data, most(ceilings.memory.saturating_mul(2)))?;
    let behind = if is_counted { BEHIND } else { 0 };
    let processes = ceilings.processes + ceilings.watching + behind;
    // Whoever began this may have less than would be counted of others.
    let held = getrlimit(Resource::Nproc).maximum.unwrap_or(u64::MAX);
    setrlimit(Resource::Nproc, most(processes.min(held)))?;
    // It is told first, by a signal that says why, and killed a second later.
    let seconds = ceilings.cpu.as_secs().max(1);
    let time = Rlimit {
        current: Some(seconds),
        maximum: Some(seconds + 1),
    };
    setrlimit(Resource::Cpu, time)?;
    setrlimit(Resource::Fsize, most(ceilings.file))?;
    setrlimit(Resource::Nofile, most(ceilings.open_files))?;
    setrlimit(Resource::Memlock, most(64 * 1024))?;
    setrlimit(Resource::Msgqueue, most(0))?;
    setrlimit(Resource::Sigpending, most(1024))
}

/// Gives up every capability, and every way to have one again.
fn privileges() -> rustix::io::Result<()> {
    if capabilities(None)?.permitted.is_empty() {
        // Whoever has none can't give up any either, and after this none comes by a program.
        return set_no_new_privs(true);
    }
    bound()?;
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

/// Gives up every capability that a program could come by.
pub(super) fn bound() -> rustix::io::Result<()> {
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            // There are no more.
            Err(rustix::io::Errno::INVAL) => break,
            done => done?,
        }
    }
    Ok(())
}

/// Says once more what may be written: should a mount be other than it was meant to be.
fn landlock(plan: &Plan) -> Result<RestrictionStatus, landlock::RulesetError> {
    let abi = ABI::V6;
    let everything = AccessFs::from_all(abi);
    let writable = plan.writable.iter().map(PathBuf::as_path);
    let writable = writable
        .chain(DEVICES.map(Path::new))
        .filter(|path| path.exists());
    let mut rules = Ruleset::default();
    let readable = match &plan.kind {
        Kind::Namespaces { .. } | Kind::Bubblewrap { .. } | Kind::Docker { .. } => {
            vec![PathBuf::from("/")]
        }
        Kind::Lite { readable, .. } => {
            // Nothing else holds there: a system that can't do this can't do it at all.
            rules = rules
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(ABI::V3))?;
            if plan.tenant.is_none() {
                rules = rules.scope(Scope::from_all(abi))?;
            }
            let itself = ITSELF.map(|name| PathBuf::from(format!("/proc/self/{name}")));
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
