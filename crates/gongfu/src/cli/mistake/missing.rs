//! Hints for a command that lacks an argument, each with a command to run next.

use super::word::{Form, quoted};

/// The hint about a missing argument.
pub(super) fn hint(argument: &str, path: &str, words: &[String]) -> Option<String> {
    let below = path.strip_prefix("gongfu ").unwrap_or_default();
    let given = words.iter().skip(path.split(' ').count() - 1);
    let mut given = given.filter(|word| !word.starts_with('-'));
    let first = given.next().map(String::as_str);
    let of_command = match below {
        "run" => Some(for_run(first)),
        "grant add" | "grant remove" if argument.contains("HOST") => Some(for_grant(below, first)),
        _ => None,
    };
    if of_command.is_some() {
        return of_command;
    }
    let lists = [
        ("approve", "<ID>", "`gongfu approve list` shows the IDs"),
        ("changes", "<ID>", "`gongfu changes list` shows the IDs"),
        (
            "layer",
            "<SKILL>",
            "`gongfu layer list` shows the skills that have such files",
        ),
        (
            "skill new",
            "<NAME>",
            "name the skill: `gongfu skill new pdf-tools`",
        ),
        (
            "source add",
            "<DIR>",
            "name the folder that holds the skills: `gongfu source add ~/skills`",
        ),
        (
            "source remove",
            "<DIR",
            "`gongfu source list` shows the folders and their ids",
        ),
        ("config", "<KEY>", "`gongfu config show` lists the settings"),
        (
            "env build",
            "--inferred",
            "--allow adds to it: `gongfu env build SKILL --inferred --allow PACKAGE`",
        ),
        ("", "<SKILL>", "`gongfu list` shows the names"),
        ("", "<TOOL>", "`gongfu tool list` shows the tools"),
        (
            "",
            "<QUERY>",
            "say what to do in a few words, such as `gongfu search merge pdf files`",
        ),
        ("", "--fix", "--dry-run shows what --fix would change"),
    ];
    let mut lists = lists.iter();
    let (_, _, hint) =
        lists.find(|(at, name, _)| below.starts_with(at) && argument.contains(name))?;
    Some((*hint).to_owned())
}

/// The hint for a grant without a host.
fn for_grant(command: &str, first: Option<&str>) -> String {
    let skill = match first {
        Some(host) if host.contains('.') => {
            let host = quoted(host);
            return format!(
                "the skill comes first: `gongfu {command} SKILL {host}`; `gongfu list` shows the names"
            );
        }
        Some(skill) => quoted(skill),
        None => "pdf-tools".to_owned(),
    };
    let list = match (command, first) {
        ("grant remove", _) => "`gongfu grant list` shows the grants",
        (_, Some(_)) => "`gongfu run` names the hosts that a script asked for",
        (_, None) => "`gongfu list` shows the names",
    };
    format!("such as `gongfu {command} {skill} api.example.com`; {list}")
}

/// The hint for `gongfu run` without a command.
fn for_run(skill: Option<&str>) -> String {
    match skill.map(|skill| (skill, Form::of(Some(skill)))) {
        Some((file, Form::File)) => format!(
            "name the skill before its script, such as `gongfu run SKILL python {}`; `gongfu list` shows the skills",
            quoted(file)
        ),
        Some((skill, Form::Name | Form::Repository)) => {
            let skill = quoted(skill);
            format!(
                "say what to run: `gongfu run {skill} COMMAND`; `gongfu skill show {skill}` lists its scripts"
            )
        }
        _ => {
            "say what to run: `gongfu run SKILL COMMAND`; `gongfu list` shows the skills".to_owned()
        }
    }
}
