//! The pipelines that the source document shows.

use serde_json::{Value, json};

use super::super::{Function, Param, Ready, Rule, Step, StepError};
use super::{drive, pipeline, plan, plan_of, yaml};

/// The pipeline of the document's diagram: bootstrap, then enrich and the skill at once, then refine.
const BOOTSTRAP: &str = "
name: bootstrap_full_pipeline
description: Bootstrap the knowledge base, then improve the candidates
inputs:
  maxFiles: { default: 500 }
  autoRefine: { default: true }
steps:
  - name: refine
    tool: refine_bootstrap_candidates
    dependsOn: [enrich, loadSkill]
    when: steps.bootstrap.bootstrapCandidates.created > 0
    params:
      userPrompt: \"expr:'Refine by this: ' ~ steps.loadSkill.content | default('general rules')\"
  - name: bootstrap
    tool: bootstrap_knowledge
    params: { loadSkills: true, maxFiles: 'input:maxFiles' }
  - name: enrich
    tool: enrich_candidate
    dependsOn: [bootstrap]
    when: steps.bootstrap.bootstrapCandidates.ids | length > 0
    params: { candidateIds: 'bootstrap:bootstrapCandidates.ids' }
    errorStrategy: continue
    retries: 2
    retryDelay: 1000
  - name: loadSkill
    tool: load_skill
    dependsOn: [bootstrap]
    when: input.autoRefine
    params: { skillName: reference-swift }
    errorStrategy: continue
";

#[expect(clippy::unnecessary_wraps, reason = "a tool of these tests")]
fn tools(call: &Ready) -> Result<Value, StepError> {
    Ok(match call.tool.as_str() {
        "bootstrap_knowledge" => {
            json!({"bootstrapCandidates": {"ids": ["c1", "c2"], "created": 2}, "skillsLoaded": 1})
        }
        "load_skill" => json!({"content": "use let"}),
        other => json!({ "by": other }),
    })
}

fn trace(outcome: &super::super::Outcome) -> Vec<Value> {
    let outcome = serde_json::to_value(outcome).unwrap();
    outcome["trace"].as_array().unwrap().clone()
}

#[test]
fn diagram_runs_with_its_trace() {
    let plan = yaml(BOOTSTRAP);
    let layers = [
        vec!["bootstrap"],
        vec!["enrich", "loadSkill"],
        vec!["refine"],
    ];
    assert_eq!(plan.layers(), layers);
    let (outcome, calls, _) = drive(&plan, json!({}), tools);
    let entry = |step| json!({"step": step, "status": "ok", "durationMs": 5, "attempt": 1});
    assert_eq!(
        serde_json::to_value(&outcome).unwrap(),
        json!({
            "success": true,
            "pipelineId": "bootstrap_full_pipeline",
            "outputs": {
                "bootstrap": {"bootstrapCandidates": {"ids": ["c1", "c2"], "created": 2}, "skillsLoaded": 1},
                "enrich": {"by": "enrich_candidate"},
                "loadSkill": {"content": "use let"},
                "refine": {"by": "refine_bootstrap_candidates"},
            },
            "trace": [entry("bootstrap"), entry("enrich"), entry("loadSkill"), entry("refine")],
            "durationMs": 42,
            "error": null,
        })
    );
    let params: Vec<Value> = calls.iter().map(|call| json!(call.params)).collect();
    assert_eq!(params[0], json!({"loadSkills": true, "maxFiles": 500}));
    assert_eq!(params[1], json!({"candidateIds": ["c1", "c2"]}));
    assert_eq!(params[3], json!({"userPrompt": "Refine by this: use let"}));
}

#[test]
fn diagram_skips_what_has_no_work() {
    let none = |call: &Ready| match call.step.as_str() {
        "bootstrap" => Ok(json!({"bootstrapCandidates": {"ids": [], "created": 0}})),
        other => panic!("{other} must not run"),
    };
    let input = json!({"autoRefine": false, "maxFiles": 1});
    let (outcome, ..) = drive(&yaml(BOOTSTRAP), input, none);
    assert!(outcome.success);
    for step in ["enrich", "loadSkill", "refine"] {
        assert_eq!(outcome.outputs[step], json!({"_skipped": true}));
    }
    let skipped = json!({"step": "refine", "status": "skipped", "durationMs": 0, "attempt": 0});
    assert_eq!(trace(&outcome)[3], skipped);
}

