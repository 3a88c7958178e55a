//! Programs by their names: refused, looked into, or on the list.

use super::Reason;
use super::field::Field;
use super::judge::Judge;

impl Judge<'_> {
    /// Judges a program with its arguments.
    pub(super) fn program(&mut self, fields: &[Field]) -> Result<(), Reason> {
        self.charge(fields.iter().map(|field| field.len() + 1).sum())?;
        let [first, arguments @ ..] = fields else {
            return Ok(());
        };
        // A file in a writable folder runs as it is.
        if first.head().contains('/') && self.outside(first).is_none() {
            return Ok(());
        }
        match first.file_name() {
            // There is no such program.
            Some("") => {}
            Some(name) => return self.deeper(|judge| judge.named(name, arguments)),
            None => self.ask(Reason::Dynamic(first.shown())),
        }
        Ok(())
    }

    fn named(&mut self, name: &str, arguments: &[Field]) -> Result<(), Reason> {
        match name {
            "capsh" | "chroot" | "doas" | "gosu" | "kdesudo" | "newgrp" | "nsenter" | "pkexec"
            | "run0" | "runuser" | "setpriv" | "sg" | "su" | "su-exec" | "sudo" | "sudoedit"
            | "unshare" => return Err(Reason::Privilege(name.to_owned())),
            "adduser" | "crontab" | "fdisk" | "groupadd" | "halt" | "insmod" | "iptables"
            | "kexec" | "losetup" | "mkfs" | "mkswap" | "modprobe" | "mount" | "nft" | "parted"
            | "passwd" | "poweroff" | "reboot" | "rmmod" | "shutdown" | "swapoff" | "swapon"
            | "sysctl" | "systemctl" | "umount" | "useradd" | "userdel" | "usermod" | "visudo"
            | "wipefs" => return Err(Reason::System(name.to_owned())),
            _ if name.starts_with("mkfs.") => return Err(Reason::System(name.to_owned())),
            "cd" | "pushd" | "popd" => self.folder = None,
            "unset" => self.functions.clear(),
            // Other builtins, but for those that change what names mean.
            ":" | "[" | "bg" | "break" | "caller" | "continue" | "declare" | "dirs" | "disown"
            | "echo" | "exit" | "export" | "false" | "fg" | "getopts" | "help" | "jobs"
            | "kill" | "let" | "local" | "logout" | "mapfile" | "printf" | "pwd" | "read"
            | "readarray" | "readonly" | "return" | "set" | "shift" | "shopt" | "suspend"
            | "test" | "times" | "true" | "type" | "typeset" | "ulimit" | "umask" | "wait" => {}
            _ if self.wrapped(name, arguments)? => {}
            _ => {
                self.written(name, arguments)?;
                let is_listed = |programs: &[&str]| programs.contains(&name);
                if !self.policy.programs.is_some_and(is_listed) {
                    self.ask(Reason::Unlisted(name.to_owned()));
                }
            }
        }
        Ok(())
    }
}
