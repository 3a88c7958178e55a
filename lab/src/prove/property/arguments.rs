//! A call of a tool: it answers, or fails with a code, a message and a hint; nothing from outside
//! of a skill is in an answer.

use std::time::Duration;

use gongfu_core::account::{Actor, Role};
use gongfu_hub::{Profile, Request};
use serde_json::{Map, Value};

use super::{BASE, Fixture, Verdict, ensure, holds_canary, is_told};

/// The time limit of a call; far longer than any should take.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Checks one call: `{"tool": …, "arguments": {…}}`; any other text is a path to read.
pub(super) fn check(fixture: &Fixture, input: &[u8]) -> Verdict {
    // An error repeats what was asked for: then finding it says nothing.
    if holds_canary(input) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(input);
    let (tool, arguments) = call(&text.replace(BASE, fixture.base().trim_start_matches('/')));
    let actor = Actor::local(Role::ExternalAgent, "prove");
    let request = Request::new(&[Profile::All], &tool, arguments, &actor);
    let calling = fixture.catalog.call(request);
    let answer = fixture
        .runtime
        .block_on(async { tokio::time::timeout(CALL_TIMEOUT, calling).await });
    match answer {
        Err(_) => Err("the call does not come to an end".to_owned()),
        Ok(Ok(result)) => {
            let text = serde_json::to_string(&result).map_err(|error| error.to_string())?;
            ensure(!result.content.is_empty(), || "an empty answer".to_owned())?;
            ensure(!holds_canary(text.as_bytes()), || {
                "A FILE OUTSIDE OF THE SKILL IS IN AN ANSWER".to_owned()
            })
        }
        Ok(Err(error)) => is_told(&error),
    }
}

/// The name of the tool and its arguments.
fn call(text: &str) -> (String, Map<String, Value>) {
    if let Ok(Value::Object(mut call)) = serde_json::from_str(text) {
        let tool = call.get("tool").and_then(Value::as_str);
        let tool = tool.unwrap_or("skill_read").to_owned();
        return match call.remove("arguments") {
            Some(Value::Object(arguments)) => (tool, arguments),
            _ => (tool, call),
        };
    }
    let mut arguments = Map::new();
    arguments.insert("skill_name".to_owned(), "alpha".into());
    arguments.insert("path".to_owned(), text.into());
    ("skill_read".to_owned(), arguments)
}
