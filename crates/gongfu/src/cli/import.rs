//! The commands that add skills from elsewhere, verify and remove them, and publish one's own.

use std::path::PathBuf;

use clap::Args;

use super::{NewTarget, Places};

/// The place of added skills.
#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
    /// The place of the skills
    #[arg(long = "in", value_enum, value_name = "PLACE", default_value_t)]
    pub(crate) target: NewTarget,
    /// Project (default: the current one)
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    pub(crate) workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct AddArguments {
    /// OWNER/REPO[@SKILL][#REF], a URL, npm:PACKAGE, or the path of a folder, an archive or a SKILL.md
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Only this skill, by its name or its folder in the source (repeatable)
    #[arg(short, long = "skill", value_name = "SKILL", conflicts_with = "all")]
    pub(crate) skills: Vec<String>,
    /// All skills, those that their author keeps internal included
    #[arg(long)]
    pub(crate) all: bool,
    /// List the skills of the source, and add none
    #[arg(short, long)]
    pub(crate) list: bool,
    /// Branch, tag or commit of a repository
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Look into all folders of the source, not only the usual ones
    #[arg(long)]
    pub(crate) full_depth: bool,
    /// Show what would be added, and add nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace skills that you changed, or that no lock knows; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    /// Link to the skills of a folder instead of copying them, so that changes there count at once
    #[arg(long, conflicts_with = "list")]
    pub(crate) link: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The skills
    #[arg(required = true, value_name = "SKILL")]
    pub(crate) skills: Vec<String>,
    /// Remove skills that you changed, too; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// Skills that are locked.
#[derive(Debug, Args)]
pub(crate) struct LockedArguments {
    /// Only these skills
    #[arg(value_name = "SKILL")]
    pub(crate) skills: Vec<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UpdateArguments {
    #[command(flatten)]
    pub(crate) locked: LockedArguments,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Update skills that you changed, too; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct InstallArguments {
    #[command(flatten)]
    pub(crate) locked: LockedArguments,
    /// Change no lock: fail where gongfu's lock lacks a skill that `npx skills` locked
    #[arg(long)]
    pub(crate) frozen: bool,
    /// Use gongfu's cache alone
    #[arg(long)]
    pub(crate) offline: bool,
    /// Replace skills that you changed, too; yours are kept in gongfu's home
    #[arg(long)]
    pub(crate) replace: bool,
    /// Don't ask
    #[arg(short, long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PublishArguments {
    /// Skill folders, folders of skills, or names of skills
    #[arg(required = true, value_name = "SKILL")]
    pub(crate) skills: Vec<String>,
    /// Folder of the site: a new one, or one that an earlier run wrote
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Name of the plugin and its marketplace (default: that of DIR)
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[arg(from_global)]
    pub(crate) json: bool,
}
