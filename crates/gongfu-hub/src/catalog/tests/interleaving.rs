//! Approval in generated interleavings: calls of each kind wait, are answered by elicitation and at the
//! command line, are cancelled, and survive restarts; nothing runs more often than it was allowed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_core::approval::{AnswerTarget, Approvals};
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_testing::{MemorySpace, MemorySpaces};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::call::{Asking, Call, EventSink, Events, Proposal, Question};
use crate::catalog::{Catalog, Request};
use crate::entry::Entry;
use crate::gate::{Answer, Quota, Review};
use crate::output::ToolResult;
use crate::profile::Profile;
use crate::surface::approval::{ApprovalAnswer, Reply};
use crate::tool::ToolSpec;

/// The number of generated interleavings.
const SEEDS: u64 = 1_000;
/// The actions of one interleaving.
const ACTIONS: usize = 14;

/// A made-up entry that counts its runs.
struct Counter {
    spec: ToolSpec,
    runs: Arc<Mutex<HashMap<String, usize>>>,
}

impl Review for Counter {
    fn review<'a>(&'a self, _call: &'a Call) -> Answer<'a, Option<Proposal>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

impl Entry for Counter {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: &'a Call) -> Answer<'a, ToolResult> {
        let key = key(&call.entry, &call.arguments);
        *self.runs.lock().unwrap().entry(key).or_default() += 1;
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(ToolResult::text("done"))
        })
    }
}

fn counter(name: &str, access: Access, origin: Origin, world: &World) -> Arc<dyn Entry> {
    Arc::new(Counter {
        spec: ToolSpec {
            name: name.into(),
            title: name.into(),
            description: String::new(),
            input_schema: Arc::new(Map::new()),
            output_schema: None,
            access,
            destructive: true,
            safety: Safety::High,
            says_read_only: false,
            person_only: false,
            ui: Map::new(),
            origin,
            permission: format!("tool.{name}").into(),
            definition: None,
            target: None,
        },
        runs: Arc::clone(&world.runs),
    })
}

fn key(tool: &str, arguments: &Map<String, Value>) -> String {
    format!("{tool} {}", Value::Object(arguments.clone()))
}

/// The calls that are made: a run, a write, and a tool of another server.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        (
            "run_shell_command",
            json!({ "skill_name": "pdf", "command": "git log" }),
        ),
        (
            "run_shell_command",
            json!({ "skill_name": "pdf", "command": "git diff" }),
        ),
        ("thing_write", json!({ "n": 1 })),
        ("thing_write", json!({ "n": 2 })),
        ("other__tool", json!({ "n": 1 })),
    ]
}

/// The number of times that a call may still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credit {
    None,
    Once,
    Always,
}

/// A question that a client shows.
struct QuestionRecord {
    id: String,
    key: String,
    reply: oneshot::Sender<Option<Reply>>,
}

struct World {
    space: Arc<MemorySpace>,
    runs: Arc<Mutex<HashMap<String, usize>>>,
    shown: Arc<Mutex<Vec<QuestionRecord>>>,
    catalog: Arc<Catalog>,
    tasks: Vec<(JoinHandle<()>, CancellationToken)>,
    credits: HashMap<String, Credit>,
    counted: HashMap<String, usize>,
}

/// The client's end of a call: shows questions, and records the replies as its person.
struct Client {
    key: String,
    shown: Arc<Mutex<Vec<QuestionRecord>>>,
    catalog: Arc<Catalog>,
}

impl EventSink for Client {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        let (reply, replied) = oneshot::channel();
        self.shown.lock().unwrap().push(QuestionRecord {
            id: question.id.clone(),
            key: self.key.clone(),
            reply,
        });
        Box::pin(async move {
            let Ok(Some(reply)) = replied.await else {
                return false;
            };
            record(&self.catalog, &question.id, AnswerTarget::Waiting, reply).await
        })
    }
}

