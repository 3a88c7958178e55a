//! The catalog: the list of all entries, and the only way to call one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use gongfu_core::account::{Actor, Owner, Permissions, Scope};
use gongfu_core::audit::Detail;
use gongfu_core::capability::{Access, Origin, Safety};
use gongfu_core::connection::is_for_ui_alone;
use gongfu_core::library::Library;
use gongfu_core::port::{PortError, SkillReach, Space, Spaces};
use gongfu_core::trace::TraceContext;
use tokio::sync::watch;

use crate::call::CallId;
use crate::directory::{self, Directory, Indexes, KnownTools};
use crate::entry::{self, Entry};
use crate::error::ToolError;
use crate::gate::{AuditObserver, Gate, Quota};
use crate::instructions::{self, InstructionRoom};
use crate::problem::Problem;
use crate::profile::{self, Profile};
use crate::skill_prompt;
use crate::surface::resource::Fingerprint;
use crate::surface::view;
use crate::tool::ToolSpec;

mod call;
mod capability;
mod content;
mod name;
mod request;
mod script;
mod snapshot;
mod unavailable;

pub use capability::CapabilityQuery;
pub use content::ContentList;
pub use request::{CatalogRevision, Request};
use script::is_script;
pub use snapshot::NameCollision;
use snapshot::Snapshot;

/// Declares the files below `tool/` and lists their tools: the one line that adds a tool.
macro_rules! tools {
    ($($file:ident::$tool:ident,)+) => {
        #[path = "tool"]
        mod files {
            $(pub(super) mod $file;)+
        }

        /// Every tool of gongfu's own, by name.
        fn native() -> Vec<Arc<dyn Entry>> {
            vec![$(entry::native::<files::$file::$tool>(),)+]
        }
    };
}

