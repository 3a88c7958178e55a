//! Expressions: those of minijinja, such as `steps.scan.count > 0 and input.force is not defined`.
//!
//! They have its filters and tests, and no statements. Fuel limits the time and the memory of each evaluation, so that
//! it ends.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::value::{Serde, Value as Dynamic, ValueKind};
use minijinja::{Environment, ErrorKind};
use serde::Serialize;
use serde_json::Value;

use super::{MAX_OUTPUT, Scope, bounded};

/// The longest expression, in bytes.
const MAX_EXPRESSION: usize = 4_096;
/// The limit of instructions of an evaluation; each may also be 64 bytes of data.
const FUEL: u64 = 500_000;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment
});

/// An expression that compiles.
#[derive(Debug)]
pub(super) struct Expression {
    code: minijinja::Expression<'static, 'static>,
    /// The variables that it names.
    variables: BTreeSet<String>,
    /// The steps whose outputs it names, as far as that can be seen.
    steps: BTreeSet<String>,
    /// True if it uses `steps` as a whole, so that any output may be meant.
    any_step: bool,
}

impl Expression {
    /// Compiles a text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_EXPRESSION {
            return Err(format!("an expression has {MAX_EXPRESSION} bytes at most"));
        }
        let code = ENVIRONMENT.compile_expression_owned(text.to_owned());
        let code = code.map_err(|error| {
            let why = error.detail().unwrap_or("it can't be read").to_owned();
            format!("can't parse the expression `{}`: {why}", text.trim())
        })?;
        let mut expression = Self {
            variables: BTreeSet::new(),
            steps: BTreeSet::new(),
            any_step: false,
            code,
        };
        for name in expression.code.undeclared_variables(true) {
            let mut parts = name.split('.');
            let variable = parts.next().unwrap_or_default();
            match (variable, parts.next()) {
                ("steps", Some(step)) => drop(expression.steps.insert(step.to_owned())),
                ("steps", None) => expression.any_step = true,
                _ => {}
            }
            expression.variables.insert(variable.to_owned());
        }
        Ok(expression)
    }

    /// The variables that it names and that don't exist.
    pub(super) fn unknown_variables(&self, known: &[&str]) -> Vec<&str> {
        // Functions such as `range` are variables too.
        let is_global = |name: &str| ENVIRONMENT.globals().any(|(global, _)| global == name);
        let names = self.variables.iter().map(String::as_str);
        names
            .filter(|name| !known.contains(name) && !is_global(name))
            .collect()
    }

    /// The steps whose outputs it names.
    pub(super) fn steps(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(String::as_str)
    }

    /// Its value as JSON.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<Value, String> {
        let value = self.evaluate(scope)?;
        if value.is_undefined() {
            return Err(
                "the expression is undefined: a value it uses is missing; add `| default(…)`"
                    .to_owned(),
            );
        }
        if matches!(value.kind(), ValueKind::Plain | ValueKind::Invalid) {
            return Err("the value of the expression can't be written as JSON".to_owned());
        }
        let bytes = bounded(&value, MAX_OUTPUT).map_err(|error| {
            if error.is_io() {
                format!("the value of the expression is longer than {MAX_OUTPUT} bytes")
            } else {
                format!("the value of the expression can't be written as JSON: {error}")
            }
        })?;
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }

    /// Returns true if its value counts as true: not `false`, `none`, 0, empty or undefined.
    pub(super) fn is_true(&self, scope: &Scope<'_>) -> Result<bool, String> {
        Ok(self.evaluate(scope)?.is_true())
    }

    fn evaluate(&self, scope: &Scope<'_>) -> Result<Dynamic, String> {
        let uses = |name: &str| self.variables.contains(name);
        // Only what is named: outputs are long.
        let is_used = |name: &&str| self.any_step || self.steps.contains(*name);
        let names = scope.visible.iter().copied().filter(is_used);
        let steps = names.filter_map(|name| {
            let output = scope.step(name).ok()?;
            Some((name, dynamic(output)))
        });
        let mut variables = vec![("steps", Dynamic::from_pairs(steps))];
        if uses("input") {
            variables.push(("input", dynamic(scope.input)));
        }
        if uses("run") {
            variables.push(("run", dynamic(scope.run)));
        }
        if let Some(output) = scope.output.filter(|_| uses("output")) {
            variables.push(("output", dynamic(output)));
        }
        let context = Dynamic::from_pairs(variables);
        self.code.eval(context).map_err(|error| {
            if error.kind() == ErrorKind::OutOfFuel {
                return "the expression takes too long, or too much memory".to_owned();
            }
            match error.detail() {
                Some(detail) => format!("the expression failed: {}: {detail}", error.kind()),
                None => format!("the expression failed: {}", error.kind()),
            }
        })
    }
}

/// A value for an expression.
fn dynamic(value: &impl Serialize) -> Dynamic {
    Dynamic::from(Serde(value))
}

/// Returns true if a JSON value counts as true, by the rule of expressions.
pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}
