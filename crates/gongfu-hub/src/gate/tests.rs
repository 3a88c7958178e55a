//! The gate: what passes, the stage that refuses, and the audit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gongfu_core::account::{Actor, Owner, Role};
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::port::{RecordKey, Records as _};
use gongfu_testing::{MemorySpace, now};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{Answer, Gate, Quota, Review};
use crate::call::{Call, Events, Form, Proposal};
use crate::error_code::ErrorCode;
use crate::tool::ToolSpec;

fn spec(access: Access, safety: Safety) -> ToolSpec {
    let schema = json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let Value::Object(schema) = schema else {
        unreachable!()
    };
    ToolSpec {
        name: "thing_do".into(),
        title: "Do it".into(),
        description: String::new(),
        input_schema: Arc::new(schema),
        output_schema: None,
        access,
        destructive: access != Access::Read,
        safety,
        says_read_only: false,
        person_only: false,
        ui: Map::new(),
        origin: Origin::Native,
        permission: "tool.thing_do".into(),
        definition: None,
        target: None,
    }
}

struct NeverAsks;

impl Review for NeverAsks {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

type Outcome = (Result<(), (ErrorCode, Option<&'static str>)>, bool);

/// Passes a call through a gate; its outcome and whether it ran.
fn pass(
    gate: &Gate,
    space: &MemorySpace,
    role: Role,
    spec: &ToolSpec,
    arguments: Value,
) -> Outcome {
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let call = Call {
        id: 0,
        parent: None,
        actor: Actor::local(role, "test"),
        space: space.open(&Owner::Local),
        entry: Arc::clone(&spec.name),
        arguments: Arc::new(arguments),
        is_replay: false,
        trace: None,
        events: Events::default(),
        cancel: CancellationToken::new(),
        form: Form::Direct,
        asked_level: None,
        allowed: None,
    };
    let ran = AtomicBool::new(false);
    let passing = gate.pass(call, spec, &NeverAsks, |_| async {
        ran.store(true, Ordering::Relaxed);
        Ok(())
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let outcome = runtime.unwrap().block_on(passing);
    let outcome = outcome.map_err(|error| (error.code(), error.refused_by));
    (outcome, ran.into_inner())
}

fn call(space: &MemorySpace, role: Role, spec: &ToolSpec, arguments: Value) -> Outcome {
    let gate = Gate::new(Quota::default(), None);
    pass(&gate, space, role, spec, arguments)
}

fn audit(space: &MemorySpace) -> Vec<Value> {
    let log = RecordKey::new("audit").unwrap();
    let entries = now(space.records.entries(&log, usize::MAX)).unwrap();
    let entries = entries.into_iter();
    entries
        .map(|entry| serde_json::from_slice(&entry).unwrap())
        .collect()
}

#[test]
fn stage_refuses_and_is_named_in_the_audit() {
    let space = MemorySpace::default();
    let good = json!({ "n": 1 });
    let read = spec(Access::Read, Safety::Low);
    let run = spec(Access::Execute, Safety::High);
    assert_eq!(
        call(&space, Role::Visitor, &read, good.clone()),
        (Ok(()), true)
    );
    for (role, spec, arguments, code, stage) in [
        (
            Role::Visitor,
            &run,
            good.clone(),
            ErrorCode::Forbidden,
            "scope",
        ),
        (
            Role::ExternalAgent,
            &run,
            good.clone(),
            ErrorCode::ApprovalRequired,
            "approval",
        ),
        (
            Role::Developer,
            &read,
            json!({ "n": "x".repeat(5_000_000) }),
            ErrorCode::ArgumentsTooLarge,
            "size",
        ),
        (
            Role::Developer,
            &read,
            json!({}),
            ErrorCode::MissingArgument,
            "arguments",
        ),
        (
            Role::Developer,
            &read,
            json!({ "n": 1, "m": 2 }),
            ErrorCode::UnknownArgument,
            "arguments",
        ),
        (
            Role::Developer,
            &read,
            json!({ "n": "1" }),
            ErrorCode::InvalidArgument,
            "arguments",
        ),
    ] {
        assert_eq!(
            call(&space, role, spec, arguments),
            (Err((code, Some(stage))), false)
        );
        let entries = audit(&space);
        let last = entries.last().unwrap();
        assert_eq!(
            (&last["outcome"], &last["refused_by"], &last["phase"]),
            (&json!(code.as_str()), &json!(stage), &json!("end"))
        );
    }
    assert_eq!(
        call(&space, Role::Developer, &run, good),
        (Ok(()), true),
        "a developer is the person who is asked"
    );
}

#[test]
fn change_is_in_the_audit_before_it_runs() {
    let space = MemorySpace::default();
    let (outcome, _) = call(
        &space,
        Role::Developer,
        &spec(Access::Write, Safety::Medium),
        json!({ "n": 1 }),
    );
    assert_eq!(outcome, Ok(()));
    let entries = audit(&space);
    let phases: Vec<&Value> = entries.iter().map(|entry| &entry["phase"]).collect();
    assert_eq!(phases, [&json!("begin"), &json!("end")]);
    let arguments = entries[0]["arguments"].as_str().unwrap();
    assert!(
        arguments.starts_with("sha256:"),
        "arguments may be private: only their digest is kept"
    );
}

#[test]
fn broken_audit_stops_changes_and_nothing_else() {
    let space = MemorySpace::default();
    space.records.break_logs(Some("the disk is full"));
    for access in [Access::Write, Access::Execute] {
        let refused = call(
            &space,
            Role::Developer,
            &spec(access, Safety::Medium),
            json!({ "n": 1 }),
        );
        assert_eq!(
            refused,
            (Err((ErrorCode::Unavailable, Some("audit"))), false)
        );
    }
    assert_eq!(
        call(
            &space,
            Role::Developer,
            &spec(Access::Read, Safety::Safe),
            json!({ "n": 1 })
        ),
        (Ok(()), true)
    );
}

#[test]
fn operation_for_persons_is_refused_to_everybody_else() {
    let space = MemorySpace::default();
    let spec = ToolSpec {
        person_only: true,
        ..spec(Access::Read, Safety::Safe)
    };
    for role in [Role::ExternalAgent, Role::ChatAgent, Role::Visitor] {
        let refused = call(&space, role, &spec, json!({ "n": 1 }));
        assert_eq!(refused, (Err((ErrorCode::Forbidden, Some("scope"))), false));
    }
    let passed = call(&space, Role::Developer, &spec, json!({ "n": 1 }));
    assert_eq!(passed, (Ok(()), true));
}

#[test]
fn quota_refuses_runs_above_its_limit_and_nothing_else() {
    let space = MemorySpace::default();
    let gate = Gate::new(Quota::new(0), None);
    let run = spec(Access::Execute, Safety::Medium);
    assert_eq!(
        pass(&gate, &space, Role::Developer, &run, json!({ "n": 1 })),
        (Err((ErrorCode::QuotaExceeded, Some("quota"))), false)
    );
    let read = spec(Access::Read, Safety::Low);
    let passed = pass(&gate, &space, Role::Developer, &read, json!({ "n": 1 }));
    assert_eq!(passed, (Ok(()), true));
}

#[test]
fn quota_is_given_back_when_a_run_ends() {
    let space = MemorySpace::default();
    let gate = Gate::new(Quota::new(1), None);
    let run = spec(Access::Execute, Safety::Medium);
    for _ in 0..3 {
        let passed = pass(&gate, &space, Role::Developer, &run, json!({ "n": 1 }));
        assert_eq!(passed, (Ok(()), true));
    }
}

#[test]
fn person_is_asked_from_the_threshold_on() {
    use Safety::{Critical, High, Low, Medium, Safe};
    let levels = [Safe, Low, Medium, High, Critical];
    for threshold in levels {
        let mut gate = Gate::new(Quota::default(), None);
        gate.threshold = threshold;
        for level in levels {
            let (space, spec) = (MemorySpace::default(), spec(Access::Execute, level));
            let asked = |role| {
                let (outcome, _) = pass(&gate, &space, role, &spec, json!({ "n": 1 }));
                outcome == Err((ErrorCode::ApprovalRequired, Some("approval")))
            };
            let case = format!("{level:?} from {threshold:?} on");
            assert_eq!(asked(Role::ExternalAgent), level >= threshold, "{case}");
            assert!(!asked(Role::Developer), "{case}: the person is asked");
        }
    }
}

#[test]
fn stages_have_this_order() {
    let gate = Gate::new(Quota::default(), None);
    let names: Vec<&str> = gate.stages.iter().map(|stage| stage.name()).collect();
    let expected = ["scope", "size", "arguments", "safety", "approval", "quota"];
    assert_eq!(names, expected);
}
