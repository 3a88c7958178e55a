//! The size of a call's arguments.

use serde_json::Value;

use super::{Answer, Passage, Stage};
use crate::problem::Problem;

/// The most bytes of text that the arguments of one call may hold.
const LIMIT: usize = 4 * 1024 * 1024;

pub(super) struct Size;

impl Stage for Size {
    fn name(&self) -> &'static str {
        "size"
    }

    fn check<'a>(&'a self, passage: &'a mut Passage<'_>) -> Answer<'a, ()> {
        let bytes = passage
            .call
            .arguments
            .iter()
            .map(|(name, value)| name.len() + size(value))
            .sum();
        let checked = if bytes > LIMIT {
            Err(Problem::ArgumentsTooLarge {
                bytes,
                limit: LIMIT,
            }
            .error())
        } else {
            Ok(())
        };
        Box::pin(std::future::ready(checked))
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
