//! `value`: answers its parameters, so that a step can combine the outputs of others.

use gongfu_hub::Call;
use serde_json::{Map, Value};

use super::{Running, StepTool};

pub(super) struct Echo;

impl StepTool for Echo {
    fn name(&self) -> &'static str {
        "value"
    }

    fn run<'a>(&'a self, params: Map<String, Value>, _call: &'a Call) -> Running<'a> {
        Box::pin(std::future::ready(Ok(Value::Object(params))))
    }
}
