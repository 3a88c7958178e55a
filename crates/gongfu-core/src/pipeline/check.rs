//! The check of a pipeline before anything runs: all its mistakes at once, or a plan.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::path::Path;
use super::plan::{Plan, PlannedStep};
use super::template::{Compiler, EXPRESSION, INPUT, LITERAL};
use super::{
    DEFAULT_TIMEOUT, MAX_DEFINITION, MAX_INPUT, MAX_NAME, MAX_RETRIES, MAX_RETRY_DELAY, MAX_STEPS,
    MAX_TIMEOUT, Mistake, Param, Pipeline, Step, bounded, measured,
};
use crate::near;
use crate::text::clipped;

/// A tool that steps can call.
#[derive(Debug, Clone, Copy)]
pub struct Tool<'a> {
    /// Its name.
    pub name: &'a str,
    /// The JSON schema of its arguments; `None` if it takes any.
    pub schema: Option<&'a Map<String, Value>>,
    /// True if it may take arguments that its schema doesn't name.
    pub is_open: bool,
}

impl<'a> Tool<'a> {
    /// A tool that takes any arguments.
    pub const fn any(name: &'a str) -> Self {
        let (schema, is_open) = (None, true);
        Self {
            name,
            schema,
            is_open,
        }
    }
}

/// Checks a pipeline, whose steps can call these tools.
///
/// # Errors
/// All its mistakes.
pub fn check(pipeline: &Pipeline, tools: &[Tool<'_>]) -> Result<Plan, Vec<Mistake>> {
    let mut checker = Checker {
        pipeline,
        names: pipeline
            .steps
            .iter()
            .map(|step| step.name.as_str())
            .collect(),
        mistakes: Vec::new(),
    };
    checker.whole();
    let mut steps = Vec::new();
    if pipeline.steps.len() <= MAX_STEPS {
        for step in &pipeline.steps {
            checker.step(step, tools);
            steps.push(checker.compiled(step));
        }
    }
    let edges = checker.edges(&steps);
    let layers = checker.layers(&edges);
    if !checker.mistakes.is_empty() {
        return Err(checker.mistakes);
    }
    let mut planned: Vec<PlannedStep> = steps.into_iter().map(|(step, _)| step).collect();
    for at in layers.iter().flatten() {
        let ancestors = ancestors(&planned, edges.get(*at).map_or(&[], Vec::as_slice));
        if let Some(step) = planned.get_mut(*at) {
            step.ancestors = ancestors;
        }
    }
    Ok(Plan {
        name: pipeline.name.clone(),
        inputs: pipeline.inputs.clone(),
        steps: planned,
        layers,
        definition: pipeline.definition(),
    })
}

/// The steps that depend on nothing later, and all that they depend on.
fn ancestors(steps: &[PlannedStep], parents: &[usize]) -> Vec<usize> {
    let mut found: BTreeSet<usize> = parents.iter().copied().collect();
    for parent in parents {
        let above = steps
            .get(*parent)
            .map(|step| step.ancestors.iter().copied());
        found.extend(above.into_iter().flatten());
    }
    found.into_iter().collect()
}

struct Checker<'a> {
    pipeline: &'a Pipeline,
    names: Vec<&'a str>,
    mistakes: Vec<Mistake>,
}

impl<'a> Checker<'a> {
    fn mistake(&mut self, step: Option<&Step>, field: impl Into<String>, what: impl Into<String>) {
        let step = step.map(|step| clipped(&step.name, MAX_NAME, '?'));
        let (field, what) = (field.into(), what.into());
        self.mistakes.push(Mistake {
            line: None,
            step,
            field,
            what,
        });
    }

    fn whole(&mut self) {
        let pipeline = self.pipeline;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if !(1..=MAX_NAME).contains(&pipeline.name.len()) || !pipeline.name.bytes().all(is_plain) {
            let what = format!("it must have 1 to {MAX_NAME} letters, digits, `-` or `_`");
            self.mistake(None, "name", what);
        }
        match pipeline.steps.len() {
            0 => self.mistake(None, "steps", "a pipeline needs a step: add one"),
            1..=MAX_STEPS => {}
            number => {
                let what = format!(
                    "{number} steps are too many: use at most {MAX_STEPS}, or split the pipeline"
                );
                self.mistake(None, "steps", what);
            }
        }
        let definition = pipeline.definition();
        if definition.is_some_and(|definition| bounded(&definition, MAX_DEFINITION).is_err()) {
            let what = format!(
                "the definition is longer than {MAX_DEFINITION} bytes: pass long values as inputs"
            );
            self.mistake(None, "steps", what);
        }
        let defaults = pipeline.inputs.iter().flatten();
        for (name, default) in
            defaults.filter_map(|(name, input)| Some((name, input.default.as_ref()?)))
        {
            if let Err(why) = measured(default, MAX_INPUT) {
                let place = Path::default().name("inputs").name(name).name("default");
                self.mistake(None, place.to_string(), format!("it {why}"));
            }
        }
    }

