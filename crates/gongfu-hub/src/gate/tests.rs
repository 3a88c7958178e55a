//! The gate: what passes, what is refused by which stage, what is written down.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use gongfu_core::account::{Actor, Owner, Role};
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::port::{AuditEntry, AuditLog, Clock, Pending, Phase, PortError, Timestamp};
use serde_json::{Value, json};

use super::{Call, Gate};
use crate::error::ErrorCode;
use crate::tool::{Content, ToolResult, ToolSpec};

#[derive(Default)]
struct Written {
    entries: Mutex<Vec<AuditEntry>>,
    broken: AtomicBool,
}

impl AuditLog for Written {
    fn record<'a>(&'a self, _owner: &'a Owner, entry: &'a AuditEntry) -> Pending<'a, ()> {
        let outcome = if self.broken.load(Ordering::Relaxed) {
            Err(PortError::Unavailable("the disk is full".to_owned()))
        } else {
            self.entries.lock().unwrap().push(entry.clone());
            Ok(())
        };
        Box::pin(std::future::ready(outcome))
    }
}

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(7)
    }
}

fn spec(access: Access, safety: Safety) -> ToolSpec {
    let schema = json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let Value::Object(schema) = schema else {
        unreachable!()
    };
    ToolSpec {
        name: "thing_do",
        title: "Do it",
        description: String::new(),
        input_schema: Arc::new(schema),
        output_schema: None,
        access,
        destructive: access != Access::Read,
        safety,
        origin: Origin::Native,
    }
}

/// Calls a tool of that kind; answers its outcome and whether it ran.
fn call(
    audit: &Arc<Written>,
    role: Role,
    spec: &ToolSpec,
    arguments: Value,
) -> (Result<(), (ErrorCode, Option<&'static str>)>, bool) {
    let gate = Gate::new(Arc::clone(audit) as Arc<dyn AuditLog>, Arc::new(Still));
    let actor = Actor::local(role, "test");
    let Value::Object(arguments) = arguments else {
        unreachable!()
    };
    let ran = AtomicBool::new(false);
    let outcome = {
        let call = Call {
            actor: &actor,
            spec,
            arguments: &arguments,
            hosts: &super::Hosts::default(),
        };
        let passing = gate.pass(&call, || {
            Box::pin(async {
                ran.store(true, Ordering::Relaxed);
                Ok(ToolResult {
                    content: vec![Content::text("done")],
                    structured_content: None,
                })
            })
        });
        match pin!(passing).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome
                .map(|_| ())
                .map_err(|error| (error.code(), error.refused_by)),
            Poll::Pending => panic!("nothing here waits"),
        }
    };
    (outcome, ran.into_inner())
}

#[test]
fn each_stage_refuses_what_it_is_for() {
    let audit = Arc::new(Written::default());
    let good = json!({ "n": 1 });
    let read = spec(Access::Read, Safety::Low);
    let run = spec(Access::Execute, Safety::High);
    assert_eq!(
        call(&audit, Role::Visitor, &read, good.clone()),
        (Ok(()), true)
    );
    for (role, spec, arguments, code, stage) in [
        (
            Role::Visitor,
            &run,
            good.clone(),
            ErrorCode::Forbidden,
            "role",
        ),
        (
            Role::ExternalAgent,
            &run,
            good.clone(),
            ErrorCode::ApprovalRequired,
            "safety",
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
            call(&audit, role, spec, arguments),
            (Err((code, Some(stage))), false)
        );
        let entries = audit.entries.lock().unwrap();
        let last = entries.last().unwrap();
        assert_eq!(
            (last.outcome, last.refused_by, last.phase),
            (code.as_str(), Some(stage), Phase::End)
        );
    }
    assert_eq!(
        call(&audit, Role::Developer, &run, good),
        (Ok(()), true),
        "a developer is the person who is asked"
    );
}

#[test]
fn what_changes_or_runs_is_written_down_before() {
    let audit = Arc::new(Written::default());
    let (outcome, _) = call(
        &audit,
        Role::Developer,
        &spec(Access::Write, Safety::Medium),
        json!({ "n": 1 }),
    );
    assert_eq!(outcome, Ok(()));
    let phases: Vec<Phase> = audit
        .entries
        .lock()
        .unwrap()
        .iter()
        .map(|entry| entry.phase)
        .collect();
    assert_eq!(phases, [Phase::Begin, Phase::End]);
    let arguments = &audit.entries.lock().unwrap()[0].arguments;
    assert!(
        arguments.starts_with("sha256:"),
        "arguments may be private: only their digest is kept"
    );
}

#[test]
fn a_broken_audit_stops_changes_and_nothing_else() {
    let audit = Arc::new(Written::default());
    audit.broken.store(true, Ordering::Relaxed);
    for access in [Access::Write, Access::Execute] {
        let refused = call(
            &audit,
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
            &audit,
            Role::Developer,
            &spec(Access::Read, Safety::Safe),
            json!({ "n": 1 })
        ),
        (Ok(()), true)
    );
}

#[test]
fn the_stages_stand_in_order() {
    let gate = Gate::new(Arc::new(Written::default()), Arc::new(Still));
    let names: Vec<&str> = gate.stages.iter().map(|stage| stage.name()).collect();
    assert_eq!(names, ["role", "safety", "size", "arguments"]);
}
