//! Arguments against the tool's schema.

use gongfu_core::capability::Origin;

use super::{Answer, Passage, Stage};
use crate::argument;
use crate::problem::Problem;

pub(super) struct Arguments;

impl Stage for Arguments {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        // Another server checks by the whole of JSON Schema, and knows what it forgot to write down.
        let checked = match passage.spec.origin {
            Origin::Server(_) => Ok(()),
            Origin::Native | Origin::Skill => {
                argument::check(&passage.spec.input_schema, &passage.call.arguments)
            }
        };
        Box::pin(std::future::ready(checked.map_err(Problem::error)))
    }
}
