//! The options that every command has.

use clap::{ArgAction, Args, ColorChoice};

/// The form of an answer.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OutputArguments {
    /// Print the result as JSON
    #[arg(long, global = true, help_heading = HEADING)]
    pub(crate) json: bool,
    /// Use colors: auto (default), always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        hide_possible_values = true,
        help_heading = HEADING
    )]
    pub(crate) color: ColorChoice,
    /// Print only results and errors
    #[arg(short, long, global = true, help_heading = HEADING)]
    pub(crate) quiet: bool,
    /// Print more detail; -vv also logs what gongfu does
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = HEADING)]
    pub(crate) verbose: u8,
}

const HEADING: &str = "Global options";
