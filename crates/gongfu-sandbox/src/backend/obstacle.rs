//! What stands in the way of a sandbox, and what to do about it, for people.

use std::io;

use gongfu_core::sandbox::Level;

use crate::plan::{Kind, Piece, Plan, Step};

/// What it means that a container ended before its run did.
pub(super) const OF_AN_ENDED_CONTAINER: &str = "its container was ended from outside in the middle of the run, and nothing that it wrote is kept; \
     see whether the Docker daemon still runs (`docker info`), and what the machine's log says";

/// What it means that a step failed.
pub(super) fn of(step: Step, plan: &Plan, error: &io::Error) -> String {
    let path = |number: usize| {
        let source = plan.sources.get(number);
        source.map_or_else(String::new, |source| source.path.display().to_string())
    };
    let what = match step {
        Step::Namespaces => "namespaces can't be made; allow user namespaces (sysctl \
                             user.max_user_namespaces, kernel.unprivileged_userns_clone, \
                             kernel.apparmor_restrict_unprivileged_userns), and in a container its \
                             runtime's too"
            .to_owned(),
        Step::Bubblewrap => "bubblewrap can't be begun".to_owned(),
        Step::Source(number) => format!("`{}` can't be brought into it", path(number)),
        Step::View(number) => match plan.view.get(number) {
            Some(Piece::Bind { at, source, .. }) => {
                format!("`{}` can't be seen as `{at}`", path(*source))
            }
            Some(Piece::Layer { at, .. }) => format!(
                "nothing can be written to `{at}`; that takes Linux 5.11, and files that belong to \
                 whoever runs gongfu"
            ),
            Some(Piece::Processes(_)) => {
                "its processes can't be shown; in a container, let `/proc` \
                                          be mounted"
                    .to_owned()
            }
            _ => "what it sees can't be built".to_owned(),
        },
        Step::Landlock if matches!(plan.kind, Kind::Lite { .. }) => {
            "the system can't keep a program from what it must not open; it takes Linux 6.12 with \
             Landlock, or 6.2 where gongfu is root and can be other users"
                .to_owned()
        }
        Step::Landlock | Step::Seccomp => {
            "the system can't refuse what a program must not do; it takes Linux 5.13 with seccomp"
                .to_owned()
        }
        Step::Seatbelt => {
            "macOS doesn't keep what it begins from other processes; update macOS".to_owned()
        }
        Step::Privileges => "privileges can't be given up; it takes Linux 5.12".to_owned(),
        Step::Group => "it can't be counted by a control group".to_owned(),
        Step::Tenant | Step::Identity => "it can't be run as somebody else".to_owned(),
        Step::Root | Step::Init | Step::Ceilings | Step::Folder | Step::Program => {
            "it can't be begun".to_owned()
        }
    };
    format!("{what} ({step:?}: {error})")
}

/// What it means that sandbox-exec ended before anything stood.
#[cfg(target_os = "macos")]
pub(super) fn of_seatbelt(said: &str) -> String {
    let said = said.lines().next().unwrap_or("it says nothing");
    let said = said.strip_prefix("sandbox-exec: ").unwrap_or(said);
    format!(
        "sandbox-exec can't begin it ({said}); a sandbox can't be made within another one, so begin \
         gongfu outside of any, and let gongfu's own program be readable by whoever runs it"
    )
}

/// What it means that a level is asked for which this system never has, and which it has instead.
pub(crate) fn of_another_system(wanted: Level) -> String {
    let (what, system) = match wanted {
        Level::Seatbelt => ("sandbox-exec", "macOS"),
        Level::Lite => ("Landlock", "Linux"),
        Level::Docker | Level::Bubblewrap | Level::Namespaces => ("a namespace", "Linux"),
    };
    let instead: Vec<&str> = super::levels().map(Level::as_str).collect();
    format!(
        "{what} is part of {system}; take `level` out of `[sandbox]` in the settings, or name \
         what there is here: {}",
        instead.join(", ")
    )
}

/// What it means that bubblewrap ended before anything stood.
#[cfg(target_os = "linux")]
pub(super) fn of_bubblewrap(said: &str) -> String {
    let said = said.lines().next().unwrap_or("it says nothing");
    let said = said.strip_prefix("bwrap: ").unwrap_or(said);
    format!(
        "bubblewrap can't make it ({said}); let it make user namespaces (sysctl \
         user.max_user_namespaces, an AppArmor profile for bwrap, or the setuid bit), and let \
         gongfu's own program be readable by everybody where gongfu is root"
    )
}
