//! `list` and `search`, which are commands of their own and of `skill`.

use clap::Args;

use super::{Common, value};

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Only skills from this source (see `gongfu init`)
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["task", "budget"])]
    pub(crate) source: Option<String>,
    /// Only skills with this tag
    #[arg(long, value_name = "TAG", conflicts_with_all = ["task", "budget"])]
    pub(crate) tag: Option<String>,
    /// Only disabled skills
    #[arg(long, conflicts_with_all = ["task", "budget"])]
    pub(crate) disabled: bool,
    /// Only skills whose name another skill takes
    #[arg(long, conflicts_with_all = ["task", "budget"])]
    pub(crate) shadowed: bool,
    /// Print the catalogue that a model gets, best match for this task first
    #[arg(long, value_name = "TEXT")]
    pub(crate) task: Option<String>,
    /// Print the catalogue that a model gets, in at most this many characters (up to 65536)
    #[arg(long, value_name = "CHARACTERS", value_parser = value::budget)]
    pub(crate) budget: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The task, in plain words (quotes are optional)
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Show at most this many skills (1 to 100)
    #[arg(long, value_name = "COUNT", default_value_t = 10, value_parser = value::limit)]
    pub(crate) limit: u32,
    /// Only skills from this source
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Only skills with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Show which words of the query each skill has, and how its former uses ended
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
