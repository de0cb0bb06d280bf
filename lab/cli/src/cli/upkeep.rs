//! What keeps the lab in order, what describes it to programs, and what it starts itself, as typed.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::parse_duration;

/// `prune`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno prune --dry-run                      what is out of date, and what it takes
  netdyno prune --keep 20                      also all runs but the newest 20
  netdyno prune --keep 20 --older-than 30d     of those only the ones older than 30 days")]
pub struct PruneArgs {
    /// Also remove runs, but for the newest N
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Also remove runs that began longer ago than this: `30d`, `12h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub older_than: Option<Duration>,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `schema`
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of what
    #[arg(value_enum)]
    pub of: SchemaOf,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A report: `run --format json`, `show --format json`.
    Report,
    /// A comparison: `compare --format json`.
    Comparison,
    /// A line of an exported run.
    Export,
    /// What came out of claims: `replicate --format json`.
    Replication,
    /// What `explain --format json` prints.
    Explanation,
    /// A line from the lab to a contender.
    LabMessage,
    /// A line from a contender to the lab.
    ContenderMessage,
}

/// `completions`
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `dummy`
#[derive(Debug, Args)]
pub struct DummyArgs {
    /// What to do wrong
    #[arg(long, value_enum)]
    pub fault: Option<crate::dummy::Fault>,
    /// What to do beside, once a message; may be repeated
    #[arg(long = "cost", value_enum)]
    pub costs: Vec<crate::dummy::Cost>,
    /// Steps of arithmetic that make a message: more are a program that is slower by a known share
    #[arg(long, value_name = "N", default_value_t = crate::dummy::STEPS_PER_MESSAGE, value_parser = clap::value_parser!(u64).range(1..))]
    pub steps: u64,
}
