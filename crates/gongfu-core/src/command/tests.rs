//! Commands and their verdicts.

mod ordinary;
mod refused;

use super::{Policy, Reason, Verdict, judge_line, judge_program};

/// A policy without a list.
const GENERAL: Policy<'static> = Policy {
    programs: None,
    folder: "/skill",
    writable: &["/workspace", "/skill"],
    input: None,
};
/// A policy with one.
const LISTED: Policy<'static> = Policy {
    programs: Some(&[
        "python", "python3", "node", "npm", "grep", "ls", "mkdir", "cat", "rm",
    ]),
    ..GENERAL
};

/// A verdict and its reason, in two words.
fn short(verdict: &Verdict) -> String {
    let (decision, reason) = match verdict {
        Verdict::Allow => return "allow".to_owned(),
        Verdict::Ask(reason) => ("ask", reason),
        Verdict::Block(reason) => ("block", reason),
    };
    let reason = match reason {
        Reason::Unreadable(_) => "unreadable",
        Reason::Privilege(_) => "privilege",
        Reason::System(_) => "system",
        Reason::Write { .. } => "write",
        Reason::Removal { .. } => "removal",
        Reason::TooComplex => "too complex",
        Reason::Unlisted(_) => "unlisted",
        Reason::Dynamic(_) => "dynamic",
        Reason::DynamicRemoval(_) => "dynamic removal",
    };
    format!("{decision} {reason}")
}

/// Expects the same verdict for each of these lines.
#[track_caller]
fn check(policy: &Policy<'_>, expected: &str, lines: &[&str]) {
    let verdicts = lines.iter().map(|line| (line, judge_line(line, policy)));
    let wrong: Vec<String> = verdicts
        .filter(|(_, verdict)| short(verdict) != expected)
        .map(|(line, verdict)| format!("{line:?}: {verdict:?}"))
        .collect();
    assert!(wrong.is_empty(), "not {expected}:\n{}", wrong.join("\n"));
}

#[test]
fn commands_of_the_sources_run_everywhere() {
    check(&GENERAL, "allow", ordinary::SOURCES);
    check(&LISTED, "allow", ordinary::SOURCES);
}

#[test]
fn ordinary_commands_run_without_a_list() {
    check(&GENERAL, "allow", ordinary::LINES);
    check(&GENERAL, "allow", ordinary::SCRIPTS);
}

#[test]
fn sudo_is_refused_wherever_it_is_written_out() {
    check(&GENERAL, "block privilege", refused::PRIVILEGE);
    check(&LISTED, "block privilege", refused::PRIVILEGE);
}

#[test]
fn changes_of_the_system_are_refused() {
    check(&GENERAL, "block system", refused::SYSTEM);
    check(&GENERAL, "block write", refused::WRITES);
    check(&GENERAL, "block removal", refused::REMOVALS);
}

#[test]
fn a_list_asks_about_other_programs() {
    check(&LISTED, "ask unlisted", refused::UNLISTED);
    check(&GENERAL, "allow", refused::UNLISTED);
}

#[test]
fn a_list_asks_about_what_is_known_at_run_time() {
    check(&LISTED, "ask dynamic", refused::DYNAMIC);
    check(&GENERAL, "allow", refused::DYNAMIC);
    let removals = [
        "rm -rf \"$x\"",
        "rm -rf $(cat list)",
        "rm -rf \"$x\"/*",
        "ls | grep a | xargs rm -rf",
        "cd x; rm -rf build",
        "rm -rf ~/build",
    ];
    check(&LISTED, "ask dynamic removal", &removals);
    check(&GENERAL, "allow", &removals);
}

#[test]
fn functions_are_programs_of_the_line() {
    check(
        &LISTED,
        "allow",
        &[
            "f() { ls; }; f a",
            "f() { ls; }; for x in 1; do f $x; done",
            "f() { f; }; f",
        ],
    );
    check(
        &LISTED,
        "ask unlisted",
        &[
            "f; f() { ls; }",
            "git() { ls; }; command git log",
            "git() { ls; }; bash -c 'git log'",
            "git() { ls; }; unset -f git; git log",
            "f() { git log; }",
        ],
    );
    check(&GENERAL, "allow", &["sudo() { :; }; sudo ls"]);
    check(
        &GENERAL,
        "block privilege",
        &["sudo() { :; }; exec sudo ls", "f() { sudo ls; }"],
    );
}

