//! What clients see of the tools: a change of it is a change of the snapshot, on purpose.

use serde_json::{Value, json};

use crate::stdio::{Client, result};
use crate::world::{World, at, text_at};

fn tools(world: &World) -> Vec<Value> {
    tools_of(world, "standard")
}

fn tools_of(world: &World, profiles: &str) -> Vec<Value> {
    let mut client = Client::start(&world.only(["mcp", "--profile", profiles]));
    client.initialize("2025-11-25");
    let listed = result(client.request("tools/list", json!({})));
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

/// Every profile but `all`, which shows the tools of the others together.
const PROFILES: [&str; 5] = [
    "standard",
    "agentskills",
    "autosnippet",
    "read_skill",
    "skills",
];

#[test]
fn tools_of_the_dialects() {
    let world = World::new();
    for profile in PROFILES.iter().skip(1) {
        insta::assert_json_snapshot!(format!("tools_list_{profile}"), tools_of(&world, profile));
    }
}

#[test]
fn tools_that_know_the_skills() {
    let world = World::with_skills();
    for profile in ["standard", "autosnippet", "read_skill"] {
        insta::assert_json_snapshot!(
            format!("tools_list_{profile}_with_skills"),
            tools_of(&world, profile)
        );
    }
}

#[test]
fn profiles_combine_and_all_is_all_of_them() {
    let world = World::with_skills();
    let mut together: Vec<Value> = PROFILES
        .iter()
        .flat_map(|profile| tools_of(&world, profile))
        .collect();
    together.sort_by_key(|tool| text_at(tool, "/name").to_owned());
    assert_eq!(tools_of(&world, "all"), together);
    assert_eq!(tools_of(&world, &PROFILES.join(",")), together);
}

#[test]
fn a_name_of_a_new_skill_is_a_choice_in_the_next_list() {
    let world = World::with_skills();
    let mut client = Client::start(&world.only(["mcp", "--profile", "read_skill,skills"]));
    client.initialize("2025-11-25");
    let mut choices = || {
        let listed = result(client.request("tools/list", json!({})));
        let known = at(&listed, "/tools/0/inputSchema/properties/skill_name/enum").clone();
        let create = json!({ "name": "new-one", "description": "d", "instructions": "i" });
        client.call("skills_create", create);
        known
    };
    assert_eq!(choices(), json!(["pdf-tools", "release-notes"]));
    assert_eq!(choices(), json!(["new-one", "pdf-tools", "release-notes"]));
}

#[test]
fn the_list_is_short_and_always_the_same() {
    let world = World::with_skills();
    let first = tools(&world);
    assert!((1..=12).contains(&first.len()), "{} tools", first.len());
    for _ in 0..5 {
        assert_eq!(tools(&world), first);
    }
    // Only the description of one tool depends on the skills: it names them, as long as they are few
    // enough for what clients take.
    let empty = tools(&World::new());
    for (tool, without) in first.iter().zip(&empty) {
        if text_at(tool, "/name") == "skill_load" {
            let (own, skills) = text_at(tool, "/description")
                .split_once("\n\nSkills here:\n")
                .unwrap();
            assert_eq!(own, text_at(without, "/description"));
            assert!(skills.starts_with("- "), "{skills}");
            assert!(text_at(tool, "/description").chars().count() <= 1_024);
        } else {
            assert_eq!(tool, without);
        }
    }
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
    for tool in tools_of(&World::with_skills(), "all") {
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
    for tool in tools_of(&World::new(), "all") {
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
            "skill_load" | "skill_read" | "skill_write" | "load_skill" | "read_skill" => {
                &["skill_name"]
            }
            "file_read" | "file_write" | "skills_read" => &["path"],
            "skills_write" => &["path", "content"],
            "skill_create" => &["name", "description"],
            "skills_create" => &["name", "description", "instructions"],
            "read_reference_file" => &["skill_name", "file_name"],
            "autosnippet_load_skill" => &["skillName"],
            "skill_list"
            | "file_list"
            | "skills_ls"
            | "load_skill_metadata"
            | "autosnippet_list_skills" => &[],
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
                && ran.stderr.contains("give one or more of: standard, agentskills, autosnippet, read_skill, skills, all"),
            "{}",
            ran.stderr
        );
    }
}

/// What a client tells its model about the skills, in the words of each profile's tools.
#[test]
fn instructions_of_every_profile() {
    let world = World::with_skills();
    let mut all = serde_json::Map::new();
    for profile in PROFILES.iter().chain(&["agentskills,skills", "all"]) {
        let mut client = Client::start(&world.only(["mcp", "--profile", *profile]));
        let itself = client.initialize("2025-11-25");
        let text = text_at(&itself, "/instructions").to_owned();
        assert!(!text.contains("read_file"), "{text}");
        all.insert((*profile).to_owned(), text.lines().collect());
    }
    insta::assert_json_snapshot!("instructions", all);
}

#[test]
fn autosnippet_keeps_its_limit_and_names_what_it_leaves_out() {
    let world = World::new();
    world.skill_in("skills/a", "same", "Is first.");
    world.skill_in("skills/b", "same", "Is second.");
    for number in 0..400 {
        let description = format!("Does {}.", "so much ".repeat(14));
        world.skill(&format!("skill-{number}"), &description);
    }
    let mut client = Client::start(&world.only(["mcp", "--profile", "autosnippet"]));
    client.initialize("2025-11-25");
    let listed = client.good("autosnippet_list_skills", json!({}));
    let text = text_at(&listed, "/content/0/text");
    assert!(text.chars().count() <= 32_000, "{}", text.len());
    let answer: Value = serde_json::from_str(text).unwrap();
    let hint = text_at(&answer, "/data/hint");
    assert!(hint.contains(" more, which load by their names"), "{hint}");
    assert!(
        hint.contains("another skill holds their name: skills/b/same"),
        "{hint}"
    );
}

#[test]
fn a_search_at_its_limit_says_nothing_of_a_higher_one() {
    let world = World::new();
    for number in 0..102 {
        world.skill(&format!("skill-{number}"), "Files things.");
    }
    let mut client = world.client();
    let mut said = |limit: u32| {
        let found = client.good("skill_search", json!({ "query": "files", "limit": limit }));
        text_at(&found, "/content/0/text").to_owned()
    };
    assert!(said(3).ends_with("… and 99 more that fit less: raise `limit` to see them\n"));
    for limit in [100, 5_000] {
        let text = said(limit);
        let wanted = "… and 2 more that fit less: say more of what is to be done\n";
        assert!(text.ends_with(wanted), "{text}");
    }
}
