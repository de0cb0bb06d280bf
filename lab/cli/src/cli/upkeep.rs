//! Arguments of `prune`, `schema`, `completions` and `dummy`.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::parse_duration;

/// `prune`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno prune --dry-run                      list outdated builds and their sizes
  netdyno prune --keep 20                      also remove all runs except the newest 20
  netdyno prune --keep 20 --older-than 30d     of those, only runs older than 30 days")]
pub(crate) struct PruneArgs {
    /// Also remove runs, except the newest N
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Also remove runs started longer ago than this: `30d`, `12h`; with --keep, both must apply
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) older_than: Option<Duration>,
    /// List what would be removed, without removing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// `schema`
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  netdyno schema report > report.schema.json")]
pub(crate) struct SchemaArgs {
    /// The format to describe
    #[arg(value_enum)]
    pub(crate) of: SchemaOf,
}

/// A format with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The output of `run --format json` and `show --format json`.
    Report,
    /// The output of `compare --format json`.
    Comparison,
    /// A line of an exported run.
    Export,
    /// The output of `replicate --format json`.
    Replication,
    /// The output of `explain --format json`.
    Explanation,
    /// A message from the lab to a contender.
    LabMessage,
    /// A message from a contender to the lab.
    ContenderMessage,
}

/// `completions`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  netdyno completions bash > ~/.local/share/bash-completion/completions/netdyno"
)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    pub(crate) shell: clap_complete::Shell,
}

/// `dummy`
#[derive(Debug, Args)]
pub(crate) struct DummyArgs {
    /// Fault to inject
    #[arg(long, value_enum)]
    pub(crate) fault: Option<crate::dummy::DummyFault>,
    /// Extra work per message; repeatable
    #[arg(long = "cost", value_enum)]
    pub(crate) costs: Vec<crate::dummy::Cost>,
    /// Arithmetic steps per message; more steps make the program slower by a known share
    #[arg(long, value_name = "N", default_value_t = crate::dummy::STEPS_PER_MESSAGE, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) steps: u64,
}