async fn record(catalog: &Catalog, id: &str, target: AnswerTarget, reply: Reply) -> bool {
    let answer = ApprovalAnswer {
        approval: id.to_owned(),
        target,
        reply,
        any_arguments: false,
        hours: None,
    };
    let person = Actor::local(Role::Developer, "person");
    catalog.operate(answer, &person).await.unwrap().is_some()
}

impl World {
    fn new() -> Self {
        let space = MemorySpace::default();
        let document = b"---\nname: pdf\ndescription: Reads PDF\n---\n# PDF\n";
        space
            .skills
            .replace(&[("lib/pdf", &[("SKILL.md", document)])]);
        let space = Arc::new(space);
        let mut world = Self {
            catalog: catalog(&space),
            space,
            runs: Arc::default(),
            shown: Arc::default(),
            tasks: Vec::new(),
            credits: HashMap::new(),
            counted: HashMap::new(),
        };
        world.start();
        world
    }

    /// Lists the made-up entries, as every start of a process does.
    fn start(&mut self) {
        let write = counter("thing_write", Access::Write, Origin::Native, self);
        self.catalog
            .provide(&Origin::Native, None, &[write])
            .unwrap();
        let origin = Origin::Server("other".to_owned());
        let foreign = counter("other__tool", Access::Execute, origin.clone(), self);
        self.catalog.provide(&origin, None, &[foreign]).unwrap();
    }

    fn call(&mut self, at: usize, asks: bool) {
        let (tool, arguments) = calls().swap_remove(at);
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        let (catalog, cancel) = (Arc::clone(&self.catalog), CancellationToken::new());
        let client = Client {
            key: key(tool, &arguments),
            shown: Arc::clone(&self.shown),
            catalog: Arc::clone(&self.catalog),
        };
        let token = cancel.clone();
        let task = tokio::spawn(async move {
            let actor = Actor::local(Role::ExternalAgent, "client");
            let profiles = ["standard".parse().unwrap(), "agentskills".parse().unwrap()];
            let profiles: [Profile; 2] = profiles;
            let mut request = Request::new(&profiles, tool, arguments, &actor);
            request.cancel = token;
            if asks {
                request.events = Events::new(Arc::new(client));
            }
            let _ = catalog.call(request).await;
        });
        self.tasks.push((task, cancel));
    }

    fn allow(&mut self, key: &str, reply: Reply) {
        let credit = match reply {
            Reply::Once => Credit::Once,
            Reply::Always => Credit::Always,
            Reply::Session | Reply::No | Reply::Never => Credit::None,
        };
        self.credits.insert(key.to_owned(), credit);
    }

    /// The key of a waiting record, by its position.
    async fn waiting(&self, at: usize) -> Option<(String, String)> {
        let approvals = Approvals::read(&*self.space.records).await.unwrap();
        let record = approvals.all.get(at % approvals.all.len().max(1))?;
        let arguments = calls().into_iter().find(|(tool, arguments)| {
            *tool == record.tool
                && match arguments.get("command") {
                    Some(command) => Some(record.what.as_str()) == command.as_str(),
                    None => record.details.contains(&format!("n: {}", arguments["n"])),
                }
        });
        let (tool, arguments) = arguments.unwrap();
        Some((record.id.clone(), key(tool, arguments.as_object().unwrap())))
    }

