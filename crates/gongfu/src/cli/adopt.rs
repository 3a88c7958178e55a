//! The arguments of `gongfu adopt`.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag that stands alone"
)]
#[derive(Debug, Args)]
pub(crate) struct AdoptArguments {
    /// Look into a project, too: `current`, or a folder of it
    #[arg(long, value_name = "DIR|current", conflicts_with = "undo")]
    pub(crate) project: Option<AdoptedProject>,
    /// Show what would be adopted, and write nothing
    #[arg(long, conflicts_with_all = ["yes", "undo"])]
    pub(crate) dry_run: bool,
    /// Adopt without a question
    #[arg(long, short, conflicts_with = "undo")]
    pub(crate) yes: bool,
    /// Take back what adoptions wrote; what changed since is kept
    #[arg(long)]
    pub(crate) undo: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// The project that a person names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AdoptedProject {
    /// The one of the current folder.
    Current,
    /// The one of a folder.
    At(PathBuf),
}

impl FromStr for AdoptedProject {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "current" => Self::Current,
            folder => Self::At(folder.into()),
        })
    }
}