    /// Checks what can be seen in a step alone.
    fn step(&mut self, step: &'a Step, tools: &[Tool<'_>]) {
        let name = step.name.as_str();
        let starts_well = !name.starts_with(|c: char| c.is_ascii_digit());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !(1..=MAX_NAME).contains(&name.len()) || !starts_well || !name.bytes().all(is_plain) {
            let nearest: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
                .take(MAX_NAME)
                .collect();
            let hint = if starts_well && !nearest.is_empty() {
                format!("; call it `{nearest}`")
            } else {
                String::new()
            };
            let what = format!(
                "it must have 1 to {MAX_NAME} letters, digits or `_`, and not start with a digit{hint}"
            );
            self.mistake(Some(step), "name", what);
        } else if [INPUT, EXPRESSION, LITERAL].contains(&name) {
            let what = format!("`{name}:` is reserved in parameters: choose another name");
            self.mistake(Some(step), "name", what);
        }
        let first = self.pipeline.steps.iter().find(|other| other.name == name);
        if !first.is_some_and(|first| std::ptr::eq(first, step)) {
            self.mistake(
                Some(step),
                "name",
                "another step has this name: rename one of them",
            );
        }
        match tools.iter().find(|tool| tool.name == step.tool) {
            Some(tool) => self.arguments(step, tool),
            None => self.unknown_tool(step, tools),
        }
        let numbers = [
            (
                "retries",
                u64::from(step.retries),
                1,
                u64::from(MAX_RETRIES),
            ),
            ("retryDelay", step.retry_delay, 0, MAX_RETRY_DELAY),
            ("timeout", step.timeout.unwrap_or(1), 1, MAX_TIMEOUT),
        ];
        for (field, number, least, most) in numbers {
            if !(least..=most).contains(&number) {
                let what = format!("{number} is out of range: use {least} to {most}");
                self.mistake(Some(step), field, what);
            }
        }
    }

    fn unknown_tool(&mut self, step: &Step, tools: &[Tool<'_>]) {
        let tool = clipped(&step.tool, 100, '?');
        let near = near::nearest_first(&step.tool, tools.iter().map(|tool| tool.name));
        let near: Vec<&str> = near.into_iter().take(3).collect();
        let hint = if near.is_empty() {
            "there are no tools".to_owned()
        } else {
            format!("similar names: `{}`", near.join("`, `"))
        };
        self.mistake(
            Some(step),
            "tool",
            format!("there is no tool `{tool}`: {hint}"),
        );
    }

    /// Compares the names of the parameters with those that the tool takes.
    fn arguments(&mut self, step: &Step, tool: &Tool<'_>) {
        let Some(schema) = tool.schema else {
            return;
        };
        let known = schema.get("properties").and_then(Value::as_object);
        let known: Vec<&str> = known
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str)
            .collect();
        let is_unknown = |name: &&String| !tool.is_open && !known.contains(&name.as_str());
        for name in step.params.keys().filter(is_unknown) {
            let hint = match near::meant(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "it takes none".to_owned(),
                None => format!("it takes `{}`", known.join("`, `")),
            };
            let what = format!("`{}` has no such argument: {hint}", tool.name);
            let place = Path::default().name("params").name(&clipped(name, 60, '?'));
            self.mistake(Some(step), place.to_string(), what);
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if matches!(
                step.params.get(name),
                None | Some(Param::Value(Value::Null))
            ) {
                let what = format!("`{}` needs the argument `{name}`: add it", tool.name);
                self.mistake(Some(step), "params", what);
            }
        }
    }

    /// Compiles a step, and answers the steps that it uses.
    fn compiled(&mut self, step: &'a Step) -> (PlannedStep, Vec<String>) {
        let inputs = self.pipeline.inputs.as_ref();
        let mut compiler = Compiler {
            names: &self.names,
            inputs: inputs.map(|inputs| inputs.keys().map(String::as_str).collect()),
            uses: Vec::new(),
            mistakes: Vec::new(),
        };
        let place = |field: &str| Path::default().name(field);
        let params = step.params.iter();
        let params = params.map(|(name, param)| {
            let place = place("params").name(name);
            (name.clone(), compiler.param(&place, param))
        });
        let params = params.collect();
        let when = step.when.as_ref();
        let when = when.and_then(|rule| compiler.condition(&place("when"), rule));
        let transform = step.transform.as_ref();
        let transform =
            transform.and_then(|rule| compiler.transformation(&place("transform"), rule));
        let Compiler { uses, mistakes, .. } = compiler;
        for (place, what) in mistakes {
            self.mistake(Some(step), place.to_string(), what);
        }
        let planned = PlannedStep {
            name: step.name.clone(),
            tool: step.tool.clone(),
            params,
            when,
            transform,
            ancestors: Vec::new(),
            retries: step.retries,
            retry_delay: step.retry_delay,
            timeout: step.timeout.unwrap_or(DEFAULT_TIMEOUT),
            strategy: step.error_strategy,
        };
        (planned, uses)
    }

    /// The steps that each step waits for: those that it names, and those that it uses.
    fn edges(&mut self, steps: &[(PlannedStep, Vec<String>)]) -> Vec<Vec<usize>> {
        let mut edges = Vec::new();
        for (step, (_, uses)) in self.pipeline.steps.iter().zip(steps) {
            let mut parents = BTreeSet::new();
            for (at, name) in step.depends_on.iter().enumerate() {
                match self.names.iter().position(|known| known == name) {
                    Some(parent) => drop(parents.insert(parent)),
                    None => self.unknown_dependency(step, at, name),
                }
            }
            let used = uses.iter();
            parents.extend(used.filter_map(|name| self.names.iter().position(|n| n == name)));
            edges.push(parents.into_iter().collect());
        }
        edges
    }

    fn unknown_dependency(&mut self, step: &Step, at: usize, name: &str) {
        let others = self
            .names
            .iter()
            .copied()
            .filter(|other| *other != step.name);
        let near = near::nearest_first(name, others).into_iter().next();
        let hint = match near {
            Some(near) => format!("the nearest name is `{near}`"),
            None => "there is no other step".to_owned(),
        };
        let what = format!(
            "there is no step `{}`: {hint}",
            clipped(name, MAX_NAME, '?')
        );
        self.mistake(Some(step), format!("dependsOn[{at}]"), what);
    }

    /// The steps by depth; a cycle is a problem, and its steps are in no layer.
    fn layers(&mut self, edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let mut depths: Vec<Option<usize>> = vec![None; edges.len()];
        let mut waits: BTreeSet<usize> = (0..edges.len()).collect();
        while !waits.is_empty() {
            let depth = |at: usize| {
                let parents = edges.get(at)?.iter();
                let above = parents.map(|parent| depths.get(*parent).copied().flatten());
                let above: Option<Vec<usize>> = above.collect();
                Some(above?.into_iter().max().map_or(0, |deepest| deepest + 1))
            };
            let ready: Vec<(usize, usize)> = waits
                .iter()
                .filter_map(|at| Some((*at, depth(*at)?)))
                .collect();
            if ready.is_empty() {
                let cycle = cycle(edges, &waits);
                self.cycle(&cycle);
                // The steps after it may have another one.
                for at in cycle {
                    waits.remove(&at);
                    if let Some(known) = depths.get_mut(at) {
                        *known = Some(0);
                    }
                }
            }
            for (at, depth) in ready {
                waits.remove(&at);
                if let Some(known) = depths.get_mut(at) {
                    *known = Some(depth);
                }
            }
        }
        let mut layers: Vec<Vec<usize>> = Vec::new();
        for (at, depth) in depths.iter().enumerate() {
            let depth = depth.unwrap_or_default();
            layers.resize_with(layers.len().max(depth + 1), Vec::new);
            if let Some(layer) = layers.get_mut(depth) {
                layer.push(at);
            }
        }
        layers
    }

    fn cycle(&mut self, cycle: &[usize]) {
        let steps = self.pipeline.steps.iter();
        let Some(first) = steps
            .clone()
            .nth(cycle.first().copied().unwrap_or_default())
        else {
            return;
        };
        let what = if cycle.len() == 1 {
            "it depends on itself: its own output is `output`, in `transform`".to_owned()
        } else {
            let names = cycle.iter().chain(cycle.first());
            let names: Vec<String> = names
                .filter_map(|at| Some(format!("`{}`", self.names.get(*at)?)))
                .collect();
            format!(
                "the steps wait for each other: {}; remove one of these dependencies or references",
                names.join(" waits for ")
            )
        };
        self.mistake(Some(first), "dependsOn", what);
    }
}

/// A cycle among steps of which each waits for another one of them.
fn cycle(edges: &[Vec<usize>], waits: &BTreeSet<usize>) -> Vec<usize> {
    let mut way: Vec<usize> = waits.iter().copied().take(1).collect();
    while let Some(last) = way.last() {
        let mut parents = edges.get(*last).into_iter().flatten().copied();
        let Some(next) = parents.find(|parent| waits.contains(parent)) else {
            break;
        };
        if let Some(start) = way.iter().position(|at| *at == next) {
            return way.split_off(start);
        }
        way.push(next);
    }
    way
}
