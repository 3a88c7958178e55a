//! Safety: refuses forbidden actions, and finds out whether a person must allow this one.
//!
//! A person at the command line needs nobody's approval, and is refused what everybody is refused.

use gongfu_core::capability::Safety;

use super::{Answer, Passage, Stage};
use crate::call::Proposal;

/// The level at which a person is asked, whatever the entry itself says.
const THRESHOLD: Safety = Safety::High;

pub(super) struct SafetyLevel;

impl Stage for SafetyLevel {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        Box::pin(async move {
            let reviewed = passage.review.review(passage.call).await?;
            if passage.call.actor.role.is_person() {
                return Ok(());
            }
            let spec = passage.spec;
            passage.proposal = reviewed.or_else(|| {
                (spec.safety >= THRESHOLD).then(|| Proposal {
                    action: "do this",
                    what: described(&passage.call.arguments),
                    details: Vec::new(),
                    is_whole: true,
                    reason: format!("its safety level is {:?}", spec.safety),
                    digest: passage.call.digest(),
                    skill: None,
                    trust: None,
                })
            });
            Ok(())
        })
    }
}

/// The arguments as a person reads them.
fn described(arguments: &serde_json::Map<String, serde_json::Value>) -> String {
    let lines = arguments
        .iter()
        .map(|(name, value)| format!("{name}: {value}"));
    lines.collect::<Vec<_>>().join("\n")
}
