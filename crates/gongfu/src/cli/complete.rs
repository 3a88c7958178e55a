//! Completion: what the last word of a command line can be, and the scripts that ask for it.

use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;
use gongfu_hub::Profile;

use super::Cli;

/// A word that can stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) word: String,
    pub(crate) about: String,
}

/// The kind of the last word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// One of these words, after a prefix that stays (`--option=`).
    Words(Vec<Candidate>),
    Skill,
    Source,
    Tool,
    /// A file, which the shell itself completes.
    File,
}

/// Finds what the last of the words can be. Also returns the part of it that stays.
pub(crate) fn wanted(words: &[String]) -> (String, WordKind) {
    let mut root = Cli::command();
    root.build();
    let mut command = &root;
    let (mut positionals, mut option, mut is_plain) = (0, None, false);
    let Some((last, before)) = words.split_last() else {
        return (String::new(), WordKind::Words(commands(command)));
    };
    for word in before {
        if option.take().is_some() {
            continue;
        }
        if word == "--" {
            is_plain = true;
        } else if !is_plain && word.starts_with('-') {
            option = option_of(command, word).filter(|_| !word.contains('='));
        } else if let Some(below) = command.find_subcommand(word).filter(|_| !is_plain) {
            (command, positionals) = (below, 0);
        } else {
            positionals += 1;
        }
    }
    if let Some(option) = option {
        return (String::new(), values(option));
    }
    if !is_plain && last.starts_with('-') {
        return match last.split_once('=') {
            Some((name, _)) => {
                let wanted = option_of(command, name).map_or(WordKind::File, values);
                (format!("{name}="), wanted)
            }
            None => (String::new(), WordKind::Words(options(command))),
        };
    }
    // Some take only what follows `--`.
    let arguments = command.get_positionals();
    let arguments: Vec<&Arg> = arguments
        .filter(|argument| is_plain || !argument.is_last_set())
        .collect();
    let repeated = arguments.last().filter(|argument| {
        let number = argument.get_num_args();
        number.is_some_and(|number| number.max_values() > 1)
    });
    let wanted = match arguments.get(positionals).or(repeated) {
        _ if command.has_subcommands() => WordKind::Words(commands(command)),
        Some(argument) => values(argument),
        None => WordKind::Words(Vec::new()),
    };
    (String::new(), wanted)
}

fn commands(command: &Command) -> Vec<Candidate> {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    let shown = shown.map(|one| candidate(one.get_name(), one.get_about()));
    shown.collect()
}

fn options(command: &Command) -> Vec<Candidate> {
    let options = command
        .get_arguments()
        .filter(|option| !option.is_hide_set());
    let options = options.filter_map(|option| {
        Some(candidate(
            &format!("--{}", option.get_long()?),
            option.get_help(),
        ))
    });
    options.collect()
}

/// The option of a word, where it takes a value.
fn option_of<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let mut options = command.get_opts();
    let long = word.strip_prefix("--")?;
    let name = long.split('=').next();
    options.find(|option| option.get_long() == name)
}

fn values(argument: &Arg) -> WordKind {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let words = possible.iter().filter(|value| !value.is_hide_set());
        let words = words.map(|value| candidate(value.get_name(), value.get_help()));
        return WordKind::Words(words.collect());
    }
    let names = argument.get_value_names().unwrap_or_default();
    match names.first().map(clap::builder::Str::as_str) {
        Some("SKILL") => WordKind::Skill,
        Some("SOURCE") => WordKind::Source,
        Some("TOOL") => WordKind::Tool,
        Some("PROFILE") => {
            let profiles = Profile::every().into_iter();
            let words = profiles.map(|profile| Candidate {
                word: profile.as_str().to_owned(),
                about: profile.about().to_owned(),
            });
            WordKind::Words(words.collect())
        }
        _ => WordKind::File,
    }
}

fn candidate(word: &str, about: Option<&clap::builder::StyledStr>) -> Candidate {
    Candidate {
        word: word.to_owned(),
        about: about.map(ToString::to_string).unwrap_or_default(),
    }
}

/// The completion script of a shell. Those of the three that are used most ask gongfu itself.
pub(crate) fn script(shell: Shell) -> Vec<u8> {
    match shell {
        Shell::Bash => BASH.into(),
        Shell::Zsh => ZSH.into(),
        Shell::Fish => FISH.into(),
        _ => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "gongfu", &mut script);
            script
        }
    }
}

const BASH: &str = r#"# Completion of gongfu for bash, which asks gongfu itself.
_gongfu() {
    local line=${COMP_LINE:0:COMP_POINT} current=${COMP_WORDS[COMP_CWORD]} words word about kept
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    # bash replaces only what follows the last `=` or `:`.
    kept=${words[${#words[@]} - 1]}
    [[ $current == "=" ]] || kept=${kept%"$current"}
    COMPREPLY=()
    while IFS=$'\t' read -r word about; do
        COMPREPLY+=("${word#"$kept"}")
    done < <(gongfu complete -- "${words[@]:1}" 2>/dev/null)
}
complete -o default -F _gongfu gongfu
"#;

const ZSH: &str = r#"#compdef gongfu
# Completion of gongfu for zsh, which asks gongfu itself.
_gongfu() {
    local -a lines described
    local line
    lines=("${(@f)$(gongfu complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in $lines; do
        [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#described} )); then
        _describe gongfu described
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _gongfu "$@"; else compdef _gongfu gongfu; fi
"#;

const FISH: &str = r"# Completion of gongfu for fish, which asks gongfu itself.
function __gongfu_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (gongfu complete -- $words[2..] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c gongfu -f -a '(__gongfu_complete)'
";

#[cfg(test)]
mod tests {
    use super::{WordKind, wanted};

    fn of(line: &str) -> (String, WordKind) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        wanted(&words)
    }

    fn has(line: &str, word: &str) {
        let (_, WordKind::Words(words)) = of(line) else {
            panic!("{line}: no words");
        };
        assert!(
            words.iter().any(|one| one.word == word),
            "{line}: {words:?}"
        );
    }

    #[test]
    fn last_word_is_understood() {
        has("", "skill");
        has("sk", "skill");
        has("skill ", "check");
        has("client install ", "cursor");
        has("client install cursor ", "codex");
        has("skill list --", "--disabled");
        has("skill list --", "--json");
        has("mcp --profile ", "agentskills");
        has("--color ", "never");
        has("completions ", "zsh");
        for (line, what) in [
            ("skill show ", WordKind::Skill),
            ("run ", WordKind::Skill),
            ("run --timeout 3 ", WordKind::Skill),
            ("run pdf -- ", WordKind::File),
            ("run pdf python ", WordKind::File),
            ("list --source ", WordKind::Source),
            ("tool call ", WordKind::Tool),
            ("skill check ", WordKind::File),
            ("skill list --skills-dir ", WordKind::File),
        ] {
            assert_eq!(of(line).1, what, "{line}");
        }
        assert_eq!(
            of("list --source=x"),
            ("--source=".to_owned(), WordKind::Source)
        );
        assert_eq!(
            of("doctor x "),
            (String::new(), WordKind::Words(Vec::new()))
        );
        assert_eq!(of("nosuch -- - = ").1, of("").1);
    }
}
