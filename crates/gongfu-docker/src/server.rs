//! The identity of this server, as a container's label names it, and its program.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The label of this process: the boot of the machine, the PID namespace, the number and the start time. No
/// other process ever has the same.
pub(super) fn label() -> Option<String> {
    let number = std::process::id();
    let (boot, namespace) = (boot()?, namespace()?);
    Some(format!("{boot}/{namespace}/{number}/{}", start(number)?))
}

/// Returns whether the server of a label is dead for certain; one of another PID namespace may live.
pub(super) fn is_dead(label: &str) -> bool {
    let parts: Vec<&str> = label.split('/').collect();
    let [its_boot, its_namespace, number, its_start] = parts[..] else {
        return false;
    };
    let (Some(boot), Some(namespace)) = (boot(), namespace()) else {
        return false;
    };
    if its_boot != boot {
        return true;
    }
    let number = number.parse().ok();
    its_namespace == namespace
        && number.is_some_and(|number| start(number).as_deref() != Some(its_start))
}

fn boot() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}

fn namespace() -> Option<String> {
    let namespace = fs::metadata("/proc/self/ns/pid").ok()?;
    Some(namespace.ino().to_string())
}

/// The start time of a process (`proc_pid_stat(5)`).
fn start(number: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(')')?;
    after.split_whitespace().nth(19).map(str::to_owned)
}

/// The path of this program; of a copy in `folder`, where its file was replaced.
pub(super) fn program(folder: &Path) -> io::Result<PathBuf> {
    let id = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
    let running = Path::new("/proc/self/exe");
    if let Ok(path) = std::env::current_exe()
        && id(&path).ok() == id(running).ok()
    {
        return Ok(path);
    }
    let copy = folder.join("program");
    fs::copy(running, &copy)?;
    fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::{is_dead, label};

    #[test]
    fn server_is_dead_when_no_process_has_its_number_and_start() {
        let living = label().unwrap();
        assert!(!is_dead(&living));
        let parts: Vec<&str> = living.split('/').collect();
        let [boot, namespace, number, start] = parts[..] else {
            panic!("{living}");
        };
        assert!(is_dead(&format!("{boot}/{namespace}/{number}/{start}0")));
        assert!(is_dead(&format!("{boot}/{namespace}/999999999/{start}")));
        assert!(is_dead(&format!("another/{namespace}/{number}/{start}")));
        // A process of another PID namespace isn't visible from here.
        assert!(!is_dead(&format!("{boot}/1/{number}/{start}0")));
        assert!(!is_dead("") && !is_dead("1/2/3"));
    }
}