tools! {
    change_list::ChangeList,
    change_settle::ChangeSettle,
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

/// Every tool, and the gate in front of them.
///
/// The entries are a snapshot that is replaced as a whole, so listing never waits for a lock.
pub struct Catalog {
    entries: ArcSwap<Snapshot>,
    /// Counts the snapshots.
    version: watch::Sender<u64>,
    gate: Gate,
    spaces: Arc<dyn Spaces>,
    calls: AtomicU64,
    /// The tokens that other servers' tools may take in a list.
    tool_budget: usize,
    tool_indexes: Arc<Indexes>,
    /// Tells the place of what runs now in the traces of this process.
    current_trace: CurrentTrace,
}

/// The place in a trace of what runs now; `None` where nobody traces it.
pub type CurrentTrace = fn() -> Option<TraceContext>;

impl Catalog {
    /// The catalog over these spaces. The observer sees every audit entry.
    pub fn new(spaces: Arc<dyn Spaces>, quota: Quota, observer: Option<AuditObserver>) -> Self {
        Self {
            entries: ArcSwap::from_pointee(Snapshot::new(native())),
            version: watch::Sender::new(0),
            gate: Gate::new(quota, observer),
            spaces,
            calls: AtomicU64::new(0),
            tool_budget: directory::BUDGET,
            tool_indexes: Arc::default(),
            current_trace: || None,
        }
    }

    /// The same, with an audit that keeps this much of the arguments of calls.
    #[must_use]
    pub fn with_audit(mut self, detail: Detail) -> Self {
        self.gate.detail = detail;
        self
    }

    /// The same, with a person asked about each call of an agent from this level on.
    #[must_use]
    pub fn with_approvals_from(mut self, threshold: Safety) -> Self {
        self.gate.threshold = threshold;
        self
    }

    /// Returns true if the level of a tool alone makes each call of an agent wait for a person.
    pub fn needs_approval(&self, spec: &ToolSpec) -> bool {
        self.gate.threshold <= spec.safety
    }

    /// The same, whose calls of other servers are part of this process's traces.
    #[must_use]
    pub fn with_traces(mut self, current: CurrentTrace) -> Self {
        self.current_trace = current;
        self
    }

    /// The same, with so many tokens for the tools of other servers in a list; above, they are searched.
    #[must_use]
    pub fn with_tool_budget(mut self, tokens: usize) -> Self {
        self.tool_budget = tokens;
        self
    }

    /// Lists these entries of an origin from now on, in place of its former ones; none removes them.
    /// `owner` is the space that sees them, `None` every space. Calls that run go on.
    ///
    /// # Errors
    /// A name is taken already: the former entries stay.
    pub fn provide(
        &self,
        origin: &Origin,
        owner: Option<&Owner>,
        entries: &[Arc<dyn Entry>],
    ) -> Result<(), NameCollision> {
        let mut collision = None;
        self.entries.rcu(|snapshot| {
            match snapshot.with(origin.clone(), owner.cloned(), entries.to_vec()) {
                Ok(next) => {
                    collision = None;
                    Arc::new(next)
                }
                Err(error) => {
                    collision = Some(error);
                    Arc::clone(snapshot)
                }
            }
        });
        if let Some(collision) = collision {
            return Err(collision);
        }
        self.version.send_modify(|version| *version += 1);
        Ok(())
    }

    /// The tools of the profiles, by name. Of other servers' tools above the budget only the `known` ones are listed,
    /// with those that find the rest.
    ///
    /// The library is read only when a tool of the profiles describes it: a client that asks for
    /// gongfu's own tools doesn't wait until all skills are read. When it can't be read, such a tool
    /// says less.
    pub async fn list(
        &self,
        profiles: &[Profile],
        actor: &Actor,
        known: Option<&KnownTools>,
    ) -> Vec<ToolSpec> {
        let entries = self.entries.load_full();
        let library = if entries.needs_library(profiles, &actor.owner) {
            self.library(actor).await
        } else {
            None
        };
        self.listed(&entries, profiles, actor, known, library.as_deref())
    }

    /// The same without the library, for when it isn't read yet.
    pub fn list_without_library(
        &self,
        profiles: &[Profile],
        actor: &Actor,
        known: Option<&KnownTools>,
    ) -> Vec<ToolSpec> {
        self.listed(&self.entries.load_full(), profiles, actor, known, None)
    }

    fn listed(
        &self,
        entries: &Snapshot,
        profiles: &[Profile],
        actor: &Actor,
        known: Option<&KnownTools>,
        library: Option<&Library>,
    ) -> Vec<ToolSpec> {
        let directory = self.directory(entries, profiles, actor, None);
        let directory = directory.filter(Directory::is_over_budget);
        let is_known = |spec: &ToolSpec| known.is_some_and(|known| known.has(&spec.name));
        let is_shown = |spec: &ToolSpec| {
            is_permitted(spec, actor)
                && (directory.is_none() || !spec.is_foreign() || is_known(spec))
        };
        let mut specs = entries.described(profiles, &actor.owner, library, is_shown);
        if let Some(directory) = directory {
            specs.extend(directory.specs());
            specs.sort_by(|one, other| one.name.cmp(&other.name));
        }
        specs
    }

    /// The tools of other servers, as a caller sees them.
    fn directory(
        &self,
        entries: &Snapshot,
        profiles: &[Profile],
        actor: &Actor,
        known: Option<&Arc<KnownTools>>,
    ) -> Option<Directory> {
        let visible = entries.visible(profiles, &actor.owner, false);
        let foreign = visible.filter(|entry| {
            let spec = entry.spec();
            spec.is_foreign() && is_permitted(spec, actor) && !is_for_ui_alone(&spec.ui)
        });
        Directory::of(foreign, self.tool_budget, &self.tool_indexes, known)
    }

    /// The description of a tool that a caller can call, listed or not.
    pub fn spec(&self, profiles: &[Profile], actor: &Actor, name: &str) -> Option<ToolSpec> {
        let entries = self.entries.load();
        let visible = entries.visible(profiles, &actor.owner, false);
        let found = name::found(visible, name);
        let own = || {
            let directory = self.directory(&entries, profiles, actor, None)?;
            let mut specs = directory.specs().into_iter();
            specs.find(|spec| *spec.name == *name)
        };
        let script = || is_script(name, profiles).then(crate::script::spec);
        let spec = found.map(|entry| entry.spec().clone());
        let spec = spec.or_else(own).or_else(script);
        spec.filter(|spec| is_permitted(spec, actor))
    }

    /// The instructions for a client's model: the profiles' own words, and the catalogue of skills.
    pub async fn instructions(
        &self,
        profiles: &[Profile],
        actor: &Actor,
        room: InstructionRoom,
    ) -> String {
        let library = self.library(actor).await;
        instructions::instructions(profiles, library.as_deref(), room)
    }

    /// The skills that the instructions of gongfu's own agent list, in at most `budget` characters; `None` if all have
    /// room.
    pub async fn listed_skills(&self, actor: &Actor, budget: usize) -> Option<Vec<String>> {
        let library = self.library(actor).await?;
        skill_prompt::listed(&library, budget)
    }

    /// The block about skills for the instructions of gongfu's own agent, which lists these, or all.
    pub async fn skill_prompt(
        &self,
        actor: &Actor,
        budget: usize,
        listed: Option<&[String]>,
    ) -> String {
        let library = self.library(actor).await;
        library.map_or_else(String::new, |library| {
            skill_prompt::block(&library, budget, listed)
        })
    }

    /// The profiles' own words alone, while the library isn't read yet.
    pub fn introduction(profiles: &[Profile]) -> String {
        let room = InstructionRoom {
            catalogue: 0,
            total: 0,
        };
        instructions::instructions(profiles, None, room)
    }

    /// The descriptions of gongfu's own tools without any library, with those that find tools of other servers.
    pub fn specs(profiles: &[Profile], owner: &Owner) -> Vec<ToolSpec> {
        let mut specs = Snapshot::new(native()).described(profiles, owner, None, |_| true);
        if profile::shows_foreign(profiles) {
            specs.extend(directory::own_specs());
        }
        specs
    }

    /// Waits until a client could see something else than at `since`, and answers the new state.
    ///
    /// # Errors
    /// The space can't be opened, or its store has gone.
    pub async fn changed(
        &self,
        actor: &Actor,
        since: CatalogRevision,
    ) -> Result<CatalogRevision, PortError> {
        let space = self.spaces.open(&actor.owner).await?;
        let mut entries = self.version.subscribe();
        tokio::select! {
            library = space.skills().changed(since.library) => Ok(CatalogRevision {
                library: library?,
                entries: *self.version.borrow(),
            }),
            Ok(entries) = entries.wait_for(|version| *version != since.entries) => {
                Ok(CatalogRevision { entries: *entries, ..since })
            }
        }
    }

    /// Returns true if a tool of this name runs something, whatever profile shows it.
    pub fn executes(&self, name: &str, owner: &Owner) -> bool {
        let entries = self.entries.load();
        let all = entries.visible(&[Profile::All], owner, true);
        directory::is_own(name)
            || name::found(all, name).is_some_and(|entry| entry.spec().access == Access::Execute)
    }

    /// Returns true if a tool of this name is another server's.
    pub fn is_foreign(&self, name: &str, owner: &Owner) -> bool {
        let entries = self.entries.load();
        let mut all = entries.visible(&[Profile::All], owner, true);
        all.any(|entry| *entry.spec().name == *name && entry.spec().is_foreign())
    }

    /// The fingerprints of files right now, by URI, so that a change can be reported; missing files
    /// are left out. Nobody reads anything by it, so it is not in the audit.
    pub async fn fingerprints(&self, actor: &Actor, uris: &[String]) -> Fingerprints {
        let Some(library) = self.library(actor).await else {
            return Fingerprints::new();
        };
        let view = view::View::new(library);
        let uris = uris.iter();
        uris.filter_map(|uri| Some((uri.clone(), view.fingerprint(uri)?)))
            .collect()
    }

    fn next_id(&self) -> CallId {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }

    async fn open(&self, actor: &Actor) -> Result<Space, ToolError> {
        self.space(actor).await.map_err(|error| ToolError {
            refused_by: Some("authenticate"),
            ..Problem::broken("the space of the caller", &error).error()
        })
    }

    async fn library(&self, actor: &Actor) -> Option<Arc<Library>> {
        library(&self.space(actor).await.ok()?).await
    }

    /// The space of a caller, as far as its credential reaches.
    async fn space(&self, actor: &Actor) -> Result<Space, PortError> {
        let mut space = self.spaces.open(&actor.owner).await?;
        if let Some(member) = &actor.member {
            space = space.written_by(member);
        }
        let Permissions { skills, set, .. } = &actor.permissions;
        if let Some(names) = skills {
            space = space.limited_to(&SkillReach::Token(Arc::clone(names)));
        }
        if let Some(set) = set {
            space = space.limited_to(&SkillReach::Set(Arc::clone(set)));
        }
        Ok(space)
    }
}

/// Returns true if a caller's credential permits a tool, and the caller's set has it. A credential for some skills is for
/// nothing beside them.
fn is_permitted(spec: &ToolSpec, actor: &Actor) -> bool {
    let permissions = &actor.permissions;
    let is_beside_skills = spec.is_foreign() && permissions.skills.is_some();
    permissions.scopes.has(Scope::of(spec.access)) && !is_beside_skills && is_in_set(spec, actor)
}

/// Returns true if the caller's set has a tool.
fn is_in_set(spec: &ToolSpec, actor: &Actor) -> bool {
    match (&actor.permissions.set, &spec.origin) {
        (Some(set), Origin::Server(server)) => set.has_tool(server, &spec.permission),
        _ => true,
    }
}

async fn library(space: &Space) -> Option<Arc<Library>> {
    let library = space.skills().library().await;
    library
        .inspect_err(|error| tracing::warn!(%error, "tools are described without the library"))
        .ok()
}

/// The fingerprints of files, by URI.
pub type Fingerprints = HashMap<String, Fingerprint>;

#[cfg(test)]
mod tests;
