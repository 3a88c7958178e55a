//! Skills as prompts: what a person may call by name, and its text with the arguments filled in.

use std::sync::Arc;

use gongfu_core::library::{Library, ResolveError, Skill};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::operation::{Operation, specified};
use super::page::Page;
use super::substitution::{self, Arguments};
use super::view::view;
use super::word;
use crate::call::Call;
use crate::error::ToolError;
use crate::problem::Problem;
use crate::shelf;

/// The argument that is everything behind a command; every prompt takes it.
pub const WHOLE: &str = "arguments";
/// The most arguments that a prompt declares.
const MAX_ARGUMENTS: usize = 64;

/// A skill that a person may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name: the skill's, or its full name where another skill holds that.
    pub name: String,
    /// Its title for people.
    pub title: String,
    /// Its purpose.
    pub description: String,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
}

/// Something that can be given to a prompt; nothing has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its meaning.
    pub description: Option<String>,
    /// True if the skill says that it can't do without.
    pub is_required: bool,
    /// The values that the skill's hint lists for it.
    pub choices: Vec<String>,
}

/// The text of a prompt for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// Its purpose.
    pub description: String,
    /// The instructions.
    pub text: String,
}

/// Lists the skills that a person may call.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PromptsList {
    /// Leads to the next page, as the page before gave it.
    pub cursor: Option<String>,
}

impl Operation for PromptsList {
    const NAME: &'static str = "prompts/list";
    type Output = Page<Prompt>;
    specified!();

    async fn run(self, call: &Call) -> Result<Page<Prompt>, ToolError> {
        let view = view(call).await?;
        view.page(Self::NAME, self.cursor.as_deref(), |_, skill| {
            let fields = word::fields(skill);
            word::is_invocable(&fields).then(|| {
                let prompt = prompt(&view.library, skill, &fields);
                let size = prompt.description.len() + 200 * (prompt.arguments.len() + 1);
                (prompt, size)
            })
        })
    }
}

/// Gives the text of a skill with arguments filled in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PromptsGet {
    /// The name of the prompt, or the full name of the skill.
    pub name: String,
    /// The arguments, by name.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl Operation for PromptsGet {
    const NAME: &'static str = "prompts/get";
    type Output = PromptText;
    specified!();

    async fn run(self, call: &Call) -> Result<PromptText, ToolError> {
        let view = view(call).await?;
        let (skill, fields) = called(&view.library, &self.name)?;
        let declared = arguments(&fields);
        let given = given(&declared, &self.arguments)?;
        let names: Vec<String> = declared.into_iter().map(|one| one.name).collect();
        let document = shelf::load(call, skill).await?;
        // The library and the file may be a moment apart; the words for the place don't matter then.
        let text = substitution::fill(shelf::body(&document), &names, &given)?;
        Ok(PromptText {
            description: word::description(skill, &fields),
            text,
        })
    }
}

/// The skill that a name calls, with its frontmatter.
pub(crate) fn called<'a>(
    library: &'a Library,
    name: &str,
) -> Result<(&'a Arc<Skill>, Map<String, Value>), ToolError> {
    let unknown = |nearest: Vec<String>, total| {
        let name = name.to_owned();
        Problem::PromptUnknown {
            name,
            nearest,
            total,
        }
        .error()
    };
    match library.resolve(name) {
        Ok(skill) => {
            let fields = word::fields(skill);
            if word::is_invocable(&fields) {
                Ok((skill, fields))
            } else {
                Err(unknown(Vec::new(), 0))
            }
        }
        Err(ResolveError::Unknown { nearest, total }) => Err(unknown(nearest, total)),
        Err(ResolveError::Invalid(_)) => Err(unknown(Vec::new(), 0)),
        Err(why @ ResolveError::Disabled { .. }) => Err(Problem::unresolved(name, why).error()),
    }
}

fn prompt(library: &Library, skill: &Skill, fields: &Map<String, Value>) -> Prompt {
    Prompt {
        name: library.name_of(skill).to_owned(),
        title: word::title(skill, fields),
        description: word::description(skill, fields),
        arguments: offered(fields),
    }
}

/// The arguments that a client is told of: those that are declared, else everything as one.
pub(crate) fn offered(fields: &Map<String, Value>) -> Vec<PromptArgument> {
    let declared = arguments(fields);
    if !declared.is_empty() {
        return declared;
    }
    let hint = word::hint(fields);
    vec![PromptArgument {
        choices: hint.as_deref().map(choices).unwrap_or_default(),
        description: Some(hint.unwrap_or_else(|| "What to do, in your own words".to_owned())),
        name: WHOLE.to_owned(),
        is_required: false,
    }]
}

