//! The clients that are here: whether they have gongfu, and whether their entry works.

use super::Check;
use crate::client::{CLIENTS, Scope, Status};
use crate::environment::Environment;

/// Checks the clients of the person, and those of the project where they have gongfu.
pub(super) fn checks(environment: &Environment) -> Vec<Check> {
    let status = |scope| {
        CLIENTS
            .iter()
            .map(move |client| client.status(scope, environment))
    };
    let user: Vec<Status> = status(Scope::User).collect();
    let project = status(Scope::Project).filter(|one| one.entered || one.problem.is_some());
    let broken = user.iter().cloned().chain(project);
    let mut checks: Vec<Check> = broken.filter_map(|status| broken_check(&status)).collect();
    let found: Vec<&Status> = user.iter().filter(|one| one.location.found).collect();
    let is_configured = |one: &&&Status| one.transport.is_some() && !one.switched_off;
    let configured: Vec<&&Status> = found.iter().filter(is_configured).collect();
    let titles = |statuses: &[&Status]| {
        let titles = statuses.iter().map(|status| status.location.title);
        titles.collect::<Vec<_>>().join(", ")
    };
    let details: Vec<String> = found.iter().map(|status| detail(status)).collect();
    let check = if found.is_empty() {
        Check::warn(
            "clients",
            "no supported client found",
            "add the output of `gongfu client print NAME` to your client's configuration",
        )
    } else if configured.is_empty() {
        let ids = found.iter().filter(|status| status.problem.is_none());
        let ids: Vec<&str> = ids.map(|status| status.location.name).collect();
        let number = crate::table::count(found.len(), "client");
        Check::warn(
            "clients",
            format!("{number} found, none configured: {}", titles(&found)),
            if ids.is_empty() {
                String::new()
            } else {
                format!("gongfu client install {}", ids.join(" "))
            },
        )
    } else {
        let configured: Vec<&Status> = configured.into_iter().copied().collect();
        let number = format!("{} of {} found", configured.len(), found.len());
        Check::ok(
            "clients",
            format!("configured: {} ({number})", titles(&configured)),
        )
    };
    checks.insert(0, check.with_details(details));
    checks
}

/// A client that can't start gongfu, or whose file can't be read.
fn broken_check(status: &Status) -> Option<Check> {
    let location = &status.location;
    let title = location.title;
    if let Some(problem) = &status.problem {
        let message = format!("{title}: {}", problem.message);
        let fix = "fix that file: gongfu can't read it, and the client may not be able to either";
        return Some(Check::warn("client", message, fix));
    }
    let transport = status.transport.as_ref()?;
    if status.command_exists == Some(false) {
        let scope = if location.is_of_project() {
            " --scope project"
        } else {
            ""
        };
        let message = format!("{title}: program not found: {transport}");
        let fix = format!("gongfu client install {}{scope}", location.name);
        return Some(Check::fail("client", message, fix));
    }
    if status.switched_off {
        let file = location.file.as_ref();
        let file = file.map_or_else(String::new, |file| format!(" in {}", file.display()));
        let message = format!("{title}: the entry is disabled{file}");
        return Some(Check::warn(
            "client",
            message,
            format!("enable it in {title}"),
        ));
    }
    None
}

fn detail(status: &Status) -> String {
    let title = status.location.title;
    match (&status.transport, &status.location.file) {
        (Some(transport), _) => format!("{title}: {transport}"),
        (None, Some(file)) => format!("{title}: not configured in {}", file.display()),
        (None, None) => format!("{title}: not configured"),
    }
}
