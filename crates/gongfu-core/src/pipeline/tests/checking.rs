//! Pipelines that are refused before anything runs.

use serde_json::json;

use super::super::{Input, MAX_DEFINITION, MAX_STEPS, Pipeline, Rule, Step};
use super::{TOOLS, Tool, check, pipeline, plan_of, problems};

#[test]
fn all_problems_are_named_at_once() {
    let broken = Pipeline {
        name: "no spaces".to_owned(),
        steps: vec![
            Step {
                retries: 0,
                timeout: Some(0),
                retry_delay: u64::MAX,
                ..Step::new("a", "tol_a")
            },
            Step::new("a", "tool_a").after(["bb"]),
            Step {
                when: Some(Rule::from("steps.a.")),
                ..Step::new("load-skill", "tool_a")
            },
            Step {
                transform: Some(Rule::from("output + zzz")),
                ..Step::new("b", "tool_a")
            },
            Step::new("input", "tool_a").with("p", json!({"q": ["a:b c"]})),
        ],
        ..Pipeline::default()
    };
    let found = problems(&broken);
    for wanted in [
        "`name`: it must have 1 to 64 letters, digits, `-` or `_`",
        "step `a`, `tool`: there is no tool `tol_a`: similar names: `tool_a`",
        "step `a`, `retries`: 0 is out of range: use 1 to 100",
        "step `a`, `timeout`: 0 is out of range: use 1 to 86400000",
        "step `a`, `retryDelay`: 18446744073709551615 is out of range: use 0 to 3600000",
        "step `a`, `name`: another step has this name: rename one of them",
        "step `a`, `dependsOn[0]`: there is no step `bb`: the nearest name is `b`",
        "step `load-skill`, `name`: it must have 1 to 64 letters, digits or `_`, and not start with a digit; call it `load_skill`",
        "step `load-skill`, `when`: can't parse the expression `steps.a.`",
        "step `b`, `transform`: there is no variable `zzz`: an expression has `input`, `steps`, `run`, `output`",
        "step `input`, `name`: `input:` is reserved in parameters",
        "step `input`, `params.p.q[0]`: `b c` after `a:` is not a path such as `name.other[0]`; write `literal:`",
    ] {
        assert!(found.contains(wanted), "{wanted}\n---\n{found}");
    }
    assert_eq!(found.lines().count(), 12, "{found}");
}

#[test]
fn cycle_is_named_with_its_steps() {
    let steps = [
        Step::new("free", "tool_a"),
        Step::new("a", "tool_a").after(["c", "free"]),
        Step::new("b", "tool_a").with("p", "a:x"),
        Step {
            when: Some(Rule::from("steps.b.y")),
            ..Step::new("c", "tool_a")
        },
        Step::new("after", "tool_a").after(["c"]),
        Step::new("d", "tool_a").after(["after", "e"]),
        Step::new("e", "tool_a").after(["d"]),
    ];
    let found = problems(&pipeline(steps));
    let wait = "the steps wait for each other";
    let hint = "remove one of these dependencies or references";
    assert_eq!(
        found,
        format!(
            "step `a`, `dependsOn`: {wait}: `a` waits for `c` waits for `b` waits for `a`; {hint}\n\
             step `d`, `dependsOn`: {wait}: `d` waits for `e` waits for `d`; {hint}"
        )
    );
    for step in [
        Step::new("a", "tool_a").after(["a"]),
        Step::new("a", "tool_a").with("p", "a:x"),
        Step {
            transform: Some(Rule::from("steps.a")),
            ..Step::new("a", "tool_a")
        },
    ] {
        let found = problems(&pipeline([step]));
        assert!(
            found.contains("it depends on itself: its own output is `output`"),
            "{found}"
        );
    }
}

#[test]
fn reference_and_expression_are_dependencies() {
    let plan = plan_of([
        Step {
            transform: Some(Rule::from("steps.c")),
            ..Step::new("d", "tool_a")
        },
        Step {
            when: Some(Rule::from("steps.b is defined")),
            ..Step::new("c", "tool_a")
        },
        Step::new("b", "tool_a").with("p", json!([{"q": "a:"}])),
        Step::new("a", "tool_a"),
    ]);
    assert_eq!(plan.layers(), [["a"], ["b"], ["c"], ["d"]]);
    assert_eq!(
        (plan.len(), plan.is_empty(), plan.name()),
        (4, false, "test")
    );
}

