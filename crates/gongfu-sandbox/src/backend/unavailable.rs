//! Explains to people why a sandbox is unavailable, and what to do about it.

use std::io;

use gongfu_core::sandbox::Level;

use crate::plan::{Isolation, Piece, Plan, Step};

/// Explains a step that failed.
pub(super) fn step_failed(step: Step, plan: &Plan, error: &io::Error) -> String {
    let path = |number: usize| {
        let source = plan.sources.get(number);
        source.map_or_else(String::new, |source| source.path.display().to_string())
    };
    let what = match step {
        Step::Namespaces => "can't create namespaces; allow user namespaces (sysctl \
                             user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                             kernel.apparmor_restrict_unprivileged_userns), and in a container allow them in its runtime too"
            .to_owned(),
        Step::Launcher => "can't start bubblewrap".to_owned(),
        Step::Source(number) => format!("can't bring `{}` into it", path(number)),
        Step::View(number) => match plan.view.get(number) {
            Some(Piece::Bind { at, source, .. }) => {
                format!("can't show `{}` as `{at}`", path(*source))
            }
            Some(Piece::Layer { at, .. }) => format!(
                "`{at}` isn't writable; that takes Linux 5.11 and files owned by gongfu's user"
            ),
            Some(Piece::Processes(_)) => {
                "can't mount its /proc; in a container, allow `/proc` to be mounted"
                    .to_owned()
            }
            _ => "can't build its file system".to_owned(),
        },
        Step::Landlock if matches!(plan.isolation, Isolation::Host { .. }) => {
            "this kernel can't restrict file access; it takes Linux 6.12 with Landlock, or 6.2 where gongfu is root and can switch users"
                .to_owned()
        }
        Step::Landlock | Step::Seccomp => {
            "this kernel can't filter system calls; it takes Linux 5.13 with seccomp"
                .to_owned()
        }
        Step::Seatbelt => {
            "macOS doesn't isolate its processes from others; update macOS".to_owned()
        }
        Step::Privileges => "can't drop privileges; it takes Linux 5.12".to_owned(),
        Step::Group => "can't put it into a control group".to_owned(),
        Step::Tenant | Step::Identity => "can't run it as another user".to_owned(),
        Step::Root | Step::Init | Step::Limits | Step::Folder | Step::Program => {
            "can't start it".to_owned()
        }
    };
    format!("{what} ({step:?}: {error})")
}

/// A level of another system. Settings may name it, and the error says where it exists.
struct Foreign {
    level: Level,
    about: &'static str,
    why: &'static str,
}

#[cfg(target_os = "linux")]
const FOREIGN: &[Foreign] = &[Foreign {
    level: Level::new("seatbelt"),
    about: "seatbelt: sandbox-exec of macOS; for one person alone",
    why: "sandbox-exec is part of macOS",
}];
#[cfg(target_os = "macos")]
const FOREIGN: &[Foreign] = &[
    Foreign {
        level: Level::new("namespaces"),
        about: "namespaces, Landlock and seccomp",
        why: "a namespace is part of Linux",
    },
    Foreign {
        level: Level::new("bubblewrap"),
        about: "bubblewrap: namespaces by bwrap, Landlock and seccomp",
        why: "a namespace is part of Linux",
    },
    Foreign {
        level: Level::new("lite"),
        about: "lite: Landlock and seccomp, without namespaces; for one person alone",
        why: "Landlock is part of Linux",
    },
];

/// The levels of other systems, each with a description.
pub(crate) fn foreign() -> impl Iterator<Item = (Level, &'static str)> {
    FOREIGN.iter().map(|one| (one.level, one.about))
}

/// Explains that this system doesn't have the level that settings name, and lists those that it has.
pub(crate) fn not_of_this_system(wanted: Level, here: impl Iterator<Item = Level>) -> String {
    let why = FOREIGN.iter().find(|one| one.level == wanted);
    let why = why.map_or("this build doesn't have it", |one| one.why);
    let here: Vec<&str> = here.map(Level::as_str).collect();
    format!(
        "{why}; remove `level` from `[sandbox]` in the settings, or use one that works here: {}",
        here.join(", ")
    )
}
