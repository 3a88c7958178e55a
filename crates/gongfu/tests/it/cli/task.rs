//! `gongfu task`: pipelines by name and by file, their mistakes, outcomes and resumption.

use serde_json::{Value, json};

use crate::fixture::Fixture;

const STEPS: &str = "
name: greet
description: Greet somebody
inputs: { who: { required: true } }
steps:
  - { name: words, tool: value, params: { text: \"expr:'hello ' ~ input.who\" } }
  - { name: file, tool: file_read, dependsOn: [words], params: { path: note.txt } }
";

#[test]
fn pipeline_of_the_workspace_runs_fails_and_is_resumed() {
    let fixture = Fixture::with_skills();
    fixture.write("project/.gongfu/pipelines/greet.yaml", STEPS);
    let project = fixture.path("project");
    let place = ["--workspace", project.to_str().unwrap()];
    let task = |arguments: &[&str]| fixture.gongfu([arguments, &place[..]].concat());

    let listed = task(&["task", "list"]).good().text();
    assert!(
        listed.contains("greet") && listed.contains("skill_check_all"),
        "{listed}"
    );
    let missing = task(&["task", "run", "greet"]).ends(2);
    assert!(
        missing.stderr.contains("the input `who` is missing"),
        "{}",
        missing.stderr
    );

    let failed = task(&["task", "run", "greet", "--input", "who=Ann", "--json"]).ends(1);
    let outcome: Value = serde_json::from_slice(&failed.stdout).unwrap();
    assert_eq!(outcome["outputs"], json!({"words": {"text": "hello Ann"}}));
    assert_eq!(outcome["trace"][1]["status"], "failed");
    assert!(failed.stderr.contains("file: failed"), "{}", failed.stderr);

    fixture.write("project/note.txt", "here");
    let run = outcome["run"].as_str().unwrap();
    let done = task(&["task", "run", "--resume", run]).good();
    assert!(done.text().contains("hello Ann"));
    let again = task(&["task", "run", "--resume", run]).ends(2);
    assert!(
        again.stderr.contains("succeeded already"),
        "{}",
        again.stderr
    );
    let runs = fixture.gongfu(["task", "runs", "--json"]).good().text();
    assert!(runs.contains("\"ok\"") && runs.contains("greet"), "{runs}");
}

#[test]
fn mistakes_of_a_pipeline_end_with_1_and_their_places() {
    let fixture = Fixture::with_skills();
    for (text, wanted) in [
        (
            "name: a\nsteps:\n- { name: b, tool: c, retires: 2 }\n",
            "line 3: `steps[0].retires`",
        ),
        (
            "name: a\nsteps:\n- { name: b, tool: skill_lst }\n",
            "there is no tool `skill_lst`: similar names: `skill_list`",
        ),
        (
            "name: a\nsteps:\n- { name: b, tool: value, dependsOn: [c] }\n- { name: c, tool: value, params: { x: 'b:' } }\n",
            "`b` waits for `c` waits for `b`",
        ),
    ] {
        fixture.write("project/wrong.yaml", text);
        let checked = fixture.gongfu(["task", "check", "wrong.yaml"]).ends(1);
        let said = checked.text();
        assert!(said.contains(wanted), "{said}");
        let ran = fixture.gongfu(["task", "run", "wrong.yaml"]).run();
        assert!(
            ran.code != Some(0) && ran.stderr.contains(wanted),
            "{}",
            ran.stderr
        );
    }
    let unknown = fixture.gongfu(["task", "show", "skill_check_al"]).ends(2);
    assert!(
        unknown.stderr.contains("skill_check_all"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn skill_check_all_runs_without_a_model() {
    let fixture = Fixture::with_skills();
    let report = fixture
        .gongfu(["task", "run", "skill_check_all"])
        .good()
        .text();
    assert!(report.contains("skills: "), "{report}");
}
