//! The table of an adoption for people, and its document for programs.

use std::path::Path;

use gongfu_import::inventory::{
    FoundCopy, Inventory, KnownOrigin, LockAgreement, PluginState, Standing,
};
use serde_json::{Value, json};

use super::Plan;
use crate::table::{clip, count, pad, width};
use crate::terminal::{Paint, Terminal, plain};

/// The most problems that are shown to people.
const MAX_PROBLEMS: usize = 20;

/// Everything that is shown.
pub(super) struct AdoptionReport<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) plan: &'a Plan,
    pub(super) user: &'a Path,
    pub(super) project: Option<&'a Path>,
}

impl AdoptionReport<'_> {
    /// Prints all skills, then the numbers and the problems.
    pub(super) fn table(&self, terminal: &mut Terminal) -> anyhow::Result<()> {
        let skills = &self.inventory.skills;
        let rows = skills.iter().map(|copy| {
            let from = copy.origin.as_ref().map_or_else(|| "-".to_owned(), from);
            let name = clip(&plain(&copy.name), Some(32));
            [name, self.short(&copy.folder), from, self.state(copy)]
        });
        let heading = ["NAME", "WHERE", "FROM", "STATE"].map(str::to_owned);
        let rows: Vec<[String; 4]> = rows.collect();
        let all = || rows.iter().chain([&heading]);
        let column = |at: usize, most: usize| {
            let widths = all().filter_map(|row| row.get(at)).map(|cell| width(cell));
            widths.max().unwrap_or(0).min(most)
        };
        let widths = [column(0, 32), column(1, 48), column(2, 40)];
        let line = |row: &[String; 4]| {
            let cells = row.iter().zip(widths);
            let cells = cells.map(|(cell, width)| pad(&clip(cell, Some(width)), width));
            let mut cells: Vec<String> = cells.collect();
            cells.extend(row.last().cloned());
            clip(cells.join("  ").trim_end(), terminal.width())
        };
        let lines: Vec<String> = rows.iter().map(line).collect();
        let heading = terminal.paint(Paint::Dim, &line(&heading));
        if !lines.is_empty() {
            terminal.line(&heading)?;
        }
        for line in &lines {
            terminal.line(line)?;
        }
        self.summary(terminal);
        Ok(())
    }

    fn summary(&self, terminal: &mut Terminal) {
        let Inventory {
            skills,
            sources,
            problems,
        } = self.inventory;
        let number =
            |is: &dyn Fn(&FoundCopy) -> bool| skills.iter().filter(|copy| is(copy)).count();
        let duplicates = number(&|copy| matches!(copy.standing, Standing::Duplicate(_)));
        let older = number(&|copy| matches!(copy.standing, Standing::Older(_)));
        let differing = number(&|copy| copy.change == LockAgreement::Differs);
        let unknown = number(&|copy| copy.origin.is_none());
        let cached = number(&|copy| !copy.is_in_use());
        let parts = [
            (duplicates, "with the content of another"),
            (older, "older than another"),
            (differing, "not as their lock says"),
            (unknown, "from an unknown source"),
            (cached, "only in a plugin's cache"),
        ];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        let kinds = |kind| sources.iter().filter(|source| source.kind == kind).count();
        let servers = self.plan.servers.found.len();
        terminal.note(&format!(
            "{}{}{}; {}, {}, {} of clients",
            count(skills.len(), "skill"),
            if parts.is_empty() { "" } else { ": " },
            parts.join(", "),
            count(kinds("lock"), "lock"),
            count(kinds("marketplace"), "marketplace"),
            count(servers, "MCP server"),
        ));
        for folder in &self.plan.untold {
            let shown = plain(&folder.to_string_lossy());
            terminal.note(&format!(
                "gongfu doesn't read {}; a folder in the settings is trusted, so review it first: gongfu source add {shown}",
                self.short(folder)
            ));
        }
        let problems = problems
            .iter()
            .map(gongfu_import::inventory::InventoryProblem::text);
        let problems: Vec<String> = problems.chain(self.plan.servers.problems.clone()).collect();
        for problem in problems.iter().take(MAX_PROBLEMS) {
            terminal.note(&format!("problem: {}", plain(problem)));
        }
        if let Some(more) = problems
            .len()
            .checked_sub(MAX_PROBLEMS)
            .filter(|more| *more > 0)
        {
            terminal.note(&format!(
                "and {}; --json lists all",
                count(more, "more problem")
            ));
        }
    }

    /// Says what was written.
    pub(super) fn done(&self, imported: &[String], terminal: &mut Terminal) -> anyhow::Result<()> {
        for lock in &self.plan.locks {
            let skills = count(lock.skills.len(), "skill");
            let path = plain(&lock.path.to_string_lossy());
            terminal.line(&format!("locked    {skills} in {path}"))?;
        }
        for folder in &self.plan.folders {
            let folder = plain(&folder.to_string_lossy());
            terminal.line(&format!("added     {folder} to the settings"))?;
        }
        for name in imported {
            terminal.line(&format!("imported  {name}"))?;
        }
        if !imported.is_empty() {
            let next = "note: approve each before it is started: gongfu connection approve NAME";
            terminal.note(next);
        }
        terminal.note("to take it back: gongfu adopt --undo");
        Ok(())
    }

    /// The document for programs; `imported` are the servers, once it was made.
    pub(super) fn document(&self, imported: Option<&[String]>) -> Value {
        let plan = self.plan;
        let locks = plan.locks.iter().map(|lock| {
            let added: Vec<&String> = lock.skills.keys().collect();
            json!({ "path": lock.path, "added": added })
        });
        let problems = self.inventory.problems.iter().map(|problem| {
            json!({ "path": problem.path, "line": problem.line, "message": problem.text() })
        });
        let of_servers = plan.servers.problems.iter();
        let of_servers = of_servers.map(|what| json!({ "message": what }));
        let sources = self.inventory.sources.iter().map(|source| {
            json!({
                "kind": source.kind,
                "name": source.name,
                "path": source.path,
                "from": source.from,
                "entries": source.entries,
            })
        });
        let servers = plan.servers.found.iter();
        let servers = servers.map(|(name, file)| json!({ "name": name, "file": file }));
        let new = plan.servers.new.iter();
        let new: Vec<_> = new.map(|entry| entry.connection.name.to_string()).collect();
        json!({
            "adopted": imported.is_some(),
            "skills": self.inventory.skills.iter().map(|copy| self.skill(copy)).collect::<Vec<_>>(),
            "sources": sources.collect::<Vec<_>>(),
            "servers": servers.collect::<Vec<_>>(),
            "problems": problems.chain(of_servers).collect::<Vec<_>>(),
            "changes": {
                "locks": locks.collect::<Vec<_>>(),
                "folders": plan.folders,
                "servers": imported.map_or(new, <[String]>::to_vec),
                "folders_to_review": plan.untold,
            },
        })
    }

    fn skill(&self, copy: &FoundCopy) -> Value {
        let other = |at: usize| self.inventory.skills.get(at).map(|other| &other.folder);
        let (rank, other) = match copy.standing {
            Standing::Only => ("only", None),
            Standing::Newest => ("newest", None),
            Standing::Older(at) => ("older", other(at)),
            Standing::Duplicate(at) => ("duplicate", other(at)),
            Standing::OtherContent(at) => ("other_content", other(at)),
        };
        let plugin = copy.plugin.as_ref();
        let plugin = plugin.map(|plugin| {
            let state = match plugin.state {
                PluginState::Installed => "installed",
                PluginState::Disabled => "disabled",
                PluginState::Cached => "cached",
                PluginState::Own => "own",
            };
            json!({ "name": plugin.name, "state": state })
        });
        let origin = copy.origin.as_ref().map(|origin| {
            json!({
                "source": origin.source,
                "kind": origin.kind,
                "by": origin.by,
                "ref": origin.reference,
                "commit": origin.commit,
                "version": origin.version,
                "path": origin.path,
            })
        });
        json!({
            "name": copy.name,
            "place": copy.scope.as_str(),
            "key": copy.key,
            "folder": copy.folder,
            "places": copy.places,
            "target": copy.target,
            "plugin": plugin,
            "origin": origin,
            "digest": copy.content.as_ref().map(|content| content.digest.to_string()),
            "rank": rank,
            "other": other,
            "lock": match copy.change {
                LockAgreement::Unknown => "unknown",
                LockAgreement::Same => "same",
                LockAgreement::Differs => "differs",
            },
            "locked": copy.is_locked,
            "state": self.state(copy),
        })
    }

    /// The state of a copy in a few words.
    fn state(&self, copy: &FoundCopy) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(plugin) = &copy.plugin {
            words.extend(match plugin.state {
                PluginState::Installed => None,
                PluginState::Disabled => Some("disabled plugin".to_owned()),
                PluginState::Cached => Some("not installed, only cached".to_owned()),
                PluginState::Own => Some("plugin for others".to_owned()),
            });
        }
        let other = |at: usize| {
            let other = self.inventory.skills.get(at);
            other.map_or_else(String::new, |other| self.short(&other.folder))
        };
        words.extend(match copy.standing {
            Standing::Only => None,
            Standing::Newest => Some("newest".to_owned()),
            Standing::Older(at) => Some(format!("older than {}", other(at))),
            Standing::Duplicate(at) => Some(format!("duplicate of {}", other(at))),
            Standing::OtherContent(at) => Some(format!("other content than {}", other(at))),
        });
        words.extend(match copy.change {
            LockAgreement::Differs => Some("differs from its lock".to_owned()),
            LockAgreement::Same => Some("as locked".to_owned()),
            LockAgreement::Unknown => None,
        });
        if copy.origin.is_none() {
            words.push("unknown source".to_owned());
        }
        let links = copy.places.len().saturating_sub(1);
        if links > 0 {
            words.push(count(links, "link"));
        }
        words.join(", ")
    }

    /// A path as short as a person writes it.
    fn short(&self, path: &Path) -> String {
        let below = |base: &Path, mark: &str| {
            let rest = path.strip_prefix(base).ok()?;
            Some(format!("{mark}/{}", rest.to_string_lossy()))
        };
        let short = self.project.and_then(|project| below(project, "."));
        let short = short.or_else(|| below(self.user, "~"));
        plain(&short.unwrap_or_else(|| path.to_string_lossy().into_owned()))
    }
}

/// A source without what all addresses have.
fn from(origin: &KnownOrigin) -> String {
    let text = plain(&origin.text());
    let text = text.strip_prefix("https://").unwrap_or(&text);
    text.replacen(".git@", "@", 1)
        .trim_end_matches(".git")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use gongfu_import::inventory::KnownOrigin;

    use super::from;

    #[test]
    fn sources_are_short() {
        let mut origin = KnownOrigin::default();
        origin.source = "https://github.com/o/r.git".to_owned();
        assert_eq!(from(&origin), "github.com/o/r");
        origin.version = Some("1.0.0".to_owned());
        assert_eq!(from(&origin), "github.com/o/r@1.0.0");
    }
}