/// The arguments that a skill declares (`arguments`): names in a list or in one text, or mappings
/// with a description.
fn arguments(fields: &Map<String, Value>) -> Vec<PromptArgument> {
    let hints = word::hint(fields)
        .map(|hint| hints(&hint))
        .unwrap_or_default();
    let argument = |at: usize, name: &str, about: Option<&str>, is_required: bool| {
        let hint = hints.get(at);
        PromptArgument {
            name: name.to_owned(),
            description: about.map(shelf::one_line).or_else(|| hint.cloned()),
            is_required,
            choices: hint.map(|hint| choices(hint)).unwrap_or_default(),
        }
    };
    let declared: Vec<PromptArgument> = match fields.get("arguments") {
        Some(Value::String(names)) => names
            .split(|letter: char| letter.is_whitespace() || letter == ',')
            .filter(|name| !name.is_empty())
            .enumerate()
            .map(|(at, name)| argument(at, name, None, false))
            .collect(),
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| match item {
                Value::String(name) => Some(argument(at, name.trim(), None, false)),
                Value::Object(about) => {
                    let text = |field: &str| about.get(field).and_then(Value::as_str);
                    let required = about.get("required").and_then(Value::as_bool);
                    let (name, required) = (text("name")?, required.unwrap_or(false));
                    Some(argument(at, name.trim(), text("description"), required))
                }
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut known = std::collections::HashSet::new();
    let named = |argument: &PromptArgument| {
        let plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
        let name = &argument.name;
        !name.is_empty() && name.chars().all(plain) && known.insert(name.clone())
    };
    declared
        .into_iter()
        .filter(named)
        .take(MAX_ARGUMENTS)
        .collect()
}

/// The parts of a hint, `[a] [b|c]` or `<a> <b>`, one for each argument.
fn hints(hint: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut part = String::new();
    for letter in hint.chars() {
        match letter {
            '[' | '<' => depth += 1,
            ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if letter.is_whitespace() && depth == 0 {
            parts.extend((!part.is_empty()).then(|| std::mem::take(&mut part)));
        } else {
            part.push(letter);
        }
    }
    parts.extend((!part.is_empty()).then_some(part));
    parts
}

/// The values that a hint lists, as in `[patch|minor|major]`.
fn choices(hint: &str) -> Vec<String> {
    let inner = hint.trim_matches(['[', ']', '<', '>', ' ']);
    if !inner.contains('|') || inner.contains(['[', '<', ' ']) {
        return Vec::new();
    }
    let choices = inner.split('|').map(str::trim);
    choices
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns the given arguments, in the order in which they are declared.
fn given(declared: &[PromptArgument], values: &Map<String, Value>) -> Result<Arguments, Problem> {
    let known = || declared.iter().map(|one| one.name.as_str()).chain([WHOLE]);
    let unknown = values
        .keys()
        .find(|name| known().all(|known| known != **name));
    if let Some(name) = unknown {
        let known = gongfu_core::near::nearest_first(name, known()).into_iter();
        return Err(Problem::UnknownArgument {
            name: name.clone(),
            known: known.map(str::to_owned).collect(),
        });
    }
    let text = |name: &str| match values.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
        Some(Value::Array(_)) => Err(wrong_type(name, "a list")),
        Some(Value::Object(_)) => Err(wrong_type(name, "an object")),
    };
    let is_declared = declared.iter().any(|one| one.name == WHOLE);
    if let Some(whole) = text(WHOLE)?.filter(|_| !is_declared) {
        let single = values
            .iter()
            .find(|(name, value)| *name != WHOLE && !value.is_null());
        return match single {
            None => Ok(Arguments::typed(&whole)),
            Some((name, _)) => Err(Problem::wrong_value(
                WHOLE,
                format!("it holds all arguments as one text, but `{name}` is set as well"),
                "pass one or the other",
            )),
        };
    }
    let single = declared.iter().map(|one| match text(&one.name)? {
        None if one.is_required => Err(Problem::MissingArgument {
            name: one.name.clone(),
            about: one
                .description
                .clone()
                .unwrap_or_else(|| "it is required".to_owned()),
        }),
        given => Ok(given),
    });
    Ok(Arguments::listed(single.collect::<Result<_, Problem>>()?))
}

fn wrong_type(name: &str, given: &'static str) -> Problem {
    Problem::WrongType {
        name: name.to_owned(),
        wanted: "a text".to_owned(),
        given,
    }
}
