//! `gongfu skill stats` and `gongfu skill search --explain`, after a skill was searched, loaded and run.

use gongfu_testing::json::at;
use serde_json::json;

use crate::fixture::Fixture;

const SKILL: &str = "---\nname: weather\ndescription: Tells how to look at the weather.\n---\n\nLook out of the window.\n";

#[test]
fn stats_and_explanations_tell_what_was_used() {
    let fixture = Fixture::new();
    fixture.write("skills/weather/SKILL.md", SKILL);
    let other = SKILL.replace("weather", "tides");
    fixture.write("skills/tides/SKILL.md", &other);
    let call = |tool: &str, arguments: &[&str]| {
        let start = ["tool", "call", tool];
        fixture.only(start.iter().chain(arguments))
    };
    assert_eq!(stats(&fixture), json!([]));

    let found = call("skill_search", &["query=weather outside"]).good();
    assert!(found.text().contains("- weather:"));
    assert!(!found.text().contains("tides"));
    let loaded = call("skill_load", &["skill_name=weather"]).good().text();
    assert!(loaded.contains("Look out of the window."), "{loaded}");
    for (command, code) in [("cat SKILL.md", 0), ("cat nothing", 1)] {
        let command = format!("command={command}");
        call("skill_run", &["skill_name=weather", &command]).ends(code);
    }

    let used =
        json!([{"skill": "skills/weather", "found": 1, "loaded": 1, "runs": 2, "succeeded": 1}]);
    assert_eq!(stats(&fixture), used);
    let explain = ["skill", "search", "--explain", "weather outside"];
    let explained = fixture.only(explain).good().text();
    assert!(
        explained.contains("weather: name, description, passage")
            && explained.contains("outside: not found")
            && explained.contains("loaded 1×, run 2× (1 succeeded)"),
        "{explained}"
    );
    let explained = fixture
        .only(explain.iter().chain(&["--json"]))
        .good()
        .json();
    assert_eq!(at(&explained, "/0/full_name"), "skills/weather");
    for (field, wanted) in [("loaded", 1), ("runs", 2), ("succeeded", 1)] {
        assert_eq!(at(&explained, &format!("/0/outcomes/{field}")), wanted);
    }
}

/// The figures of every skill that was used, without the times.
fn stats(fixture: &Fixture) -> serde_json::Value {
    let mut stats = fixture.only(["skill", "stats", "--json"]).good().json();
    for skill in stats.as_array_mut().unwrap() {
        let time = skill.as_object_mut().unwrap().remove("last");
        assert!(time.is_some_and(|time| time.is_string()), "{skill}");
    }
    stats
}
