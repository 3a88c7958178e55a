//! The caller's scope: what its credential and its role permit. Only a person answers for a person.

use gongfu_core::account::{self, Role};
use gongfu_core::capability::Access;

use super::{Answer, Passage, Stage};
use crate::problem::Problem;

pub(super) struct Scope;

impl Stage for Scope {
    fn name(&self) -> &'static str {
        "scope"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        let (actor, spec) = (&passage.call.actor, passage.spec);
        let (role, needed) = (actor.role, account::Scope::of(spec.access));
        let problem = if spec.person_only && !role.is_person() {
            Some(Problem::PersonOnly {
                operation: spec.name.to_string(),
            })
        } else if !actor.permissions.scopes.has(needed) {
            Some(Problem::ScopeMissing {
                tool: spec.name.to_string(),
                scope: needed,
            })
        } else if role == Role::Visitor && spec.access != Access::Read {
            Some(Problem::RoleTooLow {
                tool: spec.name.to_string(),
                access: spec.access,
            })
        } else {
            None
        };
        let checked = problem.map_or(Ok(()), |problem| Err(problem.error()));
        Box::pin(std::future::ready(checked))
    }
}