#[test]
fn unknown_names_in_values_are_found() {
    let mut broken = pipeline([
        Step::new("bootstrap", "tool_a").with("ok", "http://bootstrap.example"),
        Step::new("b", "tool_a")
            .with("a", "bootstrp:ids")
            .with("b", "expr:steps.bootstrapp.ids")
            .with("c", "expr:bootstrap.ids")
            .with("d", "input:limitt")
            .with("e", "expr:input.limitt")
            .with("f", "{{ steps.bootstrap.v }}")
            .with("g", "to {{input.limit}}")
            .with("h", "literal:{{ input.limit }}")
            .with("i", "{{ other }} {{"),
    ]);
    broken.inputs = Some([("limit".to_owned(), Input::default())].into());
    assert_eq!(
        problems(&broken),
        "step `b`, `params.a`: `bootstrp:ids` looks like a reference, but there is no step `bootstrp`: write `bootstrap:ids`, or `literal:bootstrp:ids` for the text\n\
         step `b`, `params.b`: there is no step `bootstrapp`: did you mean `steps.bootstrap`?\n\
         step `b`, `params.c`: there is no variable `bootstrap`: write `steps.bootstrap`\n\
         step `b`, `params.d`: `inputs` has no `limitt` (`limit`?): add it there, or correct the name\n\
         step `b`, `params.e`: `inputs` has no `limitt` (`limit`?): add it there, or correct the name\n\
         step `b`, `params.f`: `{{ steps.bootstrap.v }}` is not computed: write `expr:steps.bootstrap.v` (texts are joined with `~`), or `literal:` before the text\n\
         step `b`, `params.g`: `{{ input.limit }}` is not computed: write `expr:input.limit` (texts are joined with `~`), or `literal:` before the text"
    );
}

#[test]
fn size_is_limited() {
    assert!(problems(&pipeline([])).contains("a pipeline needs a step"));
    let many = (0..=MAX_STEPS).map(|at| Step::new(format!("s{at}"), "tool_a"));
    assert!(problems(&pipeline(many)).contains("201 steps are too many: use at most 200"));
    let long = Step::new("a", "tool_a").with("p", "x".repeat(MAX_DEFINITION));
    assert!(problems(&pipeline([long])).contains("the definition is longer than 262144 bytes"));
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let mut of_inputs = pipeline([Step::new("a", "tool_a")]);
    let default = Input {
        default: Some(deep.clone()),
        ..Input::default()
    };
    of_inputs.inputs = Some([("x".to_owned(), default)].into());
    assert_eq!(
        problems(&of_inputs),
        "`inputs.x.default`: it is nested deeper than 64 levels"
    );
    let found = problems(&pipeline([Step::new("a", "tool_a").with("p", deep)]));
    assert!(found.contains("nested deeper than 64 levels"), "{found}");
    let found = check(&pipeline([Step::new("a", "x")]), &[]).unwrap_err();
    assert_eq!(found[0].what, "there is no tool `x`: there are no tools");
    let most = (0..MAX_STEPS).map(|at| Step::new(format!("s{at}"), "tool_a"));
    assert!(check(&pipeline(most), &TOOLS).is_ok());
}

#[test]
fn arguments_are_those_of_the_tool() {
    let schema = json!({"properties": {"query": {}, "limit": {}}, "required": ["query"]});
    let tool = Tool {
        name: "find",
        schema: schema.as_object(),
        is_open: false,
    };
    let step = |name: &str| Step::new(name, "find");
    let steps = pipeline([
        step("a").with("query", 1),
        step("b").with("query", "input:").with("limit", json!(null)),
        step("c").with("qquery", 1).with("zzz", 1),
        step("d").with("query", json!(null)),
    ]);
    let found = check(&steps, &[tool]).unwrap_err();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "step `c`, `params.qquery`: `find` has no such argument: did you mean `query`?",
            "step `c`, `params.zzz`: `find` has no such argument: it takes `query`, `limit`",
            "step `c`, `params`: `find` needs the argument `query`: add it",
            "step `d`, `params`: `find` needs the argument `query`: add it",
        ]
    );
    let is_open = true;
    let found = check(&steps, &[Tool { is_open, ..tool }]).unwrap_err();
    assert_eq!(found.len(), 2, "{found:?}");
}
