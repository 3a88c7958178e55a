//! Results of tools as outputs of steps.

use gongfu_core::agent::CallStatus;
use gongfu_core::pipeline::StepError;
use gongfu_hub::{ToolError, ToolResult};
use serde_json::Value;

use crate::calling;

/// The output of a step: the structured part of the result, else its text.
pub(super) fn output(result: Result<ToolResult, ToolError>) -> Result<Value, StepError> {
    match result {
        Ok(result) if calling::failed(&result) => Err(StepError::new(calling::text(&result))),
        Ok(result) => {
            let text = || Value::String(calling::text(&result));
            Ok(result.structured_content.clone().unwrap_or_else(text))
        }
        Err(error) => {
            let message = error.to_string();
            // A call that is wrong or refused is so the next time, too.
            Err(match calling::status(error.code()) {
                CallStatus::Failed => StepError::new(message),
                _ => StepError::last(message),
            })
        }
    }
}
