//! The compiled forms of parameters and rules.

use serde_json::Value;

use super::expression::{Expression, is_true};
use super::path::{Path, Segment};
use super::{Function, MAX_DEPTH, Param, Rule, Scope};
use crate::near;
use crate::text::clipped;

/// The word for the input of a run.
pub(super) const INPUT: &str = "input";
/// Begins an expression.
pub(super) const EXPRESSION: &str = "expr";
/// Begins a text that is meant as it is.
pub(super) const LITERAL: &str = "literal";
/// The variables of an expression.
const VARIABLES: [&str; 3] = [INPUT, "steps", "run"];
/// The variables of a transformation.
const OUTPUT_VARIABLES: [&str; 4] = [INPUT, "steps", "run", "output"];

/// A value with parts that are computed.
#[derive(Debug)]
pub(super) enum Template {
    /// A value as it is.
    Literal(Value),
    /// A list with such a part.
    List(Vec<Template>),
    /// An object with such a part.
    Object(Vec<(String, Template)>),
    /// A part of the input, or of the output of a step.
    Reference {
        text: String,
        step: Option<String>,
        path: Path,
    },
    /// An expression.
    Expression(Box<Expression>),
    /// A function.
    Function(Function),
}

/// A compiled condition or transformation.
#[derive(Debug)]
pub(super) enum CompiledRule {
    /// An expression.
    Expression(Box<Expression>),
    /// A function.
    Function(Function),
}

/// The steps of a pipeline, and the mistakes in what names them.
pub(super) struct Compiler<'a> {
    /// The names of the steps.
    pub(super) names: &'a [&'a str],
    /// The names of the inputs; `None` if any may be.
    pub(super) inputs: Option<Vec<&'a str>>,
    /// The steps that were named.
    pub(super) uses: Vec<String>,
    /// The mistakes, each with its place below the parameter.
    pub(super) mistakes: Vec<(Path, String)>,
}

impl Compiler<'_> {
    /// Compiles a parameter.
    pub(super) fn param(&mut self, place: &Path, param: &Param) -> Template {
        match param {
            Param::Value(value) => self.value(place, value),
            Param::Function(function) => Template::Function(function.clone()),
        }
    }

    /// Compiles a condition.
    pub(super) fn condition(&mut self, place: &Path, rule: &Rule) -> Option<CompiledRule> {
        self.rule(place, rule, &VARIABLES)
    }

    /// Compiles a transformation.
    pub(super) fn transformation(&mut self, place: &Path, rule: &Rule) -> Option<CompiledRule> {
        self.rule(place, rule, &OUTPUT_VARIABLES)
    }

    fn rule(&mut self, place: &Path, rule: &Rule, variables: &[&str]) -> Option<CompiledRule> {
        match rule {
            Rule::Function(function) => Some(CompiledRule::Function(function.clone())),
            Rule::Expression(text) => {
                let expression = self.expression(place, text, variables)?;
                Some(CompiledRule::Expression(expression))
            }
        }
    }

    fn value(&mut self, place: &Path, value: &Value) -> Template {
        if place.0.len() > MAX_DEPTH {
            self.mistake(place, format!("nested deeper than {MAX_DEPTH} levels"));
            return Template::Literal(Value::Null);
        }
        let is_literal = |template: &Template| matches!(template, Template::Literal(_));
        match value {
            Value::String(text) => self.text(place, text),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                let items: Vec<Template> = items
                    .map(|(at, item)| self.value(&place.index(at), item))
                    .collect();
                Template::List(items)
            }
            Value::Object(fields) => {
                let fields = fields.iter();
                let fields: Vec<(String, Template)> = fields
                    .map(|(name, field)| (name.clone(), self.value(&place.name(name), field)))
                    .collect();
                Template::Object(fields)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Template::Literal(value.clone()),
        }
        .folded(is_literal)
    }

    fn text(&mut self, place: &Path, text: &str) -> Template {
        let literal = || Template::Literal(Value::String(text.to_owned()));
        if ![LITERAL, EXPRESSION].contains(&text.split(':').next().unwrap_or_default()) {
            self.look_for_braces(place, text);
        }
        let Some((word, rest)) = text.split_once(':') else {
            return literal();
        };
        match word {
            LITERAL => Template::Literal(Value::String(rest.to_owned())),
            EXPRESSION => match self.expression(place, rest, &VARIABLES) {
                Some(expression) => Template::Expression(expression),
                None => literal(),
            },
            _ if word == INPUT || self.names.contains(&word) => self
                .reference(place, text, word, rest)
                .unwrap_or_else(literal),
            _ => {
                self.look_for_misspelling(place, text, word, rest);
                literal()
            }
        }
    }

    fn reference(&mut self, place: &Path, text: &str, word: &str, rest: &str) -> Option<Template> {
        let Some(path) = Path::parse(rest) else {
            let shown = clipped(rest, 60, '?');
            self.mistake(
                place,
                format!(
                    "`{shown}` after `{word}:` is not a path such as `name.other[0]`; write `literal:` before a text that begins like this"
                ),
            );
            return None;
        };
        let step = (word != INPUT).then(|| word.to_owned());
        match &step {
            Some(step) => self.uses.push(step.clone()),
            None => self.look_for_input(place, &path.0),
        }
        let text = text.to_owned();
        Some(Template::Reference { text, step, path })
    }

    fn look_for_input(&mut self, place: &Path, path: &[Segment]) {
        let (Some(inputs), Some(Segment::Name(name))) = (&self.inputs, path.first()) else {
            return;
        };
        if !inputs.contains(&name.as_str()) {
            let near = near::meant(name, inputs.iter().copied());
            let hint = near.map_or_else(String::new, |near| format!(" (`{near}`?)"));
            let what = format!("`inputs` has no `{name}`{hint}: add it there, or correct the name");
            self.mistake(place, what);
        }
    }

    /// Notes a text with an expression in braces, as other programs write it.
    fn look_for_braces(&mut self, place: &Path, text: &str) {
        let inner = text
            .split_once("{{")
            .and_then(|(_, rest)| rest.split_once("}}"));
        let Some((inner, _)) = inner else {
            return;
        };
        let inner = inner.trim();
        let variable = inner.split(['.', '[', ' ', '|']).next().unwrap_or_default();
        if VARIABLES.contains(&variable) || self.names.contains(&variable) {
            let shown = clipped(inner, 60, '?');
            self.mistake(
                place,
                format!(
                    "`{{{{ {shown} }}}}` is not computed: write `expr:{shown}` (texts are joined with `~`), or `literal:` before the text"
                ),
            );
        }
    }

    /// Notes a text that is probably a reference with a misspelt name.
    fn look_for_misspelling(&mut self, place: &Path, text: &str, word: &str, rest: &str) {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if word.is_empty() || !word.bytes().all(is_name) || Path::parse(rest).is_none() {
            return;
        }
        let names = self.names.iter().copied().chain([INPUT]);
        if let Some(near) = near::meant(word, names) {
            let shown = clipped(text, 60, '?');
            self.mistake(
                place,
                format!(
                    "`{shown}` looks like a reference, but there is no step `{word}`: write `{near}:{rest}`, or `literal:{shown}` for the text"
                ),
            );
        }
    }

    fn expression(
        &mut self,
        place: &Path,
        text: &str,
        variables: &[&str],
    ) -> Option<Box<Expression>> {
        let expression = match Expression::parse(text) {
            Ok(expression) => expression,
            Err(what) => {
                self.mistake(place, what);
                return None;
            }
        };
        for name in expression.unknown_variables(variables) {
            let known = variables.join("`, `");
            let hint = if self.names.contains(&name) {
                format!("write `steps.{name}`")
            } else {
                format!("an expression has `{known}`")
            };
            let what = format!("there is no variable `{name}`: {hint}");
            self.mistakes.push((place.clone(), what));
        }
        for (variable, path) in expression.paths() {
            if variable == INPUT {
                self.look_for_input(place, path);
            }
        }
        for step in expression.steps() {
            if self.names.contains(&step) {
                self.uses.push(step.to_owned());
            } else {
                let near = near::meant(step, self.names.iter().copied());
                let hint = match near {
                    Some(near) => format!("did you mean `steps.{near}`?"),
                    None => format!("the steps are `{}`", self.names.join("`, `")),
                };
                let what = format!("there is no step `{step}`: {}", clipped(&hint, 300, '?'));
                self.mistakes.push((place.clone(), what));
            }
        }
        Some(Box::new(expression))
    }

    fn mistake(&mut self, place: &Path, what: String) {
        self.mistakes.push((place.clone(), what));
    }
}

