//! Spans of the agent, by OpenTelemetry's conventions for generative AI.
//!
//! They carry names, counts and ids; no prompt, argument or result.

use gongfu_core::agent::{CallStatus, PlannedCall};
use gongfu_core::port::{ModelAnswer, ModelError, StopReason};
use tracing::Span;
use tracing::field::{Empty, debug};

/// A turn.
pub(crate) fn agent(session: &str) -> Span {
    tracing::info_span!(
        "invoke_agent",
        otel.name = "invoke_agent gongfu",
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "gongfu",
        gen_ai.conversation.id = session,
    )
}

/// A request to a model, which is named `provider/model`.
pub(crate) fn chat(name: &str) -> Span {
    let (provider, model) = name.split_once('/').unwrap_or(("", name));
    tracing::info_span!(
        "chat",
        otel.name = format_args!("chat {model}"),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.type = Empty,
    )
}

/// Adds the end of a request to its span.
pub(crate) fn answered(span: &Span, answer: &Result<ModelAnswer, ModelError>) {
    match answer {
        Ok(answer) => {
            let reason = match answer.stop {
                StopReason::End => "stop",
                StopReason::Calls => "tool_call",
                StopReason::Length => "length",
                StopReason::Filter => "content_filter",
            };
            // A field of a span is no list: the exporter writes this one as JSON.
            let reasons = format!("[\"{reason}\"]");
            span.record("gen_ai.response.finish_reasons", reasons);
            span.record("gen_ai.usage.input_tokens", answer.usage.input);
            span.record("gen_ai.usage.output_tokens", answer.usage.output);
        }
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", debug(error.kind));
        }
    }
}

/// A call of a tool; one that loads a skill has a name of its own.
pub(crate) fn tool(call: &PlannedCall, skill: Option<&str>) -> Span {
    let (operation, subject) = match skill {
        Some(skill) => ("load_skill", skill),
        None => ("execute_tool", call.tool.as_str()),
    };
    tracing::info_span!(
        "execute_tool",
        otel.name = format_args!("{operation} {subject}"),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = operation,
        gen_ai.tool.name = call.tool,
        gen_ai.tool.call.id = call.id,
        gongfu.skill.name = skill,
        error.type = Empty,
    )
}

/// Adds the end of a call to its span.
pub(crate) fn called(span: &Span, status: CallStatus) {
    if status != CallStatus::Ok {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", status.as_str());
    }
}
