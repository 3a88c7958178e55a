//! A plan: a pipeline that was checked, compiled.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::template::{CompiledRule, Template};
use super::{ErrorStrategy, Input, MAX_INPUT, measured};
use crate::near;

/// A pipeline whose steps can run: its names, references and expressions are good, and no steps wait for each other.
#[derive(Debug)]
pub struct Plan {
    pub(super) name: String,
    pub(super) inputs: Option<BTreeMap<String, Input>>,
    pub(super) steps: Vec<PlannedStep>,
    /// The steps by depth of their dependencies, as positions in `steps`.
    pub(super) layers: Vec<Vec<usize>>,
    /// The definition as JSON, if it has no function.
    pub(super) definition: Option<Value>,
}

/// A step of a plan.
#[derive(Debug)]
pub(super) struct PlannedStep {
    pub(super) name: String,
    pub(super) tool: String,
    pub(super) params: Vec<(String, Template)>,
    pub(super) when: Option<CompiledRule>,
    pub(super) transform: Option<CompiledRule>,
    /// The steps that it depends on, directly or through others.
    pub(super) ancestors: Vec<usize>,
    pub(super) retries: u32,
    pub(super) retry_delay: u64,
    pub(super) timeout: u64,
    pub(super) strategy: ErrorStrategy,
}

impl Plan {
    /// The name of the pipeline.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the steps by depth of their dependencies: those of one layer run at the same time.
    pub fn layers(&self) -> Vec<Vec<&str>> {
        let names = |layer: &Vec<usize>| {
            let steps = layer.iter().filter_map(|at| self.steps.get(*at));
            steps.map(|step| step.name.as_str()).collect()
        };
        self.layers.iter().map(names).collect()
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if it has no steps, which a checked pipeline never is.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The input of a run, with the defaults filled in.
    pub(super) fn input(&self, input: Value) -> Result<Value, String> {
        let mut fields = match input {
            Value::Null => Map::new(),
            Value::Object(fields) => fields,
            _ => return Err("the input must be an object".to_owned()),
        };
        if let Some(inputs) = &self.inputs {
            if let Some(name) = fields.keys().find(|name| !inputs.contains_key(*name)) {
                let known = inputs.keys().map(String::as_str);
                let hint = match near::meant(name, known.clone()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("it takes: {}", known.collect::<Vec<_>>().join(", ")),
                };
                return Err(format!("the pipeline takes no input `{name}`: {hint}"));
            }
            for (name, input) in inputs {
                if fields.contains_key(name) {
                    continue;
                }
                match &input.default {
                    Some(value) => drop(fields.insert(name.clone(), value.clone())),
                    None if input.required => {
                        return Err(format!(
                            "the input `{name}` is missing: pass a value for it"
                        ));
                    }
                    None => {}
                }
            }
        }
        let input = Value::Object(fields);
        measured(&input, MAX_INPUT)
            .map_err(|why| format!("the input {why}: pass the path of a file instead"))?;
        Ok(input)
    }
}
