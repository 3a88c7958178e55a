//! The context that an agent plans with, where the environment names skills and servers: the test plan of seed 004.

use gongfu_testing::json::{at, failed, list_at, text_at, texts};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran, Run};
use crate::stdio::Client;

/// A server that misbehaves as its argument says.
const SERVER: &str = include_str!("../../../../scripts/faulty_server.py");
/// The variables of the seed that name a file or a folder.
const PLACES: [&str; 4] = [
    "LLP_SKILLS_DIRS",
    "LLP_CLAUDE_SKILLS_DIR",
    "LLP_MCP_CONNECTIONS_DIR",
    "LLP_MCP_CONNECTIONS_FILE",
];

/// A person's machine, with the places that the variables name.
struct Machine(Fixture);

impl Machine {
    /// Skills in two folders, in one for Claude and in the project; one server in a file of many.
    fn new(fault: &str) -> Self {
        let fixture = Fixture::new();
        for (folder, name) in [
            ("extra", "from-extra"),
            ("more/skills", "from-more"),
            ("claude/skills", "from-claude"),
            ("project/skills", "of-project"),
        ] {
            fixture.skill_in(folder, name, "Does something");
        }
        fixture.write("server.py", SERVER);
        let machine = Self(fixture);
        machine.write_connection("servers.yaml", "files", fault, "tools: [echo, pid]");
        machine
    }

    /// Writes a file with one connection, in the form of the seed.
    fn write_connection(&self, path: &str, name: &str, fault: &str, more: &str) {
        let script = self.0.path("server.py");
        let script = script.display();
        let text = format!(
            "connections:\n  - name: {name}\n    command: python3\n    args: [{script:?}, {fault}]\n    env:\n      CHANNEL: stable\n    {more}\n",
            script = script.to_string(),
        );
        self.0.write(path, text);
    }

    /// The program with all the variables of the seed.
    fn gongfu(&self, words: &[&str]) -> Run {
        let dirs = [self.0.path("extra"), self.0.path("more")];
        let values = [
            std::env::join_paths(dirs).unwrap(),
            self.0.path("claude").into(),
            self.0.path("servers").into(),
            self.0.path("servers.yaml").into(),
        ];
        let run = self.0.gongfu(words).with("GONGFU_STANDALONE", "1");
        let run = run.with("LLP_ENABLE_CLAUDE_GLOBAL", "1");
        let places = PLACES.into_iter().zip(values);
        places.fold(run, |run, (name, value)| run.with(name, value))
    }

    fn approve(&self, name: &str) {
        self.gongfu(&["connection", "approve", name, "--yes"])
            .good();
    }

    fn client(&self) -> Client {
        let mut client = Client::start(&self.gongfu(&["mcp"]));
        client.initialize("2025-11-25");
        client
    }
}

/// The context of a run.
fn context(run: &Run) -> (Value, Ran) {
    let ran = run.good();
    (ran.json(), ran)
}

const CONTEXT: [&str; 3] = ["capability", "context", "--json"];

fn skills(context: &Value) -> Vec<&str> {
    texts(list_at(context, "/available_skills"), "")
}

/// The entry of a capability in the context; its hint says the same where there is something to heed.
#[track_caller]
fn capability<'a>(context: &'a Value, id: &str) -> &'a Value {
    let all = list_at(context, "/capabilities");
    let found = all.iter().find(|one| one["id"] == id).unwrap();
    let hint = &context["planning_hints"][id];
    for field in ["safety_level", "requires_approval"] {
        assert!(
            hint.is_null() || hint[field] == found[field],
            "{id}: {hint}"
        );
    }
    assert!(
        !hint.is_null() || found["requires_approval"] == false,
        "{id}"
    );
    found
}

#[test]
fn skills_of_the_variables_are_available() {
    let machine = Machine::new("none");
    let (context, _) = context(&machine.gongfu(&CONTEXT));
    let known = skills(&context);
    for name in ["from-extra", "from-more", "from-claude", "of-project"] {
        assert!(known.contains(&name), "{name}: {known:?}");
    }
    // Without the switch, nobody asked for the folder of Claude.
    let run = machine
        .gongfu(&CONTEXT)
        .with("LLP_ENABLE_CLAUDE_GLOBAL", "");
    let (context, _) = self::context(&run);
    assert!(!skills(&context).contains(&"from-claude"));
}

