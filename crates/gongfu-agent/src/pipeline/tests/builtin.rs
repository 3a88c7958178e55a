//! The pipelines that come with gongfu.

use super::super::{builtin, builtins};
use super::*;

const GOOD: &str = "---\nname: good\ndescription: Reads PDF files. Use it when a PDF is to be read.\n---\n\n# Good\n\nRead it.\n";
const BAD: &str = "---\nname: Bad Name\ndescription: x\n---\n\nSee [more](missing.md).\n";

fn library() -> Fixture {
    let space = MemorySpace::default();
    space.skills.replace(&[
        ("lib/good", &[("SKILL.md", GOOD.as_bytes())]),
        ("lib/bad", &[("SKILL.md", BAD.as_bytes())]),
        ("-lib/off", &[("SKILL.md", BAD.as_bytes())]),
    ]);
    fixture_over(Arc::new(space))
}

async fn run(fixture: &Fixture, name: &str, input: Value) -> TaskResult {
    let pipeline = builtin(name).unwrap().pipeline().unwrap();
    let request = TaskRequest::new(TaskInput::Start { pipeline, input });
    fixture.run(request).await.unwrap()
}

#[tokio::test]
async fn every_builtin_is_good_and_known_by_its_name() {
    let fixture = library();
    for builtin in builtins() {
        let pipeline = builtin.pipeline().unwrap();
        assert_eq!(pipeline.name, builtin.name);
        let checked = fixture.agent.check_task(&pipeline, &person()).await;
        checked.unwrap();
    }
    assert!(builtin("missing").is_none());
}

#[tokio::test]
async fn skill_check_all_says_what_is_wrong() {
    let fixture = library();
    let result = run(&fixture, "skill_check_all", json!({})).await;
    assert!(result.outcome.success, "{result:?}");
    let check = &result.outcome.outputs["check"];
    assert_eq!(check["total"], 2, "{check}");
    let bad = &check["skills"][0];
    assert!(bad["errors"].as_u64().unwrap() > 0, "{check}");
    let first = &bad["findings"][0];
    assert_eq!(first["severity"], "error", "{check}");
    for field in ["code", "message", "hint"] {
        assert!(first[field].is_string(), "{check}");
    }
    let summary = &result.outcome.outputs["summarise"];
    assert_eq!(summary["skills"], 2);
    let text = summary["text"].as_str().unwrap();
    assert!(text.starts_with("2 skills: "), "{text}");
    assert!(text.contains("errors"), "{text}");
    assert_eq!(summary["broken"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn skill_check_all_of_a_good_library_says_so() {
    let result = run(&fixture(), "skill_check_all", json!({"limit": 3})).await;
    let text = &result.outcome.outputs["summarise"]["text"];
    assert_eq!(text, "0 skills: nothing is wrong");
    let result = run(&fixture(), "skill_check_all", json!({"limit": -1})).await;
    let error = result.outcome.error.unwrap();
    let wanted = "`limit` must be a whole number, at most 500";
    assert!(error.contains(wanted), "{error}");
}

#[tokio::test]
async fn demonstration_loads_or_continues_or_skips() {
    let result = run(&library(), "demonstration", json!({})).await;
    assert!(result.outcome.success, "{result:?}");
    assert_eq!(trace(&result), ["step1 Ok 1", "step2 Ok 1", "step3 Ok 1"]);
    let missing = json!({"skill": "missing"});
    let result = run(&library(), "demonstration", missing).await;
    assert!(result.outcome.success);
    let error = result.outcome.outputs["step3"]["_error"].as_str().unwrap();
    assert!(error.contains("missing"), "{error}");
    let result = run(&fixture(), "demonstration", json!({})).await;
    assert_eq!(result.outcome.outputs["step3"], json!({"_skipped": true}));
}
