//! Completion of what is typed: names of skills, their files, and values that a hint lists.

use std::collections::BTreeSet;

use gongfu_core::near;
use gongfu_core::skill::SKILL_FILE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address;
use super::operation::{Operation, specified};
use super::resource::{FILE, INSTRUCTIONS};
use gongfu_core::library::path_below;

use super::prompt;
use super::view::{View, view};
use crate::call::Call;
use crate::error::ToolError;

/// The most values of an answer, as the protocol has it.
pub const MAX_VALUES: usize = 100;
/// The near names that are given when nothing fits.
const MAX_NEAR: usize = 10;

/// Values that fit, the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completion {
    /// The first of them.
    pub values: Vec<String>,
    /// The number of values in all.
    pub total: usize,
}

/// Completes a variable of a family of URIs, or an argument of a prompt.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CompletionComplete {
    /// The family of URIs, when it is one of its variables.
    pub template: Option<String>,
    /// The prompt, when it is one of its arguments.
    pub prompt: Option<String>,
    /// The variable or argument.
    pub argument: String,
    /// The text so far.
    pub value: String,
    /// The source that was chosen before.
    pub source: Option<String>,
    /// The path of the skill that was chosen before.
    pub skill: Option<String>,
}

impl Operation for CompletionComplete {
    const NAME: &'static str = "completion/complete";
    type Output = Completion;
    specified!();

    async fn run(self, call: &Call) -> Result<Completion, ToolError> {
        let view = view(call).await?;
        if let Some(name) = &self.prompt {
            return Ok(self.of_prompt(&view, name));
        }
        // Who asks about something that isn't there gets no values, which is no failure.
        let known = match self.template.as_deref() {
            Some(INSTRUCTIONS) => self.argument != "file",
            Some(FILE) => true,
            _ => false,
        };
        Ok(match self.argument.as_str() {
            "source" if known => {
                let roots = view.roots_below("");
                let sources = roots.filter_map(|root| root.split('/').next());
                self.fitting(sources)
            }
            "skill" if known => {
                let roots = view.roots_below(self.source.as_deref().unwrap_or_default());
                let paths = roots.filter_map(|root| match &self.source {
                    Some(source) => path_below(root, source),
                    None => root.split_once('/').map(|(_, path)| path),
                });
                self.fitting(paths)
            }
            "file" if known => self.files(&view),
            _ => Completion::default(),
        })
    }
}

impl CompletionComplete {
    fn of_prompt(&self, view: &View, name: &str) -> Completion {
        let Ok((_, fields)) = prompt::called(&view.library, name) else {
            return Completion::default();
        };
        let choices = prompt::offered(&fields)
            .into_iter()
            .find(|one| one.name == self.argument)
            .map(|one| one.choices)
            .unwrap_or_default();
        self.fitting(choices.iter().map(String::as_str))
    }

    fn files(&self, view: &View) -> Completion {
        let (Some(source), Some(skill)) = (&self.source, &self.skill) else {
            return Completion::default();
        };
        let place = address::decode(&address::encode(&format!("{source}/{skill}")));
        let found = place.ok().and_then(|place| {
            let (_, skill, below) = view.found(&place)?;
            below.is_empty().then(|| skill.clone())
        });
        let Some(skill) = found else {
            return Completion::default();
        };
        let own = super::resource::skill_file(&skill).map(|file| &file.path);
        let files = skill.files.iter().map(|file| {
            if own == Some(&file.path) {
                SKILL_FILE
            } else {
                file.path.as_str()
            }
        });
        self.fitting(files)
    }

    /// The values that fit: those that begin so, those with a part that does, those that hold it;
    /// else near ones.
    fn fitting<'a>(&self, values: impl Iterator<Item = &'a str>) -> Completion {
        let typed = near::folded(&self.value);
        let all: BTreeSet<&str> = values.collect();
        let rank = |value: &str| {
            let value = near::folded(value);
            let part = || {
                value
                    .split(['/', '-', '.'])
                    .any(|part| part.starts_with(&typed))
            };
            if value.starts_with(&typed) {
                Some(0)
            } else if part() {
                Some(1)
            } else {
                value.contains(&typed).then_some(2)
            }
        };
        let mut ranked: Vec<(u8, &str)> = all
            .iter()
            .filter_map(|value| Some((rank(value)?, *value)))
            .collect();
        ranked.sort_unstable();
        let mut values: Vec<&str> = ranked.into_iter().map(|(_, value)| value).collect();
        if values.is_empty() {
            values = near::nearest_first(&self.value, all);
            values.truncate(MAX_NEAR);
        }
        Completion {
            total: values.len(),
            values: values
                .into_iter()
                .take(MAX_VALUES)
                .map(str::to_owned)
                .collect(),
        }
    }
}