#[test]
fn server_that_ends_at_once_has_no_tool() {
    let machine = Machine::new("exit");
    machine
        .gongfu(&["connection", "approve", "files", "--yes"])
        .ends(1);
    let (context, _) = context(&machine.gongfu(&CONTEXT));
    assert_eq!(at(&context, "/available_mcp_tools"), &json!([]));
    let tools = machine.client().ask("tools/list", json!({}));
    let tools = texts(list_at(&tools, "/tools"), "/name");
    assert!(!tools.iter().any(|name| name.starts_with("files")));

    // The control: the same server, once it works; then it ends at once again.
    machine.write_connection("servers.yaml", "files", "none", "tools: [echo, pid]");
    machine.approve("files");
    let (context, _) = self::context(&machine.gongfu(&CONTEXT));
    let both = json!(["mcp.files.echo", "mcp.files.pid"]);
    assert_eq!(at(&context, "/available_mcp_tools"), &both);
    machine.0.write("server.py", "raise SystemExit(3)");
    let mut client = machine.client();
    // The second call finds no tool any more, and must hear the same.
    for _ in 0..2 {
        let refused = failed(&client.call("files__echo", json!({ "text": "x" })));
        assert_eq!(
            text_at(&refused, "/code"),
            "SERVER_UNAVAILABLE",
            "{refused}"
        );
    }
    let unknown = json!({ "name": "others__echo", "arguments": {} });
    let unknown = client.request("tools/call", unknown);
    assert!(text_at(&unknown, "/error/message").contains("TOOL_NOT_FOUND"));
    let listed = machine.gongfu(&["connection", "list", "--json"]).good();
    assert_eq!(text_at(&listed.json(), "/0/state"), "DEAD");
}

#[test]
fn plan_finds_skills_and_tools_in_one_form() {
    let machine = Machine::new("none");
    machine.write_connection("servers/second.yml", "second", "none", "safety: HIGH");
    machine.approve("files");
    machine.approve("second");
    let (context, _) = context(&machine.gongfu(&CONTEXT));
    let tools = texts(list_at(&context, "/available_mcp_tools"), "");
    // Only those of the list of the file, and all of the other.
    assert_eq!(tools[..2], ["mcp.files.echo", "mcp.files.pid"]);
    assert!(tools.contains(&"mcp.second.sleep"));
    let known = texts(list_at(&context, "/capabilities"), "/id");
    for id in ["mcp.files.echo", "skill.from-extra", "skill.of-project"] {
        assert!(known.contains(&id), "{id}: {known:?}");
        let one = capability(&context, id);
        assert!(one["safety_level"].is_string() && one["requires_approval"].is_boolean());
    }
}

#[test]
fn calls_wait_exactly_where_the_hints_say_so() {
    let machine = Machine::new("none");
    machine.write_connection("servers/second.yml", "second", "none", "safety: HIGH");
    machine.approve("files");
    machine.approve("second");
    let (context, _) = context(&machine.gongfu(&CONTEXT));
    let mut client = machine.client();
    let mut call = |tool: &str| client.call(tool, json!({ "text": "hello" }));
    assert_eq!(
        capability(&context, "mcp.files.echo")["requires_approval"],
        false
    );
    assert_eq!(text_at(&call("files__echo"), "/content/0/text"), "hello");

    assert_eq!(
        capability(&context, "mcp.second.echo")["requires_approval"],
        true
    );
    let waits = failed(&call("second__echo"));
    assert_eq!(text_at(&waits, "/code"), "APPROVAL_REQUIRED");
    // One answer for all its calls, and a plan needs nobody for it any more.
    let id = text_at(&waits, "/approval");
    let allow = ["approve", "allow", id, "--for", "always", "--any-arguments"];
    machine.gongfu(&allow).good();
    let (context, _) = self::context(&machine.gongfu(&CONTEXT));
    assert_eq!(
        capability(&context, "mcp.second.echo")["requires_approval"],
        false
    );
    assert_eq!(text_at(&call("second__echo"), "/content/0/text"), "hello");
}

