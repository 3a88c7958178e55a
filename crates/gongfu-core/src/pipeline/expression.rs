//! Expressions: those of minijinja, such as `steps.scan.count > 0 and input.force is not defined`.
//!
//! They have the filters and tests that [`syntax`] lists, and no statements. Time and memory of each evaluation are
//! bounded three times: by the syntax, by the size of the values that it names, and by fuel.

mod syntax;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use minijinja::machinery::parse_expr;
use minijinja::value::{Serde, Value as Dynamic, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, tests};
use serde::Serialize;
use serde_json::Value;

use super::path::{Path, Segment};
use super::{MAX_OUTPUT, Scope, bounded};
use syntax::{COMPARISONS, Syntax};

/// The longest expression, in bytes.
const MAX_EXPRESSION: usize = 4_096;
/// The limit of instructions of an evaluation; each may also be 64 bytes of data.
pub(super) const FUEL: u64 = 250_000;
/// The most work of an evaluation: the size of the values that it names, times the number of operations.
const MAX_WORK: usize = 32 * 1024 * 1024;

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.add_filter("tojson", json);
    for name in COMPARISONS {
        environment.add_test(
            name,
            move |state: &State<'_, '_>, left: &Dynamic, right: &Dynamic| {
                compare(state, name, left, right)
            },
        );
    }
    environment
});

/// An expression that compiles.
#[derive(Debug)]
pub(super) struct Expression {
    code: minijinja::Expression<'static, 'static>,
    syntax: Syntax,
}

impl Expression {
    /// Compiles a text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MAX_EXPRESSION {
            return Err(format!("an expression has {MAX_EXPRESSION} bytes at most"));
        }
        let wrong = |why: &str| format!("can't parse the expression `{}`: {why}", text.trim());
        let unreadable = |error: Error| wrong(error.detail().unwrap_or("it can't be read"));
        let mut syntax = Syntax::default();
        // Before the code is compiled, which computes constants.
        syntax
            .add(&parse_expr(text).map_err(unreadable)?)
            .map_err(|why| wrong(&why))?;
        let code = ENVIRONMENT.compile_expression_owned(text.to_owned());
        let code = code.map_err(unreadable)?;
        Ok(Self { code, syntax })
    }

    /// The values that it names: each with its variable, and the path in it.
    pub(super) fn paths(&self) -> impl Iterator<Item = (&str, &[Segment])> {
        let paths = self.syntax.paths.iter().map(|path| path.0.as_slice());
        paths.filter_map(|path| match path.split_first()? {
            (Segment::Name(variable), rest) => Some((variable.as_str(), rest)),
            (Segment::Index(_), _) => None,
        })
    }

    /// The variables that it names and that don't exist.
    pub(super) fn unknown_variables(&self, known: &[&str]) -> BTreeSet<&str> {
        let names = self.paths().map(|(variable, _)| variable);
        names.filter(|name| !known.contains(name)).collect()
    }

    /// The steps whose outputs it names, as far as that can be seen.
    pub(super) fn steps(&self) -> BTreeSet<&str> {
        let steps = self.paths().filter(|(variable, _)| *variable == "steps");
        let steps = steps.filter_map(|(_, rest)| match rest.first()? {
            Segment::Name(step) => Some(step.as_str()),
            Segment::Index(_) => None,
        });
        steps.collect()
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
        if !is_exact(&value) {
            return Err(
                "the value of the expression has a number that JSON can't hold, such as infinity"
                    .to_owned(),
            );
        }
        serde_json::from_slice(&bytes).map_err(|error| error.to_string())
    }

    /// Returns true if its value counts as true: not `false`, `none`, 0, empty or undefined.
    pub(super) fn is_true(&self, scope: &Scope<'_>) -> Result<bool, String> {
        Ok(self.evaluate(scope)?.is_true())
    }

    /// Its value.
    pub(super) fn evaluate(&self, scope: &Scope<'_>) -> Result<Dynamic, String> {
        self.look_at_values(scope)?;
        let used = self.steps();
        // Only what is named: outputs are long.
        let is_whole =
            |(variable, rest): (&str, &[Segment])| variable == "steps" && rest.is_empty();
        let uses_all = self.paths().any(is_whole);
        let is_used = |name: &&str| uses_all || used.contains(name);
        let names = scope.visible.iter().copied().filter(is_used);
        let steps = names.filter_map(|name| {
            let output = scope.step(name).ok()?;
            Some((name, dynamic(output)))
        });
        let uses = |name| self.paths().any(|(variable, _)| variable == name);
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

    /// Refuses values that are too long for this expression, and lists where it needs numbers.
    fn look_at_values(&self, scope: &Scope<'_>) -> Result<(), String> {
        let syntax = &self.syntax;
        let sizes = syntax.paths.iter().map(|path| match path.0.as_slice() {
            [Segment::Name(steps)] if steps == "steps" => {
                let outputs = scope
                    .visible
                    .iter()
                    .filter_map(|name| scope.step(name).ok());
                outputs.map(size).sum()
            }
            _ => named(path, scope).map_or(0, size),
        });
        let size = sizes.fold(0, usize::saturating_add);
        if size.saturating_mul(syntax.operations + 1) > MAX_WORK {
            return Err(format!(
                "the expression is too long for values of {size} bytes: shorten it, or select what it needs with `transform` of an earlier step"
            ));
        }
        for path in &syntax.numbers {
            if let Some(Value::Array(_) | Value::String(_)) = named(path, scope) {
                return Err(format!(
                    "`*` and `**` take numbers, but `{path}` isn't one: write `{path} | int`"
                ));
            }
        }
        Ok(())
    }
}

