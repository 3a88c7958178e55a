//! The commands about skills: `skill`, the packages that they need, and the tools for them.

use clap::{Args, Subcommand};

use super::{
    AddArguments, CheckArguments, Common, InstallArguments, ListArguments, LockedArguments,
    NewArguments, Places, Profiles, PublishArguments, RemoveArguments, SearchArguments,
    UpdateArguments, value,
};

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List skills
    #[command(visible_alias = "ls")]
    List(ListArguments),
    /// Search skills by what they do, best match first
    #[command(visible_alias = "find")]
    Search(SearchArguments),
    /// Show a skill: description, files, findings
    #[command(alias = "info")]
    Show {
        /// Name or full name of the skill
        #[arg(value_name = "SKILL")]
        name: String,
        #[command(flatten)]
        common: Common,
    },
    /// Print a file of a skill (default: SKILL.md)
    #[command(alias = "cat")]
    Read {
        /// Name or full name of the skill
        #[arg(value_name = "SKILL")]
        name: String,
        /// File, relative to the skill's folder
        #[arg(value_name = "FILE")]
        path: Option<String>,
        /// Print only the section under this heading
        #[arg(long, value_name = "HEADING", conflicts_with = "path")]
        section: Option<String>,
        /// Leave out the frontmatter
        #[arg(long, conflicts_with_all = ["path", "section"])]
        body: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Add skills from a repository, a site, a package, an archive or a folder
    ///
    /// Shows what comes before it comes: files, scripts, packages, hosts, findings. Skills go to `.agents/skills`, with links
    /// for other agents that are used there, and into the locks: `gongfu.lock`, and that of `npx skills`. A skill that you
    /// changed is never overwritten.
    #[command(
        after_help = "Examples:\n  gongfu skill add owner/repo\n  gongfu skill add owner/repo@pdf --in user\n  gongfu skill add https://github.com/owner/repo/tree/main/skills/pdf\n  gongfu skill add ./skills.zip --list"
    )]
    Add(AddArguments),
    /// Remove skills that were added, their links, and their entries in the locks
    #[command(alias = "rm")]
    Remove(RemoveArguments),
    /// Update added skills, those of `npx skills` as well
    ///
    /// Shows first what would change: files, and what the new version newly runs, installs, imports and reaches. A skill that
    /// you changed isn't updated; --replace does it, and keeps yours.
    #[command(alias = "upgrade")]
    Update(UpdateArguments),
    /// List added skills that have a newer version at their source; exits 1 if there is one
    Outdated(LockedArguments),
    /// Show what an update would change, line by line
    Diff(LockedArguments),
    /// Install the skills of the lock, each exactly as it is locked
    ///
    /// From gongfu's cache where it has them, else from their sources. What doesn't have the digest of the lock isn't
    /// installed.
    #[command(alias = "restore")]
    Install(InstallArguments),
    /// Compare added skills with their lock: names every file that differs, and exits 1
    Verify(LockedArguments),
    /// Write skills as a site, which others add them from
    ///
    /// The folder has an index with archives (`.well-known/agent-skills`), the same as plain files (`.well-known/skills`), and
    /// one plugin in a marketplace of Claude Code and of Codex. Any web server or repository can hold it. The same skills give
    /// the same bytes. A skill with an error of `gongfu skill check` is refused.
    #[command(
        after_help = "Examples:\n  gongfu skill publish .agents/skills --out site\n  gongfu skill publish pdf-tools docx --out site --name my-team"
    )]
    Publish(PublishArguments),
    /// Check skills: what is wrong, where, and how to fix it
    #[command(visible_alias = "lint", alias = "validate")]
    Check(CheckArguments),
    /// Create a skill from a template, and print its folder
    #[command(alias = "create")]
    New(NewArguments),
    /// Show how often skills were found, loaded and run, and how the runs ended
    ///
    /// As far as the audit reaches back.
    Stats {
        /// Only this skill
        #[arg(value_name = "SKILL")]
        name: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Enable a skill
    Enable(SwitchArguments),
    /// Disable a skill for all clients
    Disable(SwitchArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SwitchArguments {
    /// Name or full name of the skill
    #[arg(value_name = "SKILL")]
    pub(crate) name: String,
    /// Every skill of this name, not only the one that the name means
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EnvCommand {
    /// List environments, most recently used first
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        places: Places,
        /// Verify the files of each environment; exit 1 if any changed
        #[arg(long)]
        verify: bool,
        #[arg(from_global)]
        json: bool,
    },
    /// Install the packages that a skill needs, before its first run
    ///
    /// Installs what the skill declares: scripts/pyproject.toml with uv.lock, script headers (PEP 723),
    /// requirements.txt, package.json. If it declares nothing, prints what its scripts import; --inferred
    /// installs the packages that gongfu knows, and --allow adds one that it doesn't.
    Build {
        /// Name or full name of the skill
        skill: String,
        /// Install what its scripts import, if it declares nothing
        #[arg(long)]
        inferred: bool,
        /// Also install this imported package, which gongfu doesn't know (repeatable)
        #[arg(long, value_name = "PACKAGE", requires = "inferred")]
        allow: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Remove environments that haven't been used for a while
    ///
    /// Environments that are in use are kept.
    #[command(alias = "rm", alias = "clean")]
    Prune {
        /// Remove those unused for this many days
        #[arg(long, default_value_t = 30, conflicts_with = "all", value_parser = value::days)]
        days: u32,
        /// Remove all that aren't in use
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolCommand {
    /// List tools and their arguments
    #[command(alias = "ls")]
    List {
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
    /// Call a tool as an agent would
    #[command(
        after_help = "Examples:\n  gongfu tool call skill_load skill_name=pdf-tools\n  gongfu tool call skill_search '{\"query\": \"merge pdf files\"}'"
    )]
    Call {
        /// Name of the tool, or its id: `mcp.SERVER.TOOL`
        #[arg(value_name = "TOOL")]
        name: String,
        /// Arguments: key=value pairs, one JSON object, or `-` to read the object from stdin
        arguments: Vec<String>,
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
}
