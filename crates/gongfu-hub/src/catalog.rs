//! The list of all tools, and the only door to calling one.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use gongfu_core::account::{Actor, Role};
use gongfu_core::capability::Access;
use gongfu_core::library::{Library, Revision};
use gongfu_core::near;
use gongfu_core::port::{
    ApprovalStore, AuditLog, Clock, Environments, PortError, Runs, Sandbox, SkillSearch,
    SkillStore, Workspace,
};
use gongfu_core::sandbox::Limits;
use serde_json::{Map, Value};

use crate::dialect::{self, Dialect, MANY};
use crate::entry::{self, Entry, View};
use crate::error::ToolError;
use crate::gate::{Call, Gate, Hosts};
use crate::guide;
use crate::problem::Problem;
use crate::profile::Profile;
use crate::run::Installs;
use crate::shelf;
use crate::surface::resource::Fingerprint;
use crate::surface::{Operation, Tables};
use crate::tool::{Context, Talk, ToolResult, ToolSpec};

/// Declares the files below `tool/` and lists their tools: the one line that adds a tool.
macro_rules! tools {
    ($($file:ident::$tool:ident,)+) => {
        #[path = "tool"]
        mod files {
            $(pub(super) mod $file;)+
        }

        /// Every tool of gongfu's own, by name.
        fn native() -> Vec<Box<dyn Entry>> {
            vec![$(entry::native::<files::$file::$tool>(),)+]
        }
    };
}

tools! {
    file_list::FileList,
    file_read::FileRead,
    file_write::FileWrite,
    skill_create::SkillCreate,
    skill_list::SkillList,
    skill_load::SkillLoad,
    skill_read::SkillRead,
    skill_run::SkillRun,
    skill_search::SkillSearch,
    skill_write::SkillWrite,
}

/// The tool that a dialect gains when it has more skills than it can list.
const SEARCH: &str = "skill_search";

/// What the tools reach the world by.
#[derive(Clone)]
pub struct Ports {
    /// Skills.
    pub skills: Arc<dyn SkillStore>,
    /// Search over them.
    pub search: Arc<dyn SkillSearch>,
    /// Files that are worked on.
    pub workspace: Arc<dyn Workspace>,
    /// What runs see of them, and leave.
    pub runs: Arc<dyn Runs>,
    /// Where scripts and commands are run.
    pub sandbox: Arc<dyn Sandbox>,
    /// What each of them may use at most.
    pub limits: Limits,
    /// The packages that they need.
    pub environments: Arc<dyn Environments>,
    /// Which of those are installed without anybody being asked.
    pub installs: Installs,
    /// What people said about calls that need one.
    pub approvals: Arc<dyn ApprovalStore>,
    /// Where every call is written down.
    pub audit: Arc<dyn AuditLog>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Every tool, and the gate in front of them.
pub struct Catalog {
    entries: Entries,
    gate: Gate,
    ports: Ports,
    tables: Arc<Tables>,
}

impl Catalog {
    /// The catalog over these ports.
    pub fn new(ports: Ports) -> Self {
        Self {
            entries: Entries::new(),
            gate: Gate::new(Arc::clone(&ports.audit), Arc::clone(&ports.clock)),
            ports,
            tables: Arc::default(),
        }
    }

    /// The tools of the profiles, by name.
    ///
    /// The library is looked at only when a tool of the profiles says something about it: a client
    /// that asks for gongfu's own tools doesn't wait until all skills are read. When it can't be
    /// read, such a tool says less.
    pub async fn list(&self, profiles: &[Profile], actor: &Actor) -> Vec<ToolSpec> {
        self.ports.sandbox.make_way();
        let library = if self.entries.need_library(profiles) {
            self.library(actor).await
        } else {
            None
        };
        self.entries.described(profiles, actor, library.as_deref())
    }

