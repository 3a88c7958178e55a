//! The tools as clients see them: a change is a change of the snapshot, on purpose.

use gongfu_testing::json::{at, list_at, text_at};
use serde_json::{Value, json};

use crate::fixture::Fixture;

/// Every profile but `all`, which shows the tools of the others together.
const PROFILES: [&str; 5] = [
    "standard",
    "agentskills",
    "autosnippet",
    "read_skill",
    "skills",
];

fn tools_of(fixture: &Fixture, profiles: &str) -> Vec<Value> {
    let listed = fixture.client_of(profiles).ask("tools/list", json!({}));
    assert!(
        listed.get("nextCursor").is_none(),
        "a client that knows no pages sees everything"
    );
    list_at(&listed, "/tools").to_vec()
}

#[test]
fn tools_of_each_profile_are_known() {
    for profile in PROFILES {
        let tools = tools_of(&Fixture::default(), profile);
        insta::assert_json_snapshot!(format!("tools_list_{profile}"), tools);
    }
}

#[test]
fn tools_that_name_skills_name_these() {
    let fixture = Fixture::with_skills();
    for profile in ["standard", "autosnippet", "read_skill"] {
        let tools = tools_of(&fixture, profile);
        insta::assert_json_snapshot!(format!("tools_list_{profile}_with_skills"), tools);
    }
}

#[test]
fn instructions_of_each_profile_are_known() {
    let fixture = Fixture::with_skills();
    let mut all = serde_json::Map::new();
    for profile in PROFILES.iter().chain(&["agentskills,skills", "all"]) {
        let itself = fixture.silent_client_of(profile).initialize("2025-11-25");
        let text = text_at(&itself, "/instructions");
        assert!(!text.contains("read_file"), "{text}");
        all.insert((*profile).to_owned(), text.lines().collect());
    }
    insta::assert_json_snapshot!("instructions", all);
}

#[test]
fn all_profiles_together_are_the_profile_all() {
    let fixture = Fixture::with_skills();
    let mut together: Vec<Value> = PROFILES
        .iter()
        .flat_map(|profile| tools_of(&fixture, profile))
        .collect();
    together.sort_by_key(|tool| text_at(tool, "/name").to_owned());
    assert_eq!(tools_of(&fixture, "all"), together);
    assert_eq!(tools_of(&fixture, &PROFILES.join(",")), together);
}

#[test]
fn standard_tools_are_few_sorted_and_named_noun_verb() {
    let first = tools_of(&Fixture::with_skills(), "standard");
    assert!((1..=12).contains(&first.len()), "{} tools", first.len());
    assert_eq!(tools_of(&Fixture::with_skills(), "standard"), first);
    // Only the description of one tool depends on the skills.
    for (tool, without) in first.iter().zip(&tools_of(&Fixture::default(), "standard")) {
        if text_at(tool, "/name") == "skill_load" {
            let description = text_at(tool, "/description");
            let (own, skills) = description.split_once("\n\nSkills here:\n").unwrap();
            assert_eq!(own, text_at(without, "/description"));
            assert!(skills.starts_with("- "), "{skills}");
            assert!(description.chars().count() <= 1_024);
        } else {
            assert_eq!(tool, without);
        }
    }
    let names: Vec<&str> = first.iter().map(|tool| text_at(tool, "/name")).collect();
    assert!(names.is_sorted(), "{names:?}");
    for name in names {
        let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        assert!(name.len() <= 64 && name.bytes().all(is_lower), "{name}");
        let (noun, verb) = name.split_once('_').unwrap();
        assert!(!noun.is_empty() && !verb.is_empty(), "{name}");
    }
}

