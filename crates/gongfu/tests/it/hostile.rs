//! What nobody means well: documents, folders and arguments that are made to break something.

mod argument;
mod climb;
mod document;
mod file;
mod folder;
mod full;
mod terminal;
mod write;

use serde_json::{Value, json};

use crate::stdio::{Client, told};
use crate::world::{World, text_at};

/// What must never be in an answer.
const CANARY: &str = "the canary outside of every skill";

/// Nothing is wrong with the neighbour of whatever was planted.
fn neighbour_is_well(world: &World) {
    let names: Vec<String> = world
        .listed()
        .iter()
        .map(|skill| text_at(skill, "/name").to_owned())
        .collect();
    assert!(names.contains(&"neighbour".to_owned()), "{names:?}");
    let loaded = world.only(["skill", "read", "neighbour"]).good().text();
    assert!(loaded.contains("# neighbour"), "{loaded}");
}

/// Every note that says where to go on is followed; answers the parts together.
fn read_on(client: &mut Client, tool: &str, arguments: &Value) -> String {
    let mut all = String::new();
    let mut arguments = arguments.clone();
    for _ in 0..1_000 {
        let result = client.good(tool, arguments.clone());
        let text = text_at(&result, "/content/0/text");
        assert!(
            text.len() <= 64 * 1024,
            "{} bytes in one answer",
            text.len()
        );
        all.push_str(text);
        let Some(note) = result.pointer("/content/1/text").and_then(Value::as_str) else {
            return all;
        };
        let number = |name: &str| -> Option<u64> {
            let (_, rest) = note.split_once(&format!("{name}="))?;
            rest.split(|letter: char| !letter.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        };
        arguments["start_line"] = json!(number("start_line").unwrap_or_else(|| panic!("{note}")));
        arguments["start_column"] = number("start_column").map_or(Value::Null, Value::from);
        if let Some(end) = number("end_line") {
            arguments["end_line"] = json!(end);
        }
    }
    panic!("the notes lead nowhere: {arguments}")
}

/// A world with a canary beside the folder of skills.
fn guarded_world() -> World {
    let world = World::with_skills();
    world.write("outside/secret.txt", CANARY);
    world.write(
        "outside/SKILL.md",
        format!("---\nname: outside\ndescription: {CANARY}\n---\n\n{CANARY}\n"),
    );
    world.write("skills/secret.txt", CANARY);
    world
}

/// The call fails with a code and a hint, repeats nothing from outside, and not all of what it was given.
fn fails(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let result = client.call(tool, arguments.clone());
    let shown = result.to_string();
    assert!(
        !shown.contains(CANARY) && !shown.contains("root:"),
        "{tool} {arguments}: {shown}"
    );
    assert_eq!(
        result.get("isError"),
        Some(&Value::Bool(true)),
        "{tool} {arguments}: {shown}"
    );
    assert!(
        shown.len() < 20_000,
        "{tool}: {} bytes of error",
        shown.len()
    );
    told(&result)
}