#[test]
fn diagram_refines_after_a_failure_that_is_allowed() {
    let faulty = |call: &Ready| match call.tool.as_str() {
        "enrich_candidate" => Err(StepError::new("no model")),
        "load_skill" => Err(StepError::new("no such skill")),
        _ => tools(call),
    };
    let (outcome, calls, _) = drive(&yaml(BOOTSTRAP), json!({}), faulty);
    assert!(outcome.success);
    assert_eq!(outcome.outputs["enrich"], json!({"_error": "no model"}));
    let failed = json!({"step": "enrich", "status": "failed", "durationMs": 10, "attempt": 2});
    assert_eq!(trace(&outcome)[1], failed);
    let refine = calls.last().unwrap();
    assert_eq!(refine.params["userPrompt"], "Refine by this: general rules");
}

/// The example of the chapter about extension, with functions as there.
fn demonstration() -> super::super::Pipeline {
    let output = Function::new(|scope| Ok(scope.step("step1")?["output"].clone()));
    let condition = Function::new(|scope| Ok(scope.step("step2")?["shouldContinue"].clone()));
    pipeline([
        Step::new("step1", "tool_a").with("value", 1),
        Step::new("step2", "tool_b")
            .after(["step1"])
            .with("data", output),
        Step {
            when: Some(Rule::Function(condition)),
            error_strategy: super::super::ErrorStrategy::Continue,
            ..Step::new("step3", "tool_c").after(["step2"])
        },
    ])
}

#[test]
fn demonstration_runs_with_functions() {
    for (goes_on, last) in [
        (json!(true), json!({"_error": "broken"})),
        (json!(false), json!({"_skipped": true})),
        (Value::Null, json!({"_skipped": true})),
    ] {
        let tool = |call: &Ready| match call.tool.as_str() {
            "tool_a" => Ok(json!({"output": [1, 2]})),
            "tool_b" => Ok(json!({"shouldContinue": goes_on, "got": call.params["data"]})),
            _ => Err(StepError::new("broken")),
        };
        let (outcome, ..) = drive(&plan(&demonstration()), json!({}), tool);
        assert!(outcome.success);
        assert_eq!(outcome.outputs["step2"]["got"], json!([1, 2]));
        assert_eq!(outcome.outputs["step3"], last);
    }
    assert_eq!(demonstration().definition(), None);
}

#[test]
fn demonstration_runs_from_a_file() {
    let plan = yaml(
        "
name: my_pipeline
steps:
  - { name: step1, tool: tool_a, params: { value: 1 } }
  - { name: step2, tool: tool_b, dependsOn: [step1], params: { data: 'step1:output' } }
  - name: step3
    tool: tool_c
    dependsOn: [step2]
    when: steps.step2.shouldContinue
    errorStrategy: continue
",
    );
    let tool = |call: &Ready| match call.tool.as_str() {
        "tool_a" => Ok(json!({"output": {"deep": true}})),
        "tool_b" => Ok(json!({"shouldContinue": 1, "got": call.params["data"]})),
        _ => Ok(json!("end")),
    };
    let (outcome, ..) = drive(&plan, Value::Null, tool);
    assert_eq!(outcome.outputs["step2"]["got"], json!({"deep": true}));
    assert_eq!(outcome.outputs["step3"], "end");
}

#[test]
fn parameter_is_a_value_a_reference_an_expression_or_a_function() {
    let step = Step::new("last", "tool_b")
        .with("number", 3)
        .with(
            "nested",
            json!({"list": ["input:a[1]", {"deep": "first:"}, null, "x:y"]}),
        )
        .with("input", "input:")
        .with("odd", "input:[\"odd name\"].x")
        .with("sum", "expr:input.a | sum + steps.first.did | length")
        .with("text", "literal:input:a")
        .with("url", "http://first:80/x")
        .with("id", "expr:run.step")
        .with(
            "function",
            Param::Function(Function::new(|scope| Ok(scope.input["a"][0].clone()))),
        );
    let plan = plan_of([Step::new("first", "tool_a"), step]);
    let input = json!({"a": [1, 2], "odd name": {"x": "y"}});
    let (outcome, calls, _) = drive(&plan, input.clone(), super::echo);
    assert!(outcome.success, "{:?}", outcome.error);
    assert_eq!(
        json!(calls[1].params),
        json!({
            "function": 1,
            "id": "run-1/last",
            "input": input,
            "nested": {"list": [2, {"deep": {"did": "first"}}, null, "x:y"]},
            "number": 3,
            "odd": "y",
            "sum": 8,
            "text": "input:a",
            "url": "http://first:80/x",
        })
    );
}
