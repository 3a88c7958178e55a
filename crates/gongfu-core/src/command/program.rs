//! Programs by their names: which are refused, which are looked into, which need approval.

use super::field::Field;
use super::judge::Judge;
use super::state::State;
use super::{Policy, Reason, builtin, place, wrapper};

/// Programs that give more rights.
const PRIVILEGE: [&str; 17] = [
    "capsh", "chroot", "doas", "gosu", "kdesudo", "newgrp", "nsenter", "pkexec", "run0", "runuser",
    "setpriv", "sg", "su", "su-exec", "sudo", "sudoedit", "unshare",
];
/// Programs that change the system.
const SYSTEM: [&str; 45] = [
    "adduser",
    "addgroup",
    "blkdiscard",
    "chpasswd",
    "crontab",
    "cryptsetup",
    "deluser",
    "depmod",
    "dmsetup",
    "fdisk",
    "fsck",
    "groupadd",
    "halt",
    "init",
    "insmod",
    "ip6tables",
    "iptables",
    "kexec",
    "losetup",
    "mkswap",
    "modprobe",
    "mount",
    "nft",
    "parted",
    "passwd",
    "pivot_root",
    "poweroff",
    "reboot",
    "rmmod",
    "sfdisk",
    "shutdown",
    "swapoff",
    "swapon",
    "sysctl",
    "systemctl",
    "telinit",
    "umount",
    "useradd",
    "userdel",
    "usermod",
    "vipw",
    "visudo",
    "wipefs",
    "update-grub",
    "grub-install",
];
/// What programs begin with that make file systems.
const MAKES_FILE_SYSTEMS: &str = "mkfs";

/// Whether no program of this name is run.
pub(super) fn is_refused(name: &str) -> bool {
    PRIVILEGE.contains(&name) || SYSTEM.contains(&name) || name.starts_with(MAKES_FILE_SYSTEMS)
}

/// What a word runs.
enum Runs {
    /// A program, a builtin or a function of this name.
    Named(String),
    /// A file of its own, which is run as it is.
    File,
    /// What isn't known.
    Unknown,
}

impl Judge<'_> {
    /// Judges a command after it is expanded.
    pub(super) fn program(&mut self, fields: &[Field], state: &mut State) -> Result<(), Reason> {
        self.step()?;
        self.charge(fields.iter().map(Field::size).sum())?;
        self.deeper(|judge| judge.named(fields, state))
    }

    fn named(&mut self, fields: &[Field], state: &mut State) -> Result<(), Reason> {
        let Some(first) = fields.first() else {
            return Ok(());
        };
        let name = match runs(first, self.policy, state) {
            // There is no such program.
            Runs::Named(name) if name.is_empty() => return Ok(()),
            Runs::Named(name) => name,
            Runs::File => return Ok(()),
            Runs::Unknown => {
                self.ask(Reason::Dynamic(first.shown()));
                return Ok(());
            }
        };
        let is_path = first.head.contains('/');
        if let Some(alias) = state.alias(&name).filter(|_| !is_path) {
            self.alias(&name, &alias, fields, state)?;
        }
        if let Some(function) = state.function(&name).filter(|_| !is_path) {
            return self.call(&name, &function, fields, state);
        }
        if PRIVILEGE.contains(&name.as_str()) {
            return Err(Reason::Privilege(name));
        }
        if SYSTEM.contains(&name.as_str()) || name.starts_with(MAKES_FILE_SYSTEMS) {
            return Err(Reason::System(name));
        }
        if !is_path && builtin::is_one(&name) {
            return self.builtin(&name, fields, state);
        }
        if let Some(wraps) = wrapper::of(&name) {
            return self.wrapped(&name, wraps, fields, state);
        }
        self.written(&name, fields, state)?;
        self.hooks(&name, fields.get(1..).unwrap_or_default(), state)?;
        if self
            .policy
            .programs
            .is_some_and(|listed| !listed.contains(&name.as_str()))
        {
            self.ask(Reason::Unlisted(name));
        }
        Ok(())
    }
}

/// What the first word of a command runs.
fn runs(first: &Field, policy: &Policy<'_>, state: &State) -> Runs {
    let is_own = |path: &str| {
        let resolved = match &state.folder {
            _ if path.starts_with('/') => place::resolved("/", path),
            Some(folder) => place::resolved(folder, path),
            None => return !is_refused(place::last_name(path)),
        };
        let places = policy.writable.iter().copied();
        place::is_below(&resolved, places.chain(["/tmp"]))
    };
    match (first.text(), &first.tail) {
        (Some(path), _) if path.contains('/') && is_own(path) => Runs::File,
        (Some(path), _) => Runs::Named(place::last_name(path).to_owned()),
        // The last name is known, whatever the folder is.
        (None, Some(tail)) if tail.contains('/') && !first.is_pattern => {
            Runs::Named(place::last_name(tail).to_owned())
        }
        _ => match first.head.rsplit_once('/') {
            Some((folder, _)) if !folder.is_empty() && is_own(folder) => Runs::File,
            _ => Runs::Unknown,
        },
    }
}
