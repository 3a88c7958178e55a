//! Random graphs of steps: order, progress and single ends, or a refusal.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::super::{ErrorStrategy, Event, Plan, Rule, Run, Status, Step, StepError, check};
use super::{TOOLS, pipeline};

/// The graphs that are tried.
const GRAPHS: u32 = 10_000;
/// The highest number of steps of a graph.
const MAX_NODES: usize = 12;

/// A random step: the earlier steps that it waits for as bits, and what it does.
#[derive(Debug, Clone)]
struct Node {
    parents: u16,
    /// Waits for its parents by references, rather than `dependsOn`.
    refers: bool,
    is_off: bool,
    failures: u32,
    retries: u32,
    goes_on: bool,
}

fn node() -> impl Strategy<Value = Node> {
    let fields = (
        any::<u16>(),
        any::<u16>(),
        any::<bool>(),
        0..6_u8,
        0..3_u32,
        1..4_u32,
        0..4_u8,
    );
    fields.prop_map(|(a, b, refers, off, failures, retries, goes_on)| Node {
        // Few edges, so that there are layers and chains.
        parents: a & b,
        refers,
        is_off: off == 0,
        failures,
        retries,
        goes_on: goes_on > 0,
    })
}

/// The choices of order: the limit, and which of the running calls ends next.
fn choices() -> impl Strategy<Value = (usize, Vec<u8>)> {
    (1..6_usize, vec(any::<u8>(), 1..40))
}

/// The steps, in an order that isn't that of the dependencies.
fn steps(nodes: &[Node]) -> Vec<Step> {
    let mut steps: Vec<Step> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| step(at, node))
        .collect();
    steps.reverse();
    steps
}

fn parents(at: usize, node: &Node) -> impl Iterator<Item = usize> {
    let bits = node.parents;
    (0..at).filter(move |parent| bits & (1 << parent) != 0)
}

fn step(at: usize, node: &Node) -> Step {
    let mut step = Step {
        when: node.is_off.then(|| Rule::from("false")),
        retries: node.retries,
        error_strategy: if node.goes_on {
            ErrorStrategy::Continue
        } else {
            ErrorStrategy::Fail
        },
        ..Step::new(format!("s{at}"), "tool_a")
    };
    for parent in parents(at, node) {
        if node.refers {
            step = step.with(format!("p{parent}"), format!("s{parent}:"));
        } else {
            step.depends_on.push(format!("s{parent}"));
        }
    }
    step
}

/// Runs a plan; answers the ended steps, and checks the order of starts on the way.
fn ends(
    nodes: &[Node],
    plan: &Arc<Plan>,
    limit: usize,
    order: &[u8],
) -> Result<Run, TestCaseError> {
    let fail = |what: String| Err(TestCaseError::fail(what));
    let mut run = Run::start(Arc::clone(plan), json!({}), "r").unwrap();
    let mut running: Vec<(String, u32)> = Vec::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    let mut turns = order.iter().cycle();
    for _ in 0..1_000 {
        let ready = run.next(limit);
        for event in run.take_events() {
            let (Event::StepSkipped { step: name }
            | Event::StepFinished { step: name, .. }
            | Event::StepFailed {
                step: name,
                again: false,
                ..
            }) = &event
            else {
                continue;
            };
            if !ended.insert(name.clone()) {
                return fail(format!("{name} ends twice"));
            }
        }
        for call in ready {
            let at: usize = call.step[1..].parse().unwrap();
            let missing =
                parents(at, &nodes[at]).find(|parent| !ended.contains(&format!("s{parent}")));
            if let Some(parent) = missing {
                return fail(format!("{} starts before s{parent} ends", call.step));
            }
            running.push((call.step, call.attempt));
        }
        if running.len() > limit {
            return fail(format!("{} calls at once", running.len()));
        }
        if running.is_empty() {
            return if run.is_over() {
                Ok(run)
            } else {
                fail("it stands still".to_owned())
            };
        }
        let turn = usize::from(*turns.next().unwrap());
        let (step, attempt) = running.remove(turn % running.len());
        let at: usize = step[1..].parse().unwrap();
        let result = if attempt <= nodes[at].failures {
            Err(StepError::new("no"))
        } else {
            Ok(Value::from(at))
        };
        run.finished(&step, result, 1).unwrap();
    }
    fail("it never ends".to_owned())
}

#[test]
fn ten_thousand_random_graphs_run_in_order_to_their_end() {
    let mut runner = TestRunner::new(Config {
        cases: GRAPHS,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (vec(node(), 1..=MAX_NODES), choices());
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let tried = std::cell::RefCell::new(&mut seen);
    let result = runner.run(&strategy, |(nodes, (limit, order))| {
        let plan = Arc::new(check(&pipeline(steps(&nodes)), &TOOLS).unwrap());
        let run = ends(&nodes, &plan, limit, &order)?;
        let outcome = run.outcome(0);
        let may_fail = |node: &Node| node.failures >= node.retries && !node.is_off;
        let stops = nodes.iter().any(|node| may_fail(node) && !node.goes_on);
        assert_eq!(outcome.success, !stops, "{outcome:?}");
        if outcome.success {
            assert_eq!(outcome.trace.len(), nodes.len());
            assert_eq!(outcome.outputs.len(), nodes.len());
        }
        for entry in &outcome.trace {
            let node = &nodes[entry.step[1..].parse::<usize>().unwrap()];
            let wanted = match () {
                () if node.is_off => Status::Skipped,
                () if may_fail(node) => Status::Failed,
                // Due for another attempt when the pipeline stopped.
                () if stops && entry.status == Status::Failed => Status::Failed,
                () => Status::Ok,
            };
            assert_eq!(entry.status, wanted, "{entry:?} {node:?}");
        }
        let kind = if outcome.success {
            "success"
        } else {
            "failure"
        };
        *tried.borrow_mut().entry(kind).or_default() += 1;
        Ok(())
    });
    result.unwrap();
    // Both are common, else the test would show little.
    assert!(
        seen["success"] > GRAPHS / 20 && seen["failure"] > GRAPHS / 20,
        "{seen:?}"
    );
}

#[test]
fn random_graph_with_a_cycle_is_refused() {
    let mut runner = TestRunner::new(Config {
        cases: GRAPHS / 10,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (
        vec(node(), 1..=MAX_NODES),
        vec(any::<proptest::sample::Index>(), 1..5),
    );
    let result = runner.run(&strategy, |(nodes, cycle)| {
        let mut steps = steps(&nodes);
        let mut names: Vec<String> = Vec::new();
        for at in cycle {
            let name = at.get(&steps).name.clone();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for (at, name) in names.iter().enumerate() {
            let step = steps.iter_mut().find(|step| step.name == *name).unwrap();
            step.depends_on.push(names[(at + 1) % names.len()].clone());
        }
        let problems = check(&pipeline(steps), &TOOLS).unwrap_err();
        let is_cycle =
            |what: &str| what.contains("wait for each other") || what.contains("depends on itself");
        assert!(
            problems.iter().all(|problem| is_cycle(&problem.what)),
            "{problems:?}"
        );
        Ok(())
    });
    result.unwrap();
}