    /// Lets everything run that can, and compares the runs with what was allowed.
    async fn settle(&mut self, context: &str) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let scripted = self.space.sandbox.take_specs();
        let mut runs = self.runs.lock().unwrap().clone();
        for spec in scripted {
            let gongfu_core::sandbox::Command::Line(line) = spec.command else {
                unreachable!()
            };
            let arguments = json!({ "skill_name": "pdf", "command": line });
            let key = key("run_shell_command", arguments.as_object().unwrap());
            *runs.entry(key.clone()).or_default() += 1;
            *self.runs.lock().unwrap().entry(key).or_default() += 1;
        }
        for (key, count) in runs {
            let before = self.counted.insert(key.clone(), count).unwrap_or_default();
            let credit = self.credits.get(&key).copied().unwrap_or(Credit::None);
            match (count - before, credit) {
                (0, _) | (_, Credit::Always) => {}
                (1, Credit::Once) => {
                    self.credits.insert(key, Credit::None);
                }
                (more, credit) => panic!("{context}: {key} ran {more} times with {credit:?}"),
            }
        }
        // An approval isn't left lying while its call waits for it.
        let shown = self.shown.lock().unwrap();
        for question in shown.iter().filter(|question| !question.reply.is_closed()) {
            let credit = self.credits.get(&question.key).copied();
            assert!(
                credit.is_none_or(|credit| credit == Credit::None),
                "{context}: {} waits though it is allowed",
                question.key
            );
        }
    }

    /// Kills the process: what waits is gone, and the records stay.
    fn restart(&mut self) {
        for (task, _) in self.tasks.drain(..) {
            task.abort();
        }
        self.shown.lock().unwrap().clear();
        self.catalog = catalog(&self.space);
        self.start();
    }
}

fn catalog(space: &Arc<MemorySpace>) -> Arc<Catalog> {
    let spaces = MemorySpaces::of(Arc::clone(space));
    Arc::new(Catalog::new(Arc::new(spaces), Quota::default(), None))
}

/// A small generator, so that a seed means the same interleaving everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

async fn interleave(seed: u64, counts: &mut HashMap<&'static str, usize>) {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut world = World::new();
    for step in 0..ACTIONS {
        let action = match random.below(20) {
            0..8 => {
                let (at, asks) = (random.below(calls().len()), random.below(4) > 0);
                world.call(at, asks);
                "call"
            }
            8..12 => {
                let shown = {
                    let mut shown = world.shown.lock().unwrap();
                    shown.retain(|question| !question.reply.is_closed());
                    let count = shown.len();
                    (count > 0).then(|| shown.swap_remove(random.below(count)))
                };
                if let Some(shown) = shown {
                    let reply = [
                        Some(Reply::Once),
                        Some(Reply::Always),
                        Some(Reply::No),
                        None,
                    ][random.below(40).saturating_sub(36).min(3)];
                    if let Some(reply) = reply {
                        let _ = &shown.id;
                        world.allow(&shown.key, reply);
                    }
                    let _ = shown.reply.send(reply);
                }
                "elicited"
            }
            12..16 => {
                let reply = [Reply::Once, Reply::Never][random.below(8) / 7];
                let at = random.below(8);
                if let Some((id, key)) = world.waiting(at).await
                    && record(&world.catalog, &id, AnswerTarget::Any, reply).await
                {
                    world.allow(&key, reply);
                }
                "command line"
            }
            16..18 => {
                let count = world.tasks.len();
                if count > 0 {
                    let (task, cancel) = world.tasks.swap_remove(random.below(count));
                    if random.below(2) == 0 {
                        cancel.cancel();
                    } else {
                        task.abort();
                    }
                }
                "cancel"
            }
            18 => {
                world.restart();
                "restart"
            }
            _ => "pause",
        };
        world
            .settle(&format!("seed {seed}, step {step}, {action}"))
            .await;
        *counts.entry(action).or_default() += 1;
    }
    let runs: usize = world.runs.lock().unwrap().values().sum();
    *counts.entry("runs").or_default() += runs;
    for (task, _) in world.tasks.drain(..) {
        task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn approved_call_runs_at_most_once_in_every_interleaving() {
    let mut counts = HashMap::new();
    for seed in 0..SEEDS {
        interleave(seed, &mut counts).await;
    }
    println!("{SEEDS} interleavings: {counts:?}");
    // Control: the interleavings did run calls, and met every kind of action.
    assert!(counts["runs"] > 500, "{counts:?}");
    assert_eq!(counts.len(), 7, "{counts:?}");
}
