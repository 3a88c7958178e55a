//! Arguments against the tool's schema.

use super::{Answer, Passage, Stage};
use crate::argument;
use crate::problem::Problem;

pub(super) struct Arguments;

impl Stage for Arguments {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        let checked = argument::check(&passage.spec.input_schema, &passage.call.arguments);
        Box::pin(std::future::ready(checked.map_err(Problem::error)))
    }
}
