//! Tips for words that are no command: what other programs call it, a command elsewhere, a misspelling.

use clap::Command;
use gongfu_core::near;

/// Names of commands in other programs, and what they are here.
const SYNONYMS: &[(&str, &str)] = &[
    ("add", "skill new"),
    ("allow", "approve allow"),
    ("approvals", "approve list"),
    ("attack", "doctor --attack"),
    ("configure", "client install"),
    ("connect", "client install"),
    ("create", "skill new"),
    ("delete", "skill disable"),
    ("describe", "skill show"),
    ("diff", "changes show"),
    ("exec", "run"),
    ("execute", "run"),
    ("fix", "skill check --fix"),
    ("grep", "search"),
    ("http", "serve"),
    ("install", "client install"),
    ("lint", "skill check"),
    ("logs", "log"),
    ("new", "skill new"),
    ("off", "skill disable"),
    ("on", "skill enable"),
    ("query", "search"),
    ("remove", "skill disable"),
    ("rm", "skill disable"),
    ("server", "serve"),
    ("settings", "config"),
    ("setup", "init"),
    ("start", "serve"),
    ("stdio", "mcp"),
    ("test", "skill check"),
    ("uninstall", "client uninstall"),
    ("validate", "skill check"),
    ("verify", "skill check"),
    ("view", "skill show"),
];

/// The most tips that are given.
const MAX_TIPS: usize = 3;
/// The least similarity of a misspelling.
const SIMILAR: f64 = 0.8;
/// The difference at which two misspellings are as likely.
const CLOSE: f64 = 0.03;

/// A tip for a word that isn't a command below `path`.
pub(super) fn for_command(word: &str, path: &str, root: &Command) -> Option<String> {
    let folded = near::folded(word);
    let mut all = Vec::new();
    collect(root, "gongfu", &mut all);
    let below = |known: &&CommandName| {
        let above = known.path.rsplit_once(' ');
        above.is_some_and(|(above, _)| above == path)
    };
    let spelled = |known: &CommandName| {
        let names = known.names.iter();
        let similar = names.map(|name| strsim::jaro_winkler(name, &folded));
        similar.fold(0.0, f64::max)
    };
    // A misspelling of what could stand here, the nearest first.
    let mut here: Vec<(f64, &str)> = all
        .iter()
        .filter(below)
        .map(|known| (spelled(known), known.path.as_str()))
        .filter(|(similar, _)| *similar >= SIMILAR)
        .collect();
    here.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let best = here.first().map_or(0.0, |(similar, _)| *similar);
    let here = here.iter().filter(|(similar, _)| best - similar < CLOSE);
    let here: Vec<String> = here.map(|(_, path)| (*path).to_owned()).collect();
    let synonym = SYNONYMS.iter().find(|(from, _)| *from == folded);
    let synonym = synonym.map(|(_, to)| format!("gongfu {to}"));
    let is_known = |to: &String| {
        let mut all = all.iter();
        all.any(|known| *to == known.path || known.is_leaf && to.starts_with(&known.path))
    };
    let synonym: Vec<String> = synonym
        .filter(|to| is_known(to) && (to.starts_with(path) || path == "gongfu"))
        .into_iter()
        .collect();
    let elsewhere = all.iter().filter(|known| known.names.contains(&folded));
    let elsewhere: Vec<String> = elsewhere.map(|known| known.path.clone()).collect();
    let tips = [synonym, here, elsewhere];
    let tips = tips.into_iter().find(|tips| !tips.is_empty());
    let shown: Vec<String> = tips
        .unwrap_or_default()
        .iter()
        .take(MAX_TIPS)
        .map(|tip| format!("`{tip}`"))
        .collect();
    (!shown.is_empty()).then(|| format!("did you mean {}?", shown.join(" or ")))
}

/// A tip for a command that follows what it is for: `gongfu pdf run`.
pub(super) fn for_order(
    word: &str,
    path: &str,
    words: &[String],
    command: &Command,
) -> Option<String> {
    let at = words.iter().position(|one| one == word)?;
    let next = words.get(at + 1)?;
    let next = command.find_subcommand(next)?.get_name();
    Some(format!("the command comes first: `{path} {next} …`"))
}

/// A tip for an argument too many.
pub(super) fn for_argument(argument: &str, command: &Command) -> String {
    if argument.starts_with('-') {
        return String::new();
    }
    let takes = command.get_positionals().count();
    match (command.get_name(), takes) {
        (_, 0) => "this command takes options only".to_owned(),
        (_, 1) => "it takes one argument; quote text with spaces".to_owned(),
        (_, takes) => format!("it takes {takes} arguments; quote text with spaces"),
    }
}

/// The command that shows what a missing argument may be.
pub(super) fn for_missing(argument: &str) -> Option<&'static str> {
    let lists = [
        ("<SKILL>", "`gongfu list` shows the names"),
        ("<TOOL>", "`gongfu tool list` shows the tools"),
        ("<QUERY>", "say what to do in a few words"),
        (
            "<COMMAND>",
            "say what to run, such as `python scripts/x.py`",
        ),
        ("<HOST", "name a host such as api.example.com"),
        ("--fix", "--dry-run shows what --fix would change"),
    ];
    let mut lists = lists.iter();
    let (_, hint) = lists.find(|(name, _)| argument.contains(name))?;
    Some(hint)
}

/// A command that there is.
struct CommandName {
    path: String,
    /// Its name and aliases.
    names: Vec<String>,
    is_leaf: bool,
}

fn collect(command: &Command, path: &str, all: &mut Vec<CommandName>) {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        let aliases = below.get_all_aliases().map(str::to_owned);
        collect(below, &path, all);
        all.push(CommandName {
            path,
            names: std::iter::once(below.get_name().to_owned())
                .chain(aliases)
                .collect(),
            is_leaf: !below.has_subcommands(),
        });
    }
}