#[test]
fn unreadable_commands_are_refused() {
    let long = "x".repeat(65_537);
    let deep = format!("{}ls{}", "$(".repeat(100), ")".repeat(100));
    let lines = [
        "echo 'a",
        "ls &&",
        "ls\0",
        "bash -c 'echo \"'",
        &long,
        &deep,
    ];
    check(&GENERAL, "block unreadable", &lines);
    // Text that isn't known as a whole can't be checked.
    check(&GENERAL, "allow", &["bash -c \"echo $x'\""]);
}

#[test]
fn long_commands_are_judged_to_the_end() {
    let many = format!("{}sudo ls", "ls;".repeat(10_000));
    check(&GENERAL, "block privilege", &[&many]);
    check(&GENERAL, "allow", &[":(){ :|:& };:", "while :; do :; done"]);
}

/// None of these takes long, takes memory or overflows the stack of an ordinary thread.
#[test]
fn text_that_runs_itself_again_is_given_up() {
    let document = format!(
        "{{ {} }} <<E\n{}\nE",
        "bash; ".repeat(4_000),
        ": ;".repeat(10_000)
    );
    for line in [
        format!("{}ls", "nice ".repeat(10_000)),
        format!("{}ls", "xargs env ".repeat(6_000)),
        format!("{}ls", "eval ".repeat(12_000)),
        "bash <<E\n".repeat(5_000),
        document,
    ] {
        let start: String = line.chars().take(20).collect();
        assert_eq!(
            short(&judge_line(&line, &GENERAL)),
            "block too complex",
            "{start}"
        );
    }
    for line in [
        format!(
            "find{} -exec x{} ;",
            " a".repeat(4_000),
            " {}".repeat(15_000)
        ),
        format!("find{}", " -exec a ;".repeat(6_000)),
        format!("echo {}", "{a,b}".repeat(12_000)),
        format!("{}ls", "bash -c ".repeat(8_000)),
        format!("x=$x;{}", "echo $x;".repeat(8_000)),
        format!("echo {}", "$((#((\n:);:)".repeat(4_600)),
    ] {
        judge_line(&line, &GENERAL);
    }
}

#[test]
fn programs_are_judged_by_their_arguments() {
    let judge = |words: &[&str], policy: &Policy<'_>| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        short(&judge_program(&words, policy))
    };
    assert_eq!(judge(&["sudo", "ls"], &GENERAL), "block privilege");
    assert_eq!(
        judge(&["bash", "-c", "sudo ls"], &GENERAL),
        "block privilege"
    );
    assert_eq!(judge(&["env", "A=b", "sudo"], &GENERAL), "block privilege");
    assert_eq!(judge(&["echo", "$(sudo ls)"], &GENERAL), "allow");
    assert_eq!(judge(&["rm", "-rf", "/"], &GENERAL), "block removal");
    assert_eq!(judge(&["$(sudo ls)"], &LISTED), "ask unlisted");
    assert_eq!(judge(&[], &GENERAL), "allow");
}

#[test]
fn a_shell_is_judged_by_its_standard_input() {
    let fed = Policy {
        input: Some("sudo ls"),
        ..GENERAL
    };
    check(&fed, "block privilege", &["bash", "sh -s a", "{ bash -; }"]);
    check(
        &fed,
        "allow",
        &["cat", "bash a.sh", "bash < a.sh", "cat | bash"],
    );
}

#[test]
fn reasons_say_what_and_what_to_do() {
    let reason = |line: &str| match judge_line(line, &GENERAL) {
        Verdict::Block(reason) => reason.to_string(),
        other => panic!("{line}: {other:?}"),
    };
    assert_eq!(
        reason("ls && sudo rm x"),
        "`sudo` asks for more privileges, which a sandbox never grants; run the command without it"
    );
    assert_eq!(
        reason("echo x > /etc/hosts"),
        "`>` would write to /etc/hosts, which belongs to the system; write below /workspace, /skill instead"
    );
    assert_eq!(
        reason("echo 'a"),
        "can't parse the command: `'` at byte 5 is never closed"
    );
}
