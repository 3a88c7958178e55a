//! What the options of other programs are here, and which commands have an option.

use clap::Command;

use super::{table, word::quoted};

/// The most options that a tip lists.
const MAX_LISTED: usize = 8;
/// The most commands that a tip names.
const MAX_NAMED: usize = 3;

/// A tip for an option that the command at `path` doesn't have. `value` is the word after it.
pub(super) fn tip(
    option: &str,
    value: Option<&str>,
    path: &str,
    root: &Command,
    command: &Command,
) -> String {
    let (name, own) = option.split_once('=').unwrap_or((option, ""));
    let value = Some(own).filter(|own| !own.is_empty()).or(value);
    let value = value.map_or_else(|| "VALUE".to_owned(), quoted);
    if let Some(tip) = table::for_option(path, name) {
        return tip.replace("{value}", &value).replace("{option}", name);
    }
    // `-json`
    if let Some(word) = name.strip_prefix('-').filter(|word| word.len() > 1)
        && has(command, word)
    {
        return format!("did you mean `--{word}`?");
    }
    let long = name.trim_start_matches('-');
    let mut holders = Vec::new();
    if long.len() > 1 {
        collect(root, "gongfu", long, &mut holders);
    }
    if command.has_subcommands() && !holders.is_empty() {
        let mut holders = holders.iter().filter(|holder| holder.starts_with(path));
        if let Some(holder) = holders.next() {
            return format!("it belongs to a command, and goes after it: `{holder} --{long}`");
        }
    }
    let mut tip = String::new();
    if !holders.is_empty() {
        holders.truncate(MAX_NAMED);
        let named: Vec<String> = holders.iter().map(|one| format!("`{one}`")).collect();
        tip = format!("it is an option of {}; ", named.join(", "));
    }
    let own: Vec<String> = command
        .get_arguments()
        .filter(|one| !one.is_hide_set() && !one.is_global_set())
        .filter_map(|one| one.get_long())
        .filter(|long| *long != "help")
        .map(|long| format!("--{long}"))
        .collect();
    match own.len() {
        0 => tip + "it has no options of its own",
        1..=MAX_LISTED => format!("{tip}it has {}", own.join(", ")),
        _ => tip.trim_end_matches("; ").to_owned(),
    }
}

fn has(command: &Command, long: &str) -> bool {
    let mut arguments = command.get_arguments();
    arguments.any(|one| one.get_long() == Some(long) && !one.is_hide_set())
}

fn collect(command: &Command, path: &str, long: &str, found: &mut Vec<String>) {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        if !below.has_subcommands() && has(below, long) {
            found.push(path.clone());
        }
        collect(below, &path, long, found);
    }
}
