//! The command line: what people and their scripts rely on.

mod author;
mod check;
mod doctor;
mod fix;
mod home;
mod list;
mod mistakes;
mod output;
mod place;
mod switch;
mod task;
mod usage;
mod workspace;

use gongfu_testing::json::list_at;
use serde_json::json;

use crate::fixture::Fixture;

#[test]
fn completions_know_the_commands() {
    let fixture = Fixture::new();
    for (shell, mark) in [
        ("bash", "complete -o default -F"),
        ("zsh", "#compdef gongfu"),
        ("fish", "complete -c gongfu"),
        ("powershell", "--skills-dir"),
        ("elvish", "--skills-dir"),
    ] {
        let script = fixture.gongfu(["completions", shell]).good().text();
        assert!(script.contains(mark), "{shell}");
    }
    let wrong = fixture.gongfu(["completions", "tcsh"]).ends(2);
    assert!(wrong.stderr.contains("bash"), "{}", wrong.stderr);
}

#[test]
fn wrong_use_ends_with_2_and_a_hint() {
    let fixture = Fixture::with_skills();
    for (arguments, said) in [
        (&["skil"][..], "skill"),
        (&["skill", "lst"], "list"),
        (&["skill", "list", "--jsn"], "--json"),
        (&["skill", "show"], "<SKILL>"),
        (&["skill", "check", "--dry-run"], "--fix"),
        (
            &["skill", "read", "pdf-tools", "--body", "--section", "Merge"],
            "--section",
        ),
        (&["tool", "call"], "<TOOL>"),
        (&["tool", "call", "skill_loads"], "skill_load"),
    ] {
        let ran = fixture.gongfu(arguments).ends(2);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(said),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(fixture.gongfu([""; 0]).run().code, Some(2));
    for good in [
        &["--help"][..],
        &["--version"],
        &["skill", "--help"],
        &["skill", "check", "--help"],
    ] {
        assert!(fixture.gongfu(good).good().text().contains("gongfu"));
    }
}

#[test]
fn output_has_no_colour_in_a_pipe() {
    let fixture = Fixture::with_skills();
    fixture.write("skills/broken/SKILL.md", "no frontmatter\n");
    for arguments in [
        &["skill", "list"][..],
        &["skill", "show", "pdf-tools"],
        &["skill", "check"],
        &["skill", "show", "nope"],
        &["tool", "list"],
        &["doctor"],
        &["init", "--offline"],
    ] {
        for variables in [
            &[][..],
            &[("NO_COLOR", "1")],
            &[("CLICOLOR_FORCE", "0")],
            &[("TERM", "xterm-256color")],
        ] {
            let mut run = fixture.only(arguments);
            for (name, value) in variables {
                run = run.with(name, value);
            }
            let ran = run.run();
            let both = format!("{}{}", ran.text(), ran.stderr);
            assert!(
                !both.contains('\u{1b}'),
                "{arguments:?} {variables:?}: {both:?}"
            );
        }
    }
}

#[test]
fn tool_list_shows_the_tools_of_the_protocol() {
    let fixture = Fixture::new();
    let listed = fixture.only(["tool", "list", "--json"]).good().json();
    let wire = fixture.client().ask("tools/list", json!({}));
    let (shown, wire) = (list_at(&listed, ""), list_at(&wire, "/tools"));
    assert_eq!(shown.len(), wire.len());
    for (wire, shown) in wire.iter().zip(shown) {
        for part in ["name", "title", "description", "inputSchema"] {
            assert_eq!(wire.get(part), shown.get(part));
        }
    }
    let words = fixture.only(["tool", "list"]).good().text();
    assert!(
        words.contains("skill_load") && words.contains("skill_name: "),
        "{words}"
    );
}

#[test]
fn unknown_profile_names_the_known_ones() {
    let fixture = Fixture::new();
    for command in ["mcp", "tool list", "tool call skill_list"] {
        let arguments = command.split(' ').chain(["--profile", "standards"]);
        let said = fixture.only(arguments).ends(2).stderr;
        let known = "the profiles are: standard, agentskills, autosnippet, read_skill, skills, all";
        assert!(said.contains("standards") && said.contains(known), "{said}");
    }
}