    /// What a client tells its model about the skills: the words of the profiles' tools, and the
    /// catalogue within so many characters.
    pub async fn instructions(&self, profiles: &[Profile], actor: &Actor, budget: usize) -> String {
        let library = self.library(actor).await;
        guide::instructions(profiles, library.as_deref(), budget)
    }

    /// The words of the profiles' tools alone, while the library can't be told yet.
    pub fn introduction(profiles: &[Profile]) -> String {
        guide::instructions(profiles, None, 0)
    }

    /// The tools as they are described without any library.
    pub fn specs(profiles: &[Profile], actor: &Actor) -> Vec<ToolSpec> {
        Entries::new().described(profiles, actor, None)
    }

    /// Waits until the library is another than at `since`; answers which it is then.
    ///
    /// # Errors
    /// Nobody will tell.
    pub async fn changed(&self, actor: &Actor, since: Revision) -> Result<Revision, PortError> {
        self.ports.skills.changed(&actor.owner, since).await
    }

    /// Whether a tool of this name runs something, whatever profile shows it.
    pub fn executes(name: &str) -> bool {
        static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
        let names = NAMES.get_or_init(|| {
            let actor = Actor::local(Role::Visitor, "");
            let all = Self::specs(&[Profile::All], &actor).into_iter();
            let run = all.filter(|spec| spec.access == Access::Execute);
            run.map(|spec| spec.name).collect()
        });
        names.contains(&name)
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
        self.call_with(profiles, name, arguments, actor, Talk::default())
            .await
    }

    /// The same, for somebody who talks with the program that it runs.
    ///
    /// # Errors
    /// As [`Catalog::call`].
    pub async fn call_with(
        &self,
        profiles: &[Profile],
        name: &str,
        arguments: Map<String, Value>,
        actor: &Actor,
        talk: Talk,
    ) -> Result<ToolResult, ToolError> {
        // Whether there are many skills is asked only where that decides about this tool.
        let is_many = name == SEARCH
            && dialect::chosen(profiles).any(|dialect| dialect.gains_search)
            && self.library(actor).await.is_some_and(|all| is_many(&all));
        let mut visible = self.entries.visible(profiles, is_many);
        let Some(entry) = visible.find(|entry| entry.name() == name) else {
            let visible = self.entries.visible(profiles, is_many);
            let nearest = near::nearest_first(name, visible.map(Entry::name))
                .into_iter()
                .map(str::to_owned)
                .collect();
            return Err(Problem::UnknownTool {
                name: name.to_owned(),
                nearest,
            }
            .error());
        };
        // What a call may hold doesn't depend on the library: the tool itself says which names
        // there are, with its own words.
        let library = None;
        let spec = entry.spec(View { actor, library });
        let context = Context {
            talk,
            ..self.context(actor)
        };
        if spec.access != Access::Execute {
            self.ports.sandbox.make_way();
        }
        let call = Call {
            actor,
            spec: &spec,
            arguments: &arguments,
            hosts: &context.hosts,
        };
        let outcome = self
            .gate
            .pass(&call, || entry.run(arguments.clone(), &context))
            .await;
        outcome.map_err(|error| {
            let rendered = entry.failure(&error, self.ports.clock.now());
            ToolError {
                rendered: rendered.map(Box::new),
                ..error
            }
        })
    }

    /// Answers a request for skills that is no tool: a manifest, a resource, a prompt.
    ///
    /// It passes the same gate as a tool and stands in the same audit, under its own name.
    ///
    /// # Errors
    /// A stage of the gate refuses, or the operation fails.
    pub async fn operate<O: Operation>(
        &self,
        operation: O,
        actor: &Actor,
    ) -> Result<O::Output, ToolError> {
        self.ports.sandbox.make_way();
        let arguments = match serde_json::to_value(&operation) {
            Ok(Value::Object(arguments)) => arguments,
            _ => Map::new(),
        };
        let context = self.context(actor);
        let call = Call {
            actor,
            spec: O::spec(),
            arguments: &arguments,
            hosts: &context.hosts,
        };
        self.gate.pass(&call, || operation.run(&context)).await
    }

