//! Sets: the part of what an agent could use that it works with. A set only narrows; it permits nothing.

use std::fmt::Debug;
use std::sync::Arc;

use crate::connection::ConnectionName;

/// The start of the id of another server's tool.
const TOOL: &str = "mcp.";
/// The start of the id of a skill.
const SKILL: &str = "skill.";

/// The tools of other servers and the skills that are in a set. gongfu's own tools are chosen by the profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CapabilitySet {
    members: Vec<String>,
}

/// The sets of an installation.
pub trait Sets: Debug + Send + Sync {
    /// The set of this name, as the settings have it now.
    ///
    /// # Errors
    /// No set has this name; the error says which there are.
    fn find(&self, name: &str) -> Result<Arc<CapabilitySet>, String>;
}

/// A set that was chosen by its name.
#[derive(Debug, Clone)]
pub struct SetChoice {
    /// The sets.
    pub sets: Arc<dyn Sets>,
    /// The name.
    pub name: String,
}

impl SetChoice {
    /// The set as it is now; one with nothing in it once no set has that name.
    pub fn set(&self) -> Arc<CapabilitySet> {
        self.sets.find(&self.name).unwrap_or_default()
    }
}

impl CapabilitySet {
    /// The set of these members: `mcp.<server>` or `mcp.<server>.*` for all tools of a server, `mcp.<server>.<tool>`,
    /// `skill.<name>` with the name or full name of a skill; `mcp.*` and `skill.*` for all.
    ///
    /// # Errors
    /// A member is something else.
    pub fn new(members: Vec<String>) -> Result<Self, String> {
        for member in &members {
            let is_server = |rest: &str| {
                let server = rest.split_once('.').map_or(rest, |(server, _)| server);
                rest == "*" || ConnectionName::new(server).is_ok()
            };
            let is_tool = member.strip_prefix(TOOL).is_some_and(is_server);
            let skill = member.strip_prefix(SKILL);
            if !is_tool && skill.is_none_or(str::is_empty) {
                return Err(format!(
                    "`{member}` is not a member of a set; write mcp.SERVER, mcp.SERVER.TOOL or skill.NAME"
                ));
            }
        }
        Ok(Self { members })
    }

    /// Returns true if a tool of a server is in the set, by its permission.
    pub fn has_tool(&self, server: &str, permission: &str) -> bool {
        let mut members = self.members.iter();
        members.any(|member| {
            let rest = member.strip_prefix(TOOL).unwrap_or_default();
            let named = rest.strip_suffix(".*").unwrap_or(rest);
            rest == "*" || named == server || member == permission
        })
    }

    /// Returns true if a skill is in the set, by its full name.
    pub fn has_skill(&self, full_name: &str) -> bool {
        let name = full_name
            .rsplit_once('/')
            .map_or(full_name, |(_, name)| name);
        let members = self.members.iter();
        members
            .filter_map(|member| member.strip_prefix(SKILL))
            .any(|member| member == "*" || member == full_name || member == name)
    }
}

#[cfg(test)]
mod tests {
    use super::CapabilitySet;

    fn set(members: &[&str]) -> CapabilitySet {
        CapabilitySet::new(members.iter().map(|&one| one.to_owned()).collect()).unwrap()
    }

    #[test]
    fn set_has_what_it_names() {
        let set = set(&[
            "mcp.git",
            "mcp.time.*",
            "mcp.notes.add",
            "skill.pdf",
            "skill.team/review",
        ]);
        assert!(set.has_tool("git", "mcp.git.log"));
        assert!(set.has_tool("time", "mcp.time.now"));
        assert!(set.has_tool("notes", "mcp.notes.add"));
        assert!(!set.has_tool("notes", "mcp.notes.remove"));
        assert!(!set.has_tool("gitlab", "mcp.gitlab.log"));
        assert!(set.has_skill("user/pdf"));
        assert!(set.has_skill("team/review"));
        assert!(!set.has_skill("user/review"));
        assert!(!set.has_skill("pdf/other"));
    }

    #[test]
    fn star_is_for_all_of_a_kind() {
        let (tools, skills) = (set(&["mcp.*"]), set(&["skill.*"]));
        assert!(tools.has_tool("git", "mcp.git.log"));
        assert!(!tools.has_skill("user/pdf"));
        assert!(skills.has_skill("user/pdf"));
        assert!(!skills.has_tool("git", "mcp.git.log"));
        assert!(!set(&[]).has_skill("user/pdf"));
    }

    #[test]
    fn what_is_no_member_is_refused() {
        for member in ["", "git", "mcp.", "mcp", "skill.", "mcp.a b", "tool.x", "*"] {
            CapabilitySet::new(vec![member.to_owned()]).unwrap_err();
        }
    }
}
