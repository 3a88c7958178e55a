//! The commands about capabilities.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use gongfu_hub::CapabilityKind;

use super::{Common, Profiles};

#[derive(Debug, Subcommand)]
pub(crate) enum CapabilityCommand {
    /// List everything that agents can use: tools, skills, tools of other servers
    ///
    /// Each has its safety level, its health, and whether a call of an agent waits for your approval. A tool of another
    /// server is listed as `mcp.SERVER.TOOL`, a skill as `skill.NAME`.
    #[command(visible_alias = "ls")]
    List {
        /// Only capabilities of this kind
        #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(CapabilityKind::ALL.map(CapabilityKind::as_str)))]
        kind: Option<String>,
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
    /// Print what an agent plans with: its skills, its tools, and hints about them
    ///
    /// A hint says how much harm a call can do, whether it waits for a person, how many tokens it costs, how long past
    /// calls took, whether it works, and which other capability does the same.
    Context {
        #[command(flatten)]
        profiles: Profiles,
        #[command(flatten)]
        common: Common,
    },
}