/// The value that a path of an expression names.
fn named<'v>(path: &Path, scope: &'v Scope<'_>) -> Option<&'v Value> {
    let (variable, rest) = match path.0.as_slice() {
        [Segment::Name(steps), Segment::Name(step), rest @ ..] if steps == "steps" => {
            (scope.step(step).ok()?, rest)
        }
        [Segment::Name(input), rest @ ..] if input == "input" => (scope.input, rest),
        [Segment::Name(output), rest @ ..] if output == "output" => (scope.output?, rest),
        _ => return None,
    };
    Path(rest.to_vec()).get(variable).ok()
}

/// The size of a value, about that of its JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 2,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 2,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| name.len() + size(value));
            fields.sum::<usize>() + 2
        }
    }
}

/// The filter `tojson`.
fn json(value: &Dynamic) -> Result<String, Error> {
    let wrong = |why: String| Error::new(ErrorKind::InvalidOperation, why);
    let bytes = bounded(value, MAX_OUTPUT).map_err(|error| wrong(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| wrong(error.to_string()))
}

/// A test that compares with a value. `select` makes many of them, so that none may be long.
fn compare(
    state: &State<'_, '_>,
    name: &str,
    left: &Dynamic,
    right: &Dynamic,
) -> Result<bool, Error> {
    let is_long = |value: &Dynamic| value.as_object().is_some();
    // A list that is made while it is read is read as a whole each time.
    let is_wrong = is_long(left)
        || (name != "in" && is_long(right))
        || (name == "in" && right.kind() == ValueKind::Iterable);
    if is_wrong {
        let what = format!(
            "the test `{name}` takes texts and numbers; in `in`, write `| list` after the list"
        );
        return Err(Error::new(ErrorKind::InvalidOperation, what));
    }
    match name {
        "in" => tests::is_in(state, left, right),
        "==" | "eq" => Ok(left == right),
        "!=" | "ne" => Ok(left != right),
        "<" | "lt" => Ok(left < right),
        "<=" | "le" => Ok(left <= right),
        ">" | "gt" => Ok(left > right),
        _ => Ok(left >= right),
    }
}

/// Returns true if JSON can hold all numbers of a value that is known to be short.
fn is_exact(value: &Dynamic) -> bool {
    match value.kind() {
        ValueKind::Number if value.is_integer() => {
            i64::try_from(value.clone()).is_ok() || u64::try_from(value.clone()).is_ok()
        }
        ValueKind::Number => f64::try_from(value.clone()).is_ok_and(f64::is_finite),
        ValueKind::Seq | ValueKind::Iterable => value
            .try_iter()
            .is_ok_and(|mut items| items.all(|item| is_exact(&item))),
        ValueKind::Map => value.try_iter().is_ok_and(|mut names| {
            names.all(|name| value.get_item(&name).is_ok_and(|field| is_exact(&field)))
        }),
        _ => true,
    }
}

/// A value for an expression.
fn dynamic(value: &impl Serialize) -> Dynamic {
    Dynamic::from(Serde(value))
}

/// Returns true if a JSON value counts as true, by the rule of expressions.
pub(super) fn is_true(value: &Value) -> bool {
    dynamic(value).is_true()
}
