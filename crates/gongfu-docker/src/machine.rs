//! Who this server is on the machine, as a container's label says it, and whether such a server is dead.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// This process, so that no other one is ever taken for it: the start of the machine, the world of
/// processes that it is of, its number there and when it began.
pub(super) fn server() -> Option<String> {
    let number = std::process::id();
    Some(format!("{}/{number}/{}", world()?, began(number)?))
}

/// Whether a server is dead for certain; one of another world of processes may live.
pub(super) fn is_dead(server: &str) -> bool {
    let mut parts = server.split('/');
    let (Some(start), Some(world), Some(number), Some(began)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let Some(here) = self::world() else {
        return false;
    };
    let Some((start_here, world_here)) = here.split_once('/') else {
        return false;
    };
    if start != start_here {
        return true;
    }
    let number = number.parse().ok();
    world == world_here
        && number.is_some_and(|number| self::began(number).as_deref() != Some(began))
}

/// The start of the machine and the world of processes.
fn world() -> Option<String> {
    let start = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let world = fs::metadata("/proc/self/ns/pid").ok()?.ino();
    Some(format!("{}/{world}", start.trim()))
}

/// When a process began.
fn began(number: u32) -> Option<String> {
    let told = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    let (_, after) = told.rsplit_once(')')?;
    after.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{is_dead, server};

    #[test]
    fn a_server_is_dead_when_nobody_has_its_number_and_its_beginning() {
        let living = server().unwrap();
        assert!(!is_dead(&living));
        let parts: Vec<&str> = living.split('/').collect();
        let [start, world, number, began] = parts[..] else {
            panic!("{living}");
        };
        assert!(is_dead(&format!("{start}/{world}/{number}/{began}0")));
        assert!(is_dead(&format!("{start}/{world}/999999999/{began}")));
        assert!(is_dead(&format!("another/{world}/{number}/{began}")));
        // Nobody here can know.
        assert!(!is_dead(&format!("{start}/1/{number}/{began}0")));
        assert!(!is_dead("") && !is_dead("1/2/3"));
    }
}
