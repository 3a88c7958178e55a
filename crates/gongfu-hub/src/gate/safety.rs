//! What needs a person's agreement: calls at or above a level of safety.
//!
//! A developer at the command line is that person.

use gongfu_core::account::Role;
use gongfu_core::capability::Safety;

use super::{Call, Stage};
use crate::problem::Problem;

pub(super) struct SafetyLevel {
    threshold: Safety,
}

impl Default for SafetyLevel {
    fn default() -> Self {
        Self {
            threshold: Safety::High,
        }
    }
}

impl Stage for SafetyLevel {
    fn name(&self) -> &'static str {
        "safety"
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Problem> {
        let asks = call.spec.safety >= self.threshold && call.actor.role != Role::Developer;
        if asks {
            Err(Problem::NeedsApproval {
                tool: call.spec.name.to_owned(),
                safety: call.spec.safety,
            })
        } else {
            Ok(())
        }
    }
}