    /// What files are like right now, by their URIs, so that a change of one can be told; those that
    /// aren't there are left out.
    ///
    /// Nobody reads anything by it, so it is not in the audit.
    pub async fn fingerprints(&self, actor: &Actor, uris: &[String]) -> Fingerprints {
        let context = self.context(actor);
        let Ok(view) = self.tables.view(&context).await else {
            return Fingerprints::new();
        };
        let uris = uris.iter();
        uris.filter_map(|uri| Some((uri.clone(), view.fingerprint(uri)?)))
            .collect()
    }

    fn context(&self, actor: &Actor) -> Context {
        Context {
            actor: actor.clone(),
            skills: Arc::clone(&self.ports.skills),
            search: Arc::clone(&self.ports.search),
            workspace: Arc::clone(&self.ports.workspace),
            runs: Arc::clone(&self.ports.runs),
            sandbox: Arc::clone(&self.ports.sandbox),
            limits: self.ports.limits,
            environments: Arc::clone(&self.ports.environments),
            installs: self.ports.installs,
            approvals: Arc::clone(&self.ports.approvals),
            clock: Arc::clone(&self.ports.clock),
            talk: Talk::default(),
            hosts: Hosts::default(),
            tables: Arc::clone(&self.tables),
        }
    }

    async fn library(&self, actor: &Actor) -> Option<Arc<Library>> {
        let library = self.ports.skills.library(&actor.owner).await;
        library
            .inspect_err(|error| tracing::warn!(%error, "tools are described without the library"))
            .ok()
    }
}

/// Whether a library has more names than a dialect lists in a schema.
fn is_many(library: &Library) -> bool {
    shelf::names(library).len() > MANY
}

/// What files are like, by URI.
pub type Fingerprints = HashMap<String, Fingerprint>;

/// Everything that can be called.
struct Entries {
    native: Vec<Box<dyn Entry>>,
    dialects: Vec<(&'static Dialect, Vec<Box<dyn Entry>>)>,
}

impl Entries {
    fn new() -> Self {
        let dialects = dialect::all().iter();
        Self {
            native: native(),
            dialects: dialects
                .map(|dialect| (*dialect, dialect.entries()))
                .collect(),
        }
    }

    /// The entries of the profiles; `is_many` when there are more skills than a dialect can list.
    fn visible<'a>(
        &'a self,
        profiles: &'a [Profile],
        is_many: bool,
    ) -> impl Iterator<Item = &'a dyn Entry> {
        let all = profiles
            .iter()
            .any(|profile| matches!(profile, Profile::Standard | Profile::All));
        let searches = is_many && dialect::chosen(profiles).any(|dialect| dialect.gains_search);
        let native = self.native.iter();
        let native = native.filter(move |entry| all || (searches && entry.name() == SEARCH));
        let dialects = self.dialects.iter();
        let spoken = dialects
            .filter(move |(dialect, _)| dialect.is_chosen(profiles))
            .flat_map(|(_, entries)| entries);
        native.chain(spoken).map(Box::as_ref)
    }

    fn need_library(&self, profiles: &[Profile]) -> bool {
        let mut visible = self.visible(profiles, false);
        visible.any(Entry::is_dynamic)
            || dialect::chosen(profiles).any(|dialect| dialect.gains_search)
    }

    fn described(
        &self,
        profiles: &[Profile],
        actor: &Actor,
        library: Option<&Library>,
    ) -> Vec<ToolSpec> {
        let view = View { actor, library };
        let mut specs: Vec<ToolSpec> = self
            .visible(profiles, library.is_some_and(is_many))
            .map(|entry| entry.spec(view))
            .collect();
        specs.sort_by_key(|spec| spec.name);
        specs
    }
}

#[cfg(test)]
mod tests;
