//! Who may do what: a visitor only reads.

use gongfu_core::account;
use gongfu_core::capability::Access;

use super::{Call, Stage};
use crate::problem::Problem;

pub(super) struct Role;

impl Stage for Role {
    fn name(&self) -> &'static str {
        "role"
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Problem> {
        let allowed = match call.actor.role {
            account::Role::Visitor => call.spec.access == Access::Read,
            account::Role::ExternalAgent | account::Role::ChatAgent | account::Role::Developer => {
                true
            }
        };
        if allowed {
            Ok(())
        } else {
            Err(Problem::RoleTooLow {
                tool: call.spec.name.to_owned(),
                access: call.spec.access,
            })
        }
    }
}
