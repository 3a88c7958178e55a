//! Mistakes at the command line, and what is said about them.

use clap::CommandFactory as _;

use super::{Refusal, parse, table};
use crate::failure::Failure;

fn mistake(words: &str) -> Failure {
    let words = std::iter::once("gongfu").chain(words.split(' '));
    match parse(words.map(Into::into).collect()) {
        Err((_, Refusal::Mistake(failure))) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tips_lead_to_the_command_that_was_meant() {
    for (words, tip) in [
        ("lint", "`gongfu skill check`"),
        ("lint ./pdf", "`gongfu skill check ./pdf`"),
        ("skil list --json", "`gongfu skill list --json`"),
        ("serch pdf", "`gongfu search pdf`"), // typos: ignore
        ("install cursor", "`gongfu client install cursor`"),
        ("status", "`gongfu client status`"),
        ("enable pdf", "`gongfu skill enable pdf`"),
        ("enable", "`gongfu skill enable SKILL`"),
        ("skill lst", "`gongfu skill list`"),
        ("client instal zed", "`gongfu client install zed`"),
        ("build pdf", "`gongfu env build pdf`"),
        ("pdf run", "the command comes first: `gongfu run pdf …`"),
        (
            "pdf run ls -l",
            "the command comes first: `gongfu run pdf ls -l`",
        ),
        // The words in another order, in the plural.
        ("add skill x", "`gongfu skill add x`"),
        ("show skill pdf", "`gongfu skill show pdf`"),
        ("remove client zed", "`gongfu client uninstall zed`"),
        ("get config sandbox", "`gongfu config get sandbox`"),
        // A repository, an archive, a folder, a client.
        (
            "skill get https://github.com/x/y",
            "`gongfu skill add https://github.com/x/y`",
        ),
        (
            "add anthropics/skills",
            "`gongfu skill add https://github.com/anthropics/skills`",
        ),
        ("install pack.zip", "`gongfu skill add pack.zip`"),
        ("add ./skills", "`gongfu source add ./skills`"),
        ("uninstal cursor", "`gongfu client uninstall cursor`"), // typos: ignore
        (
            "grant pdf api.example.com",
            "`gongfu grant add pdf api.example.com`",
        ),
        ("approve 1", "`gongfu approve allow 1`"),
        (
            "config log.level=debug",
            "`gongfu config set log.level debug`",
        ),
        ("merge pdf files", "`gongfu search merge pdf files`"),
    ] {
        let failure = mistake(words);
        assert_eq!((failure.code, failure.exit), ("UNKNOWN_COMMAND", 2));
        assert!(failure.hint.contains(tip), "{words}: {}", failure.hint);
    }
    let unknown = mistake("\u{1b}[31mxyzzy");
    assert!(unknown.hint.contains("see `gongfu --help`"), "{unknown:?}");
    let text = format!("{}{}", unknown.message, unknown.hint);
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn an_argument_or_option_too_many_leads_to_the_command_that_has_it() {
    for (words, tip) in [
        ("list skills", "`gongfu skill list`"),
        ("list clients", "`gongfu client list`"),
        ("list pdf", "`gongfu skill show pdf`"),
        ("uninstall cursor", "`gongfu client uninstall cursor`"),
        ("init my-skill", "`gongfu skill new my-skill`"),
        ("mcp install zed", "`gongfu client install zed`"),
        ("serve 8080", "`gongfu serve --listen 127.0.0.1:8080`"),
        (
            "serve --port 8080",
            "`gongfu serve --listen 127.0.0.1:8080`",
        ),
        ("serve --port=80", "`gongfu serve --listen 127.0.0.1:80`"),
        ("log pdf", "`gongfu log --skill pdf`"),
        ("log 20", "`gongfu log -n 20`"),
        ("skill list -json", "`--json`"),
        ("skill show pdf --limit 3", "`gongfu search`"),
        ("skill --limit 3", "`gongfu skill search`"),
        ("--limit 3 search pdf", "`gongfu search --limit 3 pdf`"),
        (
            "--workspace . run pdf ls",
            "`gongfu run --workspace . pdf ls`",
        ),
        ("trust --remove .", "`gongfu trust remove .`"),
        ("tool call skill_search --query pdf", "`query=pdf`"),
        ("skill list --no-color", "`--color never`"),
        ("skill list --version", "`gongfu --version`"),
    ] {
        let failure = mistake(words);
        assert_eq!((failure.code, failure.exit), ("UNKNOWN_OPTION", 2));
        assert!(failure.hint.contains(tip), "{words}: {}", failure.hint);
    }
}

/// The command lines in a text, without the words that stand for others.
fn commands(text: &str) -> Vec<Vec<String>> {
    let quoted = text.split('`').skip(1).step_by(2);
    let own = quoted.filter_map(|line| line.strip_prefix("gongfu "));
    let is_fixed = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    };
    own.map(|line| {
        line.split(' ')
            .take_while(is_fixed)
            .map(str::to_owned)
            .collect()
    })
    .collect()
}

#[test]
fn every_rule_names_commands_and_options_that_there_are() {
    let mut root = crate::cli::Cli::command();
    root.build();
    let mut texts: Vec<String> = Vec::new();
    for (at, tip) in table::tests::all() {
        let path = format!("gongfu {}", at.trim_start_matches("gongfu"));
        assert!(super::at(&root, path.trim()).is_some(), "{at}: {tip}");
        texts.push(match tip.strip_prefix('=') {
            Some(command) => format!("`gongfu {command}`"),
            None => tip.to_owned(),
        });
    }
    let mut number = 0;
    for text in &texts {
        for words in commands(text) {
            let (path, command) = super::reached(&root, &words);
            let names = words.iter().take_while(|word| !word.starts_with('-'));
            let is_whole = path.split(' ').count() == names.count() + 1;
            let takes = command.get_positionals().count() > 0;
            assert!(is_whole || takes, "{text}: {words:?}");
            for option in words.iter().filter_map(|word| word.strip_prefix("--")) {
                let mut all = command.get_arguments();
                let known = all.any(|one| one.get_long() == Some(option));
                assert!(
                    known || ["help", "version"].contains(&option),
                    "{text}: --{option}"
                );
            }
            number += 1;
        }
    }
    assert!(number > 100, "{number}");
}

#[test]
fn only_questions_are_read_in_another_way() {
    let read = |words: &str| {
        let words = std::iter::once("gongfu").chain(words.split(' '));
        parse(words.map(Into::into).collect())
    };
    for (words, group) in [
        ("changes", "Changes(List"),
        ("approve --json", "Approve(List"),
        ("--color never grants", "Grant(List"),
        ("layer", "Layer(List"),
        ("env", "Env(List"),
        ("source", "Source(List"),
    ] {
        let cli = read(words).unwrap();
        let shown = format!("{:?}", cli.command);
        assert!(shown.starts_with(group), "{words}: {shown}");
    }
    for (words, said) in [
        ("version", env!("CARGO_PKG_VERSION")),
        ("-v", env!("CARGO_PKG_VERSION")),
        ("list help", "Usage: gongfu list"),
        ("help list skills", "Usage: gongfu list"),
        ("skill", "Usage: gongfu skill"),
        ("?", "Usage: gongfu"),
    ] {
        let Err((_, Refusal::Help(help))) = read(words) else {
            panic!("{words} is no question");
        };
        let help = help.render().to_string();
        assert!(help.contains(said), "{words}: {help}");
    }
}

#[test]
fn mistakes_have_a_code_and_the_next_step() {
    for (words, code, said) in [
        ("skill list --jsn", "UNKNOWN_OPTION", "`--json`"),
        ("skill show", "MISSING_ARGUMENT", "gongfu list"),
        ("doctor now", "UNKNOWN_OPTION", "options only"),
        ("run s --timeout abc x", "INVALID_VALUE", "from 1 to 3600"),
        (
            "approve allow 1 --expires x",
            "INVALID_VALUE",
            "days or hours",
        ),
        (
            "grant add pdf http://x.example",
            "INVALID_VALUE",
            "not a URL: x.example",
        ),
        (
            "grant add pdf https://x.example:8443/a",
            "INVALID_VALUE",
            "x.example:8443",
        ),
        ("client install vim", "INVALID_VALUE", "cursor"),
        ("completions", "MISSING_ARGUMENT", "zsh"),
        (
            "client install cusor", // typos: ignore
            "INVALID_VALUE",
            "did you mean `cursor`",
        ),
        (
            "mcp --profile skils",
            "INVALID_VALUE",
            "did you mean `skills`",
        ),
        (
            "skill read a --body --section b",
            "OPTION_CONFLICT",
            "use one of them",
        ),
        (
            "skill list --skills-dir",
            "MISSING_VALUE",
            "skill list --help",
        ),
        (
            "skill check --color blue",
            "INVALID_VALUE",
            "auto, always, never",
        ),
    ] {
        let failure = mistake(words);
        let text = format!("{}\n{}", failure.message, failure.hint);
        assert_eq!(failure.code, code, "{words}: {text}");
        assert!(text.contains(said), "{words}: {text}");
    }
}

#[test]
fn output_options_count_in_a_line_with_a_mistake() {
    for (words, json, never) in [
        ("skill lst --json", true, false),
        ("--color never lint", false, true),
        ("lint --color=never -- --json", false, true),
    ] {
        let words = std::iter::once("gongfu").chain(words.split(' '));
        let Err((output, _)) = parse(words.map(Into::into).collect()) else {
            panic!("it was read");
        };
        assert_eq!(output.json, json);
        assert_eq!(output.color == clap::ColorChoice::Never, never);
    }
}

#[test]
fn a_run_takes_its_command_with_and_without_dashes() {
    for words in ["run s python -c 1 --json", "run s -- python -c 1 --json"] {
        let words = std::iter::once("gongfu").chain(words.split(' '));
        let cli = parse(words.map(Into::into).collect()).unwrap();
        let crate::cli::Command::Run(run) = cli.command else {
            panic!("no run");
        };
        assert_eq!(run.command, ["python", "-c", "1", "--json"]);
        assert!(!run.json);
    }
}
