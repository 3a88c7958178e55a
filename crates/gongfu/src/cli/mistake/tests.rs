//! Mistakes at the command line, and what is said about them.

use super::{Refusal, parse};
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
        ("skil list", "`gongfu skill`"),
        ("serch pdf", "`gongfu search`"), // typos: ignore
        ("install cursor", "`gongfu client install`"),
        ("status", "`gongfu client status`"),
        ("enable pdf", "`gongfu skill enable`"),
        ("skill lst", "`gongfu skill list`"),
        ("skill remove pdf", "`gongfu skill disable`"),
        ("client instal", "`gongfu client install`"),
        ("build pdf", "`gongfu env build`"),
        ("pdf run", "the command comes first: `gongfu run"),
    ] {
        let failure = mistake(words);
        assert_eq!((failure.code, failure.exit), ("UNKNOWN_COMMAND", 2));
        assert!(failure.hint.contains(tip), "{words}: {}", failure.hint);
    }
    let unknown = mistake("\u{1b}[31mxyzzy");
    assert!(
        unknown.hint.starts_with("see `gongfu --help`"),
        "{unknown:?}"
    );
    assert!(!unknown.message.contains('\u{1b}'));
}

#[test]
fn mistakes_have_a_code_and_the_next_step() {
    for (words, code, said) in [
        ("skill list --jsn", "UNKNOWN_OPTION", "--json"),
        ("skill show", "MISSING_ARGUMENT", "gongfu list"),
        ("doctor now", "UNKNOWN_OPTION", "options only"),
        ("run s --timeout abc x", "INVALID_VALUE", "from 1 to 3600"),
        (
            "approve allow 1 --hours x",
            "INVALID_VALUE",
            "whole number of hours",
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
            "CONFLICT",
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