#[test]
fn schemas_hold_nothing_that_a_client_chokes_on() {
    for tool in tools_of(&Fixture::with_skills(), "all") {
        let name = text_at(&tool, "/name");
        for part in ["/title", "/description"] {
            assert!(text_at(&tool, part).len() > 5, "{name}{part}");
        }
        for hint in ["readOnly", "destructive", "idempotent", "openWorld"] {
            let hint = at(&tool, &format!("/annotations/{hint}Hint"));
            assert!(hint.is_boolean(), "{name} {hint}");
        }
        let output = tool.get("outputSchema");
        for schema in [at(&tool, "/inputSchema")].into_iter().chain(output) {
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
fn schemas_require_only_what_a_call_needs() {
    for tool in tools_of(&Fixture::default(), "all") {
        let name = text_at(&tool, "/name");
        let schema = at(&tool, "/inputSchema");
        assert_eq!(at(schema, "/additionalProperties"), false, "{name}");
        let wanted = match name {
            "skill_load" | "skill_read" | "skill_write" | "load_skill" | "read_skill" => {
                json!(["skill_name"])
            }
            "file_read" | "file_write" | "skills_read" => json!(["path"]),
            "skills_write" => json!(["path", "content"]),
            "skill_create" => json!(["name", "description"]),
            "skills_create" => json!(["name", "description", "instructions"]),
            "read_reference_file" => json!(["skill_name", "file_name"]),
            "autosnippet_load_skill" => json!(["skillName"]),
            "skill_list"
            | "file_list"
            | "skills_ls"
            | "load_skill_metadata"
            | "autosnippet_list_skills" => Value::Null,
            _ => continue,
        };
        let required = schema.get("required").cloned().unwrap_or_default();
        assert!(
            required == wanted || (required == json!([]) && wanted.is_null()),
            "{name}"
        );
    }
}

#[test]
fn search_at_its_limit_offers_no_higher_one() {
    let fixture = Fixture::default();
    fixture.change(|skills| {
        for number in 0..102 {
            let document =
                gongfu_testing::sample::plain(&format!("skill-{number}"), "Files things.");
            let files = [("SKILL.md".to_owned(), document.into_bytes())];
            skills.insert(format!("lib/skill-{number}"), files.into());
        }
    });
    let mut client = fixture.client();
    let mut said = |limit: u32| {
        let found = client.good("skill_search", json!({ "query": "files", "limit": limit }));
        text_at(&found, "/content/0/text").to_owned()
    };
    assert!(said(3).ends_with("… and 99 weaker matches: raise `limit` to see them\n"));
    for limit in [100, 5_000] {
        let text = said(limit);
        let wanted = "… and 2 weaker matches: describe the task in more detail\n";
        assert!(text.ends_with(wanted), "{text}");
    }
}

#[test]
fn list_with_a_budget_says_what_is_missing() {
    let fixture = Fixture::default();
    let called = |arguments: Value| {
        let listed = fixture.client().good("skill_list", arguments);
        text_at(&listed, "/content/0/text").to_owned()
    };
    let empty = called(json!({ "budget": 500 }));
    assert!(empty.contains("there are no skills"), "{empty}");
    fixture.skill("first", "Does one thing.");
    fixture.skill("second", "Does another thing.");
    let none = called(json!({ "task": "zzzzqq" }));
    assert!(none.starts_with("no skill matches the task"), "{none}");
    assert!(none.contains("- first: Does one thing.\n"), "{none}");
    let one = called(json!({ "task": "another" }));
    assert!(one.starts_with("- second: "), "{one}");
    let disable = |name: &str| {
        fixture.change(|skills| {
            let files = skills.remove(&format!("lib/{name}")).unwrap();
            skills.insert(format!("-lib/{name}"), files);
        });
    };
    disable("first");
    let off = called(json!({ "include_disabled": true, "budget": 500 }));
    assert!(off.contains("- first (disabled): "), "{off}");
    disable("second");
    for arguments in [json!({ "budget": 500 }), json!({})] {
        let all_off = called(arguments);
        assert!(all_off.contains("no skill is enabled"), "{all_off}");
    }
    fixture
        .client()
        .bad("skill_list", json!({ "budget": 65_537 }));
}