#[test]
fn level_of_the_variable_is_that_of_servers_that_say_none() {
    let machine = Machine::new("none");
    machine.write_connection("servers/second.yml", "second", "none", "safety: LOW");
    machine.approve("files");
    machine.approve("second");
    let levels = [
        ("LOW", false),
        ("MEDIUM", false),
        ("HIGH", true),
        ("CRITICAL", true),
    ];
    for (level, waits) in levels {
        let run = machine
            .gongfu(&CONTEXT)
            .with("LLP_MCP_DEFAULT_SAFETY", level);
        let (context, _) = context(&run);
        let default = capability(&context, "mcp.files.echo");
        assert_eq!(default["safety_level"], level);
        assert_eq!(default["requires_approval"], waits, "{level}");
        assert_eq!(
            capability(&context, "mcp.second.echo")["safety_level"],
            "LOW"
        );
    }
    let (context, _) = context(&machine.gongfu(&CONTEXT));
    assert_eq!(
        capability(&context, "mcp.files.echo")["safety_level"],
        "MEDIUM"
    );
    // A word that nobody knows is told, and lowers nothing.
    let unknown = |words: &[&str]| {
        let run = machine.gongfu(words);
        run.with("LLP_MCP_DEFAULT_SAFETY", "SOMETIMES").good()
    };
    let context = unknown(&CONTEXT).json();
    assert_eq!(
        capability(&context, "mcp.files.echo")["safety_level"],
        "HIGH"
    );
    let told = unknown(&["connection", "list"]).stderr;
    assert!(
        told.contains("LLP_MCP_DEFAULT_SAFETY: `SOMETIMES`"),
        "{told}"
    );
}

#[test]
fn nothing_set_changes_nothing() {
    let machine = Machine::new("none");
    machine.approve("files");
    let plain = || machine.0.gongfu(CONTEXT).with("GONGFU_STANDALONE", "1");
    let (unset, _) = context(&plain());
    let known = skills(&unset);
    assert!(known.contains(&"of-project") && !known.iter().any(|name| name.starts_with("from-")));
    assert_eq!(at(&unset, "/available_mcp_tools"), &json!([]));
    let known = texts(list_at(&unset, "/capabilities"), "/id");
    assert!(known.contains(&"file_read"));
    // Empty is unset.
    let empty = PLACES
        .into_iter()
        .fold(plain(), |run, name| run.with(name, ""));
    assert_eq!(context(&empty).0, unset);
}

#[test]
fn wrong_place_is_skipped_and_named() {
    let machine = Machine::new("none");
    machine.write_connection("servers/good.yaml", "good", "none", "safety: LOW");
    machine.approve("good");
    machine
        .0
        .write("servers/broken.json", "{\n  \"name\": \"three\",\n");
    let missing = machine.0.path("nowhere");
    let dirs = std::env::join_paths([missing.clone(), machine.0.path("extra")]).unwrap();
    let run = machine.gongfu(&CONTEXT);
    let run = run.with("LLP_SKILLS_DIRS", dirs);
    let run = run.with("LLP_MCP_CONNECTIONS_FILE", machine.0.path("nowhere.yaml"));
    let (context, ran) = context(&run);
    assert!(skills(&context).contains(&"from-extra"));
    let tools = texts(list_at(&context, "/available_mcp_tools"), "");
    assert!(tools.contains(&"mcp.good.echo"), "{tools:?}");
    let list = ["connection", "list"];
    let run = machine.gongfu(&list);
    let run = run.with("LLP_MCP_CONNECTIONS_FILE", machine.0.path("nowhere.yaml"));
    let words = ran.stderr + &run.good().stderr;
    for part in ["nowhere", "broken.json", "nowhere.yaml"] {
        assert!(words.contains(part), "{part}: {words}");
    }
}
