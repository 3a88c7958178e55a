//! What clients see of the tools: a change of it is a change of the snapshot, on purpose.

use serde_json::{Value, json};

use crate::stdio::result;
use crate::world::{World, at, text_at};

fn tools(world: &World) -> Vec<Value> {
    let listed = result(world.client().request("tools/list", json!({})));
    assert!(
        listed.get("nextCursor").is_none(),
        "a client that knows no pages sees everything"
    );
    at(&listed, "/tools").as_array().unwrap().clone()
}

#[test]
fn tools_of_the_standard_profile() {
    insta::assert_json_snapshot!("tools_list_standard", tools(&World::new()));
}

#[test]
fn the_list_is_short_and_always_the_same() {
    let world = World::with_skills();
    let first = tools(&world);
    assert!((1..=12).contains(&first.len()), "{} tools", first.len());
    for _ in 0..5 {
        assert_eq!(tools(&world), first);
    }
    assert_eq!(
        tools(&World::new()),
        first,
        "the tools don't depend on the skills"
    );
    let names: Vec<&str> = first.iter().map(|tool| text_at(tool, "/name")).collect();
    assert!(names.is_sorted(), "{names:?}");
    for name in names {
        let (noun, verb) = name
            .split_once('_')
            .unwrap_or_else(|| panic!("{name} is no noun_verb"));
        for part in [noun, verb] {
            assert!(
                !part.is_empty()
                    && part
                        .bytes()
                        .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{name}"
            );
        }
        assert!(name.len() <= 64, "{name}");
    }
}

#[test]
fn every_client_can_read_the_schemas() {
    for tool in tools(&World::new()) {
        let name = text_at(&tool, "/name");
        for part in ["/title", "/description"] {
            assert!(text_at(&tool, part).len() > 5, "{name}{part}");
        }
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(
                at(&tool, "/annotations")
                    .get(hint)
                    .is_some_and(Value::is_boolean),
                "{name} {hint}"
            );
        }
        let schemas = [tool.get("inputSchema"), tool.get("outputSchema")];
        assert!(
            schemas[0].is_some(),
            "{name} has no schema of its arguments"
        );
        for schema in schemas.into_iter().flatten() {
            assert_eq!(text_at(schema, "/type"), "object", "{name}");
            assert!(at(schema, "/properties").is_object(), "{name}");
            look_at(name, schema);
        }
    }
}

/// Looks for what some client chokes on, at every depth.
fn look_at(tool: &str, schema: &Value) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                assert!(
                    !["$ref", "$defs", "$schema", "nullable", "title"].contains(&key.as_str()),
                    "{tool}: {key}"
                );
                assert!(
                    !(["anyOf", "oneOf", "allOf"].contains(&key.as_str())),
                    "{tool}: {key} in {schema:#}"
                );
                if key == "type" {
                    assert!(
                        value.as_str().is_some_and(|kind| kind != "null"),
                        "{tool}: a type that is {value}"
                    );
                }
                if key == "format" {
                    assert!(!value.as_str().unwrap().contains("int"), "{tool}: {value}");
                }
                match (key.as_str(), value.as_object()) {
                    ("properties", Some(properties)) => {
                        for (name, property) in properties {
                            let about = property
                                .get("description")
                                .and_then(Value::as_str)
                                .unwrap_or_default();
                            assert!(about.len() > 5, "{tool}: `{name}` has no description");
                            look_at(tool, property);
                        }
                    }
                    _ => look_at(tool, value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| look_at(tool, item)),
        Value::Null => panic!("{tool}: a null in its schema"),
        _ => {}
    }
}

#[test]
fn required_arguments_are_told_and_the_others_are_not() {
    for tool in tools(&World::new()) {
        let schema = at(&tool, "/inputSchema");
        assert_eq!(
            at(schema, "/additionalProperties"),
            false,
            "{}",
            text_at(&tool, "/name")
        );
        let required = schema
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let wanted: &[&str] = match text_at(&tool, "/name") {
            "skill_load" | "skill_read" => &["skill_name"],
            "skill_list" => &[],
            _ => continue,
        };
        assert_eq!(
            required,
            wanted
                .iter()
                .map(|name| Value::from(*name))
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn the_command_line_lists_the_same_tools() {
    let world = World::new();
    let listed = world.only(["tool", "list", "--json"]).good().json();
    let shown = listed.as_array().unwrap();
    for (wire, shown) in tools(&world).iter().zip(shown) {
        for part in ["name", "title", "description", "inputSchema"] {
            assert_eq!(wire.get(part), shown.get(part));
        }
    }
    let words = world.only(["tool", "list"]).good().text();
    assert!(
        words.contains("skill_load") && words.contains("skill_name: "),
        "{words}"
    );
}

#[test]
fn an_unknown_profile_names_the_known_ones() {
    let world = World::new();
    for command in [
        &["mcp"][..],
        &["tool", "list"],
        &["tool", "call", "skill_list"],
    ] {
        let mut arguments = command.to_vec();
        arguments.extend(["--profile", "standards"]);
        let ran = world.only(arguments).ends(2);
        assert!(
            ran.stderr.contains("standards")
                && ran.stderr.contains("give one or more of: standard"),
            "{}",
            ran.stderr
        );
    }
}