impl Template {
    /// The same as one literal, if all parts are literal.
    fn folded(self, is_literal: impl Fn(&Self) -> bool) -> Self {
        let literal = |template| match template {
            Self::Literal(value) => value,
            _ => Value::Null,
        };
        match self {
            Self::List(items) if items.iter().all(&is_literal) => {
                Self::Literal(Value::Array(items.into_iter().map(literal).collect()))
            }
            Self::Object(fields) if fields.iter().all(|(_, field)| is_literal(field)) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, field)| (name, literal(field)));
                Self::Literal(Value::Object(fields.collect()))
            }
            other => other,
        }
    }

    /// Its value.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<Value, String> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::List(items) => {
                let items = items.iter().map(|item| item.value(scope));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Self::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, field)| Ok((name.clone(), field.value(scope)?)));
                Ok(Value::Object(fields.collect::<Result<_, String>>()?))
            }
            Self::Reference { text, step, path } => {
                let whole = match step {
                    Some(step) => scope.step(step)?,
                    None => scope.input,
                };
                let found = path.get(whole);
                found
                    .cloned()
                    .map_err(|why| missing(text, step.as_deref(), whole, &why))
            }
            Self::Expression(expression) => expression.value(scope),
            Self::Function(function) => function.call(scope),
        }
    }
}

/// Why a reference has no value, and what to do.
fn missing(text: &str, step: Option<&str>, whole: &Value, why: &str) -> String {
    let hint = match step {
        Some(step) if whole.get("_skipped").is_some() => {
            format!("`{step}` was skipped; use an expression with `default` for that case")
        }
        Some(step) if whole.get("_error").is_some() => {
            format!("`{step}` failed; use an expression with `default` for that case")
        }
        _ => why.to_owned(),
    };
    format!("`{text}` has no value: {hint}")
}

impl CompiledRule {
    /// Returns true if the condition holds.
    pub(super) fn holds(&self, scope: &Scope<'_>) -> Result<bool, String> {
        match self {
            Self::Expression(expression) => expression.is_true(scope),
            Self::Function(function) => function.call(scope).map(|value| is_true(&value)),
        }
    }

    /// The result of the transformation.
    pub(super) fn value(&self, scope: &Scope<'_>) -> Result<Value, String> {
        match self {
            Self::Expression(expression) => expression.value(scope),
            Self::Function(function) => function.call(scope),
        }
    }
}
