//! Files with pipelines: every field, every mistake.

use serde_json::{Value, json};

use super::super::reading::{INPUT_FIELDS, PIPELINE_FIELDS, STEP_FIELDS};
use super::super::{
    DEFAULT_TIMEOUT, ErrorStrategy, FileKind, MAX_NAME, MAX_RETRIES, MAX_RETRY_DELAY, MAX_STEPS,
    MAX_TIMEOUT, Rule, SCHEMA, from_value, read,
};

const WHOLE: &str = r#"{
  "name": "whole",
  "description": "all fields",
  "inputs": {"a": {"description": "an A", "required": true}, "b": {"default": [1]}},
  "steps": [
    {
      "name": "first",
      "tool": "tool_a",
      "params": {"z": {"deep": ["input:a"]}},
      "dependsOn": ["second"],
      "when": "input.a > 1",
      "retries": 3,
      "retryDelay": 250,
      "timeout": 1000,
      "errorStrategy": "continue",
      "transform": "output.x"
    },
    {"name": "second", "tool": "tool_b", "retries": 1, "retryDelay": 0, "errorStrategy": "fail"}
  ]
}"#;

fn mistakes(text: &str, kind: FileKind) -> String {
    let mistakes = read(text, kind).unwrap_err();
    let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

#[test]
fn every_field_is_read_and_written() {
    let pipeline = read(WHOLE, FileKind::Json).unwrap();
    let step = &pipeline.steps[0];
    assert_eq!(
        (step.retries, step.retry_delay, step.timeout),
        (3, 250, Some(1000))
    );
    assert_eq!(step.error_strategy, ErrorStrategy::Continue);
    assert!(matches!(&step.transform, Some(Rule::Expression(text)) if text == "output.x"));
    let wanted: Value = serde_json::from_str(WHOLE).unwrap();
    assert_eq!(pipeline.definition(), Some(wanted.clone()));
    assert_eq!(
        from_value(&wanted).unwrap().definition(),
        Some(wanted.clone())
    );
    // JSON is YAML, too.
    assert_eq!(
        read(WHOLE, FileKind::Yaml).unwrap().definition(),
        Some(wanted)
    );
}

#[test]
fn yaml_has_defaults_and_empty_fields() {
    let text = "name: a\ninputs:\n  x:\nsteps:\n- name: b\n  tool: c\n  when: yes and no\n  params:\n- {name: d, tool: e, when: true}\n";
    let pipeline = read(text, FileKind::Yaml).unwrap();
    assert_eq!(
        (pipeline.steps[0].retries, pipeline.steps[0].timeout),
        (1, None)
    );
    assert!(pipeline.inputs.unwrap().contains_key("x"));
    assert!(matches!(&pipeline.steps[1].when, Some(Rule::Expression(text)) if text == "true"));
}

#[test]
fn every_mistake_has_its_line_and_field() {
    let text = "name: [a]
descriptions: x
inputs: [a]
steps:
  - name: b
    tool: c
    retries: -1
    retryDelay: soon
    timeout: 1.5
    errorStrategy: ignore
    dependsOn: a
    when: 3
    params: [1]
    dependson: [x]
    tool: twice
  - tool: 5
  - just text
";
    let wanted = "line 15: `steps[0].tool`: it is set twice: remove one
line 2: `descriptions`: there is no such field: did you mean `description`?
line 14: `steps[0].dependson`: there is no such field: did you mean `dependsOn`?
line 13: `steps[0].params`: it must be a table of arguments
line 7: `steps[0].retries`: it must be a whole number, 0 or more
line 10: `steps[0].errorStrategy`: it must be `fail` or `continue`
line 11: `steps[0].dependsOn`: it must be a list of the names of steps, such as `[scan]`
line 12: `steps[0].when`: it must be an expression in quotes
line 8: `steps[0].retryDelay`: it must be a whole number, 0 or more
line 9: `steps[0].timeout`: it must be a whole number, 0 or more
line 16: `steps[1]`: `name` is missing: add it
line 16: `steps[1].tool`: it must be a string
line 17: `steps[2]`: it must be a table with `name`, `tool`, `params`, `dependsOn`, `when`, `retries`, `retryDelay`, `timeout`, `errorStrategy`, `transform`
line 1: `name`: it must be a string
line 3: `inputs`: it must be a table: the names of inputs, and a table for each";
    assert_eq!(mistakes(text, FileKind::Yaml), wanted);
}

#[test]
fn file_that_is_no_pipeline_says_so() {
    for (text, kind, wanted) in [
        ("", FileKind::Yaml, "the file is empty"),
        ("a: [", FileKind::Yaml, "line 1: it is not YAML"),
        (
            "- a",
            FileKind::Yaml,
            "line 1: it must be a table with `name`",
        ),
        (
            "name: a",
            FileKind::Yaml,
            "line 1: `steps` is missing: add a list of steps",
        ),
        (
            "name: a\nsteps: 3",
            FileKind::Yaml,
            "line 2: `steps`: it must be a list of steps",
        ),
        (
            "",
            FileKind::Json,
            "line 1: it is not JSON: EOF while parsing a value",
        ),
        (
            "{\n\"name\": }",
            FileKind::Json,
            "line 2: it is not JSON: expected value",
        ),
        (
            "{\n\t\"name\": \"a\",\n\t\"step\": []\n}",
            FileKind::Json,
            "`step`: there is no such field: did you mean `steps`?",
        ),
        (
            "{\"name\": \"\\ud83d\\ude00\"}",
            FileKind::Json,
            "`steps` is missing",
        ),
        (
            "inputs: {a: {required: 1, x: 2}, b: 3}\nname: a\nsteps: []",
            FileKind::Yaml,
            "line 1: `inputs.a.required`: it must be true or false",
        ),
    ] {
        let found = mistakes(text, kind);
        assert!(found.contains(wanted), "{text}: {found}");
    }
    let long = format!("name: {}", "x".repeat(300_000));
    assert_eq!(
        mistakes(&long, FileKind::Yaml),
        "the file is longer than 262144 bytes"
    );
    let bomb = format!(
        "a: &a [x]
b:
{}",
        "- [*a, *a, *a]
"
        .repeat(10_000)
    );
    assert!(mistakes(&bomb, FileKind::Yaml).contains("more than 20000 values"));
}

#[test]
fn schema_has_the_fields_defaults_and_limits() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let names = |value: &Value| -> Vec<String> {
        value["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    assert_eq!(names(&schema), PIPELINE_FIELDS);
    let step = &schema["$defs"]["step"];
    assert_eq!(names(step), STEP_FIELDS);
    assert_eq!(names(&schema["$defs"]["input"]), INPUT_FIELDS);
    for table in [&schema, step, &schema["$defs"]["input"]] {
        assert_eq!(table["additionalProperties"], false);
    }
    let fields = &step["properties"];
    assert_eq!(schema["properties"]["steps"]["maxItems"], MAX_STEPS);
    assert_eq!(fields["retries"]["maximum"], MAX_RETRIES);
    assert_eq!(fields["retryDelay"]["maximum"], MAX_RETRY_DELAY);
    assert_eq!(fields["timeout"]["maximum"], MAX_TIMEOUT);
    assert_eq!(fields["timeout"]["default"], DEFAULT_TIMEOUT);
    assert!(
        fields["name"]["pattern"]
            .as_str()
            .unwrap()
            .contains(&format!("{{0,{}}}", MAX_NAME - 1))
    );
    // What the schema needs is needed.
    for needed in ["name", "steps"] {
        let mut value: Value = serde_json::from_str(WHOLE).unwrap();
        value.as_object_mut().unwrap().remove(needed);
        assert!(from_value(&value).is_err());
        assert!(
            schema["required"]
                .as_array()
                .unwrap()
                .contains(&json!(needed))
        );
    }
}

#[test]
fn what_a_file_says_is_neither_dropped_nor_rounded() {
    let good = "name: p\nsteps: [{name: a, tool: t, params: {x: '---'}}]\n# end\n";
    let mistakes = |text: &str| {
        let read = read(text, FileKind::Yaml);
        let lines = read.map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>());
        lines.map(drop)
    };
    assert_eq!(mistakes(&format!("---\n{good}...\n# no more\n\n")), Ok(()));
    for (marker, line) in [
        ("---\nname: q\n", 4),
        ("--- {name: q}", 4),
        ("...\n\nname: q", 6),
    ] {
        let wanted =
            format!("line {line}: the file has another document here: keep one in each file");
        assert_eq!(mistakes(&format!("{good}{marker}")), Err(vec![wanted]));
    }
    let long = good.replace(
        "'---'",
        "[12345678901234567890123, '9999999999999999999', 1e3, 1.10]",
    );
    let wanted =
        "line 2: `steps[0].params.x[0]`: the number is too long to be exact: put it in quotes";
    assert_eq!(mistakes(&long), Err(vec![wanted.to_owned()]));
}
