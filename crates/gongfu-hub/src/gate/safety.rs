//! Safety: refuses forbidden actions, and finds out whether a person must allow this one.
//!
//! A person at the command line needs nobody's approval, and is refused what everybody is refused.

use std::fmt::Write as _;

use gongfu_core::capability::Origin;
use gongfu_core::skill::Digest;
use gongfu_core::text::visible;
use serde_json::{Map, Value, json};

use super::{Answer, Passage, Stage};
use crate::call::Proposal;
use crate::tool::ToolSpec;

/// The most characters of arguments that are shown to a person: they must see all that they allow.
const MAX_SHOWN: usize = 8_192;

pub(super) struct SafetyLevel;

impl Stage for SafetyLevel {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        Box::pin(async move {
            let (call, spec) = (passage.call, passage.spec);
            let reviewed = passage.review.review(call).await?;
            if call.actor.role.is_person() {
                return Ok(());
            }
            let by_level = || Some(proposal(spec, &call.arguments, call.level_reason()?));
            passage.proposal = reviewed.or_else(by_level);
            Ok(())
        })
    }
}

/// A call of a tool whose level alone decides that a person is asked.
fn proposal(spec: &ToolSpec, arguments: &Map<String, Value>, reason: String) -> Proposal {
    let (details, is_whole) = described(arguments);
    Proposal {
        action: match spec.origin {
            Origin::Server(_) => "call this tool of another server",
            Origin::Native | Origin::Skill => "call this tool",
        },
        what: spec.permission.to_string(),
        details,
        is_whole,
        reason,
        digest: digest(spec, Some(arguments)),
        any: Some(digest(spec, None)),
        skill: None,
        trust: None,
    }
}

/// The digest of all that decides what a call does, or of that without the arguments.
pub(crate) fn digest(spec: &ToolSpec, arguments: Option<&Map<String, Value>>) -> Digest {
    let digests = [spec.target, spec.definition].map(|digest| Some(digest?.to_string()));
    let decides = json!([spec.permission, digests, arguments]);
    Digest::of(decides.to_string().as_bytes())
}

/// The arguments as a person reads them, a line each, and whether that is all of them.
fn described(arguments: &Map<String, Value>) -> (Vec<String>, bool) {
    let mut text = String::new();
    for (name, value) in arguments {
        let _ = writeln!(text, "{}: {value}", name.replace('\n', "\\n"));
    }
    let shown: String = text.chars().take(MAX_SHOWN).collect();
    let is_whole = shown.len() == text.len();
    let mut lines: Vec<String> = visible(&shown).lines().map(str::to_owned).collect();
    if !is_whole {
        lines.push("… (the rest is too long to show)".to_owned());
    }
    (lines, is_whole)
}
