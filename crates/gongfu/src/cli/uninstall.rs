//! The arguments of `gongfu uninstall`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct UninstallArguments {
    /// Remove everything without asking
    #[arg(long, short, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
