//! Arguments against the tool's schema.

use super::{Call, Stage};
use crate::argument;
use crate::problem::Problem;

pub(super) struct Arguments;

impl Stage for Arguments {
    fn name(&self) -> &'static str {
        "arguments"
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Problem> {
        argument::check(&call.spec.input_schema, call.arguments)
    }
}
