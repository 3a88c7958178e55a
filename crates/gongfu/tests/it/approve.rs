//! Commands that a person is asked about: by a client over MCP, and the person at the command line.

use serde_json::{Value, json};

use crate::world::{World, text_at};

fn world() -> World {
    let world = World::new();
    world.skill("gcd", "Calculates the greatest common divisor.");
    world
}

/// A call that nobody can know the meaning of before it runs.
fn dynamic() -> Value {
    json!({ "skill_name": "gcd", "command": "x=$(cat SKILL.md | head -c 0)echo; $x said" })
}

#[test]
fn a_person_lets_an_agent_run_a_command() {
    let world = world();
    let mut client = world.client();
    assert_eq!(world.gongfu(["approve", "list"]).good().text(), "");
    let refused = client.bad("skill_run", dynamic());
    assert_eq!(text_at(&refused, "/code"), "APPROVAL_REQUIRED");
    let id = text_at(&refused, "/approval").to_owned();
    assert!(text_at(&refused, "/hint").contains(&format!("gongfu approve allow {id}")));
    let listed = world.gongfu(["approve", "list", "--json"]).good().json();
    assert_eq!(text_at(&listed, "/0/id"), id);
    assert_eq!(text_at(&listed, "/0/ruling"), "waiting");
    assert!(
        text_at(&listed, "/0/what").starts_with("x=$(cat"),
        "{listed}"
    );
    // Once is once, in the server that runs already.
    let allowed = world.gongfu(["approve", "allow", &id]).good().text();
    assert!(allowed.starts_with("allowed once"), "{allowed}");
    let ran = client.good("skill_run", dynamic());
    assert_eq!(text_at(&ran, "/structuredContent/stdout"), "said\n");
    client.bad("skill_run", dynamic());
    world
        .gongfu(["approve", "allow", &id, "--always", "--hours", "1"])
        .good();
    for _ in 0..2 {
        client.good("skill_run", dynamic());
    }
    world.gongfu(["approve", "deny", &id]).good();
    let refused = client.bad("skill_run", dynamic());
    assert_eq!(text_at(&refused, "/code"), "COMMAND_BLOCKED");
    let unknown = world.gongfu(["approve", "allow", "0"]).ends(1);
    assert!(
        unknown.stderr.contains("APPROVAL_UNKNOWN"),
        "{}",
        unknown.stderr
    );
    // What people said can't be read: nothing is run.
    world.write("home/approvals.json", "{");
    let refused = client.bad("skill_run", dynamic());
    assert_eq!(text_at(&refused, "/code"), "UNAVAILABLE");
    assert!(
        text_at(&refused, "/message").contains("damaged"),
        "{refused}"
    );
    client.close();
}

#[test]
fn what_is_refused_is_not_run() {
    let world = world();
    let mut client = world.client();
    for command in [
        "sudo ls",
        "bash <<E\nsudo ls\nE",
        "touch /etc/x",
        "rm -rf /usr",
        "echo 'a",
    ] {
        let call = json!({ "skill_name": "gcd", "command": command });
        let refused = client.bad("skill_run", call);
        assert_eq!(text_at(&refused, "/code"), "COMMAND_BLOCKED", "{command}");
        let run = world
            .only(["run", "gcd", "--", "sh", "-c", command])
            .ends(1);
        assert!(run.stderr.contains("COMMAND_BLOCKED"), "{}", run.stderr);
    }
    assert_eq!(world.gongfu(["approve", "list"]).good().text(), "");
    // A person needs nobody's approval.
    let line = "$(cat SKILL.md | head -c 0)echo said";
    let run = world.only(["run", "gcd", "--", "sh", "-c", line]).good();
    assert_eq!(run.text(), "said\n");
    client.close();
}
