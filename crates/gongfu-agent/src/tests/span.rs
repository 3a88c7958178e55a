//! The spans of a turn.

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber as _;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry;

use super::*;

/// Notes the fields of all spans as lines.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Lines<'a>(&'a Notes);

impl Visit for Lines<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let line = format!("{} = {value:?}", field.name());
        self.0.0.lock().unwrap().push(line);
    }
}

impl<S: Subscriber> Layer<S> for Notes {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().target().starts_with("gongfu_agent") {
            attributes.record(&mut Lines(self));
        }
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        values.record(&mut Lines(self));
    }
}

#[tokio::test]
async fn turn_has_spans_by_the_conventions_and_nothing_private_in_them() {
    let notes = Notes::default();
    let subscriber = registry().with(notes.clone());
    let model = ScriptModel::saying(scenario());
    let world = world(&model);
    let turn = world.say(None, "a secret prompt");
    turn.with_subscriber(subscriber).await.unwrap();
    let lines = notes.0.lock().unwrap().clone();
    for wanted in [
        "otel.name = invoke_agent gongfu",
        "otel.name = chat scripted",
        "gen_ai.provider.name = \"test\"",
        "gen_ai.usage.input_tokens = 10",
        "gen_ai.response.finish_reasons = \"[\\\"tool_call\\\"]\"",
        "otel.name = load_skill coldstart",
        "otel.name = execute_tool file_write",
        "gen_ai.tool.call.id = \"call-3-0\"",
    ] {
        assert!(
            lines
                .iter()
                .any(|line| line.replace('"', "") == wanted.replace('"', "")),
            "{wanted}: {lines:?}"
        );
    }
    let all = lines.join("\n");
    assert!(!all.contains("secret") && !all.contains("plan.md"), "{all}");
}
