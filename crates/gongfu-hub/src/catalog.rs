//! The list of all tools, and the only door to calling one.

use std::sync::Arc;

use gongfu_core::account::Actor;
use gongfu_core::capability::Origin;
use gongfu_core::library::Revision;
use gongfu_core::near;
use gongfu_core::port::{AuditLog, Clock, PortError, SkillStore};
use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::gate::{Call, Gate, Running};
use crate::problem::Problem;
use crate::profile::Profile;
use crate::schema;
use crate::tool::{Context, Output as _, Tool, ToolResult, ToolSpec};

/// Declares the files below `tool/` and lists their tools: the one line that adds a tool.
macro_rules! tools {
    ($($file:ident::$tool:ident,)+) => {
        #[path = "tool"]
        mod files {
            $(pub(super) mod $file;)+
        }

        /// Every tool of gongfu's own, by name.
        fn native() -> Vec<Box<dyn Entry>> {
            vec![$(Box::new(Native::<files::$file::$tool>::new()),)+]
        }
    };
}

tools! {
    skill_list::SkillList,
    skill_load::SkillLoad,
    skill_read::SkillRead,
}

/// Something in the catalog that can be called; where it comes from is its own affair.
pub trait Entry: Send + Sync {
    /// What it says about itself to this caller.
    fn spec(&self, actor: &Actor) -> ToolSpec;

    /// Runs it; only the gate calls this.
    fn run<'a>(&'a self, arguments: Map<String, Value>, context: &'a Context) -> Running<'a>;
}

/// A tool of gongfu's own as an entry.
struct Native<T> {
    spec: ToolSpec,
    tool: std::marker::PhantomData<fn() -> T>,
}

impl<T: Tool> Native<T> {
    fn new() -> Self {
        let input = schema::of::<T>();
        let spec = ToolSpec {
            name: T::NAME,
            title: T::TITLE,
            description: input.description,
            input_schema: Arc::new(input.schema),
            output_schema: T::Output::schema().map(Arc::new),
            access: T::ACCESS,
            safety: T::SAFETY,
            origin: Origin::Native,
        };
        Self {
            spec,
            tool: std::marker::PhantomData,
        }
    }
}

impl<T: Tool> Entry for Native<T> {
    fn spec(&self, _actor: &Actor) -> ToolSpec {
        self.spec.clone()
    }

    fn run<'a>(&'a self, mut arguments: Map<String, Value>, context: &'a Context) -> Running<'a> {
        // An explicit null is an argument that isn't given.
        arguments.retain(|_, value| !value.is_null());
        let tool = serde_json::from_value::<T>(Value::Object(arguments)).map_err(|error| {
            Problem::WrongValue {
                name: self.spec.name.to_owned(),
                reason: error.to_string(),
                hint: "see the tool's schema".to_owned(),
            }
            .error()
        });
        Box::pin(async move { Ok(tool?.run(context).await?.into_result()) })
    }
}

/// Every tool, and the gate in front of them.
pub struct Catalog {
    entries: Vec<Box<dyn Entry>>,
    gate: Gate,
    skills: Arc<dyn SkillStore>,
}

impl Catalog {
    /// The catalog over these ports.
    pub fn new(
        skills: Arc<dyn SkillStore>,
        audit: Arc<dyn AuditLog>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            entries: native(),
            gate: Gate::new(audit, clock),
            skills,
        }
    }

    /// The tools of the profiles, by name.
    pub fn list(&self, profiles: &[Profile], actor: &Actor) -> Vec<ToolSpec> {
        described(&self.entries, profiles, actor)
    }

    /// The tools that need no library to be described: gongfu's own.
    pub fn specs(profiles: &[Profile], actor: &Actor) -> Vec<ToolSpec> {
        described(&native(), profiles, actor)
    }

    /// Waits until the library is another than at `since`; answers which it is then.
    ///
    /// # Errors
    /// Nobody will tell.
    pub async fn changed(&self, actor: &Actor, since: Revision) -> Result<Revision, PortError> {
        self.skills.changed(&actor.owner, since).await
    }

    /// Calls a tool: the only way to run one, whatever surface a call comes from.
    ///
    /// # Errors
    /// The tool isn't there, a stage of the gate refuses, or the tool fails.
    pub async fn call(
        &self,
        profiles: &[Profile],
        name: &str,
        arguments: Map<String, Value>,
        actor: &Actor,
    ) -> Result<ToolResult, ToolError> {
        let found = visible(&self.entries, profiles)
            .map(|entry| (entry, entry.spec(actor)))
            .find(|(_, spec)| spec.name == name);
        let Some((entry, spec)) = found else {
            let specs = self.list(profiles, actor);
            let nearest = near::nearest_first(name, specs.iter().map(|spec| spec.name))
                .into_iter()
                .map(str::to_owned)
                .collect();
            return Err(Problem::UnknownTool {
                name: name.to_owned(),
                nearest,
            }
            .error());
        };
        let context = Context {
            actor: actor.clone(),
            skills: Arc::clone(&self.skills),
        };
        let call = Call {
            actor,
            spec: &spec,
            arguments: &arguments,
        };
        self.gate
            .pass(&call, || entry.run(arguments.clone(), &context))
            .await
    }
}

fn described(entries: &[Box<dyn Entry>], profiles: &[Profile], actor: &Actor) -> Vec<ToolSpec> {
    let mut specs: Vec<ToolSpec> = visible(entries, profiles)
        .map(|entry| entry.spec(actor))
        .collect();
    specs.sort_by_key(|spec| spec.name);
    specs
}

fn visible<'a>(
    entries: &'a [Box<dyn Entry>],
    profiles: &[Profile],
) -> impl Iterator<Item = &'a dyn Entry> {
    let standard = profiles.contains(&Profile::Standard);
    entries.iter().filter(move |_| standard).map(Box::as_ref)
}

#[cfg(test)]
mod tests;
