//! Tests of the commands: which lines are some, and what is said about others.

use super::{ALIASES, COMMANDS, Slash, dollars, names, parse};

/// The command and the words of a line, or what is said instead.
fn said(line: &str) -> String {
    match parse(line) {
        None => "a prompt".to_owned(),
        Some(Ok((command, words))) => format!("{} {words:?}", command.name),
        Some(Err(unknown)) => format!("{}: {}", unknown.name, unknown.hint()),
    }
}

#[test]
fn lines_are_commands_or_prompts() {
    for (line, wanted) in [
        ("hello", "a prompt"),
        ("", "a prompt"),
        ("/", "a prompt"),
        ("/home/me is full", "a prompt"),
        ("/etc/hosts", "a prompt"),
        ("// what is this?", "a prompt"),
        (" /help", "a prompt"),
        ("/help", "help \"\""),
        ("/HELP", "help \"\""),
        ("/skills merge  pdf ", "skills \"merge  pdf\""),
        ("/model\topenai/gpt", "model \"openai/gpt\""),
        ("/resume\n2", "a prompt"),
        ("/quit\nhello", "a prompt"),
        ("/cost", "usage \"\""),
        ("/last", "expand \"\""),
        ("/exit now", "quit \"now\""),
        ("/skill", "/skill: did you mean /skills?"),
        ("/models x", "/models: did you mean /model?"),
        ("/功夫", "/功夫: /help shows the commands"),
        ("/xyz", "/xyz: /help shows the commands"),
    ] {
        assert_eq!(said(line), wanted, "{line:?}");
    }
}

#[test]
fn each_name_is_there_once() {
    let mut all = names();
    all.extend(ALIASES.iter().map(|(alias, _)| format!("/{alias}")));
    for name in &all {
        assert_eq!(
            all.iter().filter(|other| *other == name).count(),
            1,
            "{name}"
        );
        assert!(matches!(parse(name), Some(Ok(_))), "{name}");
    }
    assert_eq!(names().len(), COMMANDS.len());
}

#[test]
fn costs_are_in_dollars() {
    for (cost, wanted) in [
        (1, "less than $0.0001"),
        (50_000, "$0.0001"),
        (12_340_000, "$0.0123"),
        (2_000_000_000, "$2.0000"),
        (u64::MAX, "$18446744073.7095"),
    ] {
        assert_eq!(dollars(cost), wanted);
    }
}

#[test]
fn page_about_chats_lists_each_command() {
    let page = include_str!("../../../../../../../docs/chatting.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `/"));
    let listed: Vec<&str> = rows
        .filter_map(|row| Some(row.split_once('`')?.0))
        .collect();
    let usage = |command: &Slash| format!("{} {}", command.name, command.words);
    let all: Vec<String> = COMMANDS.iter().map(usage).collect();
    let all: Vec<&str> = all.iter().map(|usage| usage.trim_end()).collect();
    assert_eq!(listed, all);
}
