//! How large the arguments of a call may be.

use serde_json::Value;

use super::{Call, Stage};
use crate::problem::Problem;

/// The most bytes of text that the arguments of one call may hold.
const LIMIT: usize = 4 * 1024 * 1024;

pub(super) struct Size;

impl Stage for Size {
    fn name(&self) -> &'static str {
        "size"
    }

    fn check(&self, call: &Call<'_>) -> Result<(), Problem> {
        let bytes = call
            .arguments
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum();
        if bytes > LIMIT {
            Err(Problem::ArgumentsTooLarge {
                bytes,
                limit: LIMIT,
            })
        } else {
            Ok(())
        }
    }
}

/// Roughly the bytes that a value takes; its depth is bounded by the JSON parser.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum::<usize>() + items.len(),
        Value::Object(object) => object
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum(),
    }
}
