//! The command line: what people and their scripts rely on.

mod check;
mod fix;
mod home;
mod list;
mod place;
mod workspace;

use crate::world::World;

#[test]
fn completions_know_the_commands() {
    let world = World::new();
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef gongfu"),
        ("fish", "complete -c gongfu"),
    ] {
        let script = world.gongfu(["completions", shell]).good().text();
        assert!(script.contains(mark), "{shell}");
        for command in ["mcp", "skill", "doctor", "init", "disable", "skills-dir"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    let wrong = world.gongfu(["completions", "tcsh"]).ends(2);
    assert!(wrong.stderr.contains("bash"), "{}", wrong.stderr);
}

#[test]
fn wrong_use_ends_with_2_and_says_what_is_right() {
    let world = World::with_skills();
    for (arguments, said) in [
        (&["skil"][..], "skill"),
        (&["skill", "lst"], "list"),
        (&["skill", "list", "--jsn"], "--json"),
        (&["skill", "show"], "<NAME>"),
        (&["skill", "check", "--dry-run"], "--fix"),
        (
            &["skill", "read", "pdf-tools", "--body", "--section", "Merge"],
            "--section",
        ),
        (&["tool", "call"], "<NAME>"),
        (&["tool", "call", "skill_loads"], "skill_load"),
    ] {
        let ran = world.gongfu(arguments).ends(2);
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(said),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(world.gongfu([""; 0]).run().code, Some(2));
    for good in [
        &["--help"][..],
        &["--version"],
        &["skill", "--help"],
        &["skill", "check", "--help"],
    ] {
        assert!(world.gongfu(good).good().text().contains("gongfu"));
    }
}

#[test]
fn no_colour_where_nobody_looks() {
    let world = World::with_skills();
    world.write("skills/broken/SKILL.md", "no frontmatter\n");
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
            let mut run = world.only(arguments);
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
