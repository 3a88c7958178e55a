//! `gongfu skills`: the words and flags of `npx skills`, so that its commands mean the same here.

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, Subcommand};
use gongfu_import::agents::AGENTS;
use std::ffi::OsString;

use super::SearchArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// Add skills to a project, or to your home with -g
    ///
    /// Without `--agent` for the agents that are installed, else for all. Agents share `.agents/skills`; the others get a link
    /// in their own folder, or a copy with `--copy`, or where one such folder is all that is asked for. Skills that you
    /// changed are never overwritten without `--replace`.
    #[command(
        visible_aliases = ["a", "i", "install"],
        after_help = "Examples:\n  gongfu skills add owner/repo\n  gongfu skills add owner/repo -a claude-code codex -y\n  gongfu skills add owner/repo@pdf -g --copy"
    )]
    Add(SkillsAddArguments),
    /// Print one skill as a prompt, and install nothing
    #[command(after_help = "Example:\n  gongfu skills use owner/repo@pdf | claude")]
    Use(SkillsUseArguments),
    /// List the skills of the current folder, or of your home with -g
    #[command(visible_alias = "ls")]
    List(SkillsListArguments),
    /// Search the skills that gongfu has; no site is asked
    #[command(visible_aliases = ["search", "f", "s"])]
    Find(SearchArguments),
    /// Update skills to the latest version of their source
    #[command(visible_aliases = ["upgrade", "check"])]
    Update(SkillsUpdateArguments),
    /// Remove skills from all agents, or from some
    #[command(visible_aliases = ["rm", "r"])]
    Remove(SkillsRemoveArguments),
    /// Write a SKILL.md to fill in, in a new folder or in this one
    Init {
        /// Folder of the skill (default: the current one)
        #[arg(value_name = "NAME")]
        name: Option<String>,
        #[arg(from_global)]
        json: bool,
    },
}

/// The agents and the place that a command is about.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Your home instead of the current folder
    #[arg(short, long)]
    pub(crate) global: bool,
    /// Only these agents, such as claude-code or codex; '*' means all
    #[arg(
        short, long = "agent", value_name = "AGENT", num_args = 1..,
        value_parser = PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.id).chain(["*"])),
        hide_possible_values = true
    )]
    pub(crate) agents: Vec<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SkillsAddArguments {
    /// OWNER/REPO[@SKILL][#REF], a URL, npm:PACKAGE, or the path of a folder, an archive or a SKILL.md
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) agents: AgentArguments,
    /// Only these skills; '*' means all
    #[arg(short, long = "skill", value_name = "SKILL", num_args = 1..)]
    pub(crate) skills: Vec<String>,
    /// List the skills of the source, and add none
    #[arg(short, long)]
    pub(crate) list: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Short for --skill '*' --agent '*' --yes
    #[arg(long)]
    pub(crate) all: bool,
    /// Copy the files into the folder of each agent instead of making links
    #[arg(long)]
    pub(crate) copy: bool,
    /// Look into all folders of the source, not only the usual ones
    #[arg(long)]
    pub(crate) full_depth: bool,
    /// Replace skills that you changed, or that no lock knows; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsUseArguments {
    /// OWNER/REPO[@SKILL][#REF], a URL, npm:PACKAGE, or the path of a folder, an archive or a SKILL.md
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,
    /// The skill, where the source has several
    #[arg(short, long, value_name = "SKILL")]
    pub(crate) skill: Option<String>,
    /// Look into all folders of the source, not only the usual ones
    #[arg(long)]
    pub(crate) full_depth: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsListArguments {
    #[command(flatten)]
    pub(crate) agents: AgentArguments,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SkillsUpdateArguments {
    /// Only these skills
    #[arg(value_name = "SKILL")]
    pub(crate) skills: Vec<String>,
    /// Only those of your home
    #[arg(short, long)]
    pub(crate) global: bool,
    /// Only those of the project
    #[arg(short, long)]
    pub(crate) project: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SkillsRemoveArguments {
    /// The skills; '*' means all
    #[arg(value_name = "SKILL")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) agents: AgentArguments,
    /// The same as without the option
    #[arg(short, long = "skill", value_name = "SKILL", num_args = 1..)]
    pub(crate) skills: Vec<String>,
    /// All skills of the folder; doesn't ask
    #[arg(long)]
    pub(crate) all: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Remove skills that you changed, too; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// Words that only `check` of `npx skills` has; with others, it is the check of a skill's files.
const UPDATE_FLAGS: [&str; 6] = ["-g", "--global", "-p", "--project", "-y", "--yes"];

/// `gongfu skills WORD` as `gongfu skill WORD`, where `npx skills` has no such word.
pub(super) fn own_words(root: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let text = |at: usize| words.get(at).and_then(|word: &OsString| word.to_str());
    let has = |command: &str, word: &str| {
        let command = root.find_subcommand(command);
        command.is_some_and(|command| command.find_subcommand(word).is_some())
    };
    let is_command =
        |at: &usize| text(*at).is_some_and(|word| root.find_subcommand(word).is_some());
    let first = (1..words.len()).find(is_command);
    if let Some(first) = first.filter(|at| text(*at) == Some("skills"))
        && let Some(word) = text(first + 1)
    {
        let mut rest = words.iter().skip(first + 2);
        let is_update =
            word == "check" && rest.all(|word| UPDATE_FLAGS.iter().any(|flag| word == flag));
        if !is_update
            && has("skill", word)
            && (word == "check" || !has("skills", word))
            && let Some(skills) = words.get_mut(first)
        {
            *skills = "skill".into();
        }
    }
    words
}
