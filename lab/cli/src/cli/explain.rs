//! Arguments of `explain`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{parse_assignment, parse_duration};

/// `explain`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno explain last c-blocking c-epoll                 two contenders of the newest run
  netdyno explain rtt c-blocking c-epoll                  measure first, then explain
  netdyno explain rtt c-blocking tokio --set transport=tcp -o tokio.svg
  netdyno explain last redis valkey --no-look             use stored data only
  netdyno explain last libdatachannel netdyno --equalise gso,allocator

Figures are per unit of work (a message, an operation) and role. System calls by name, allocations, page faults and profiles are \
recorded in additional trials that do not count as measurements, and are stored with the run. These trials need perf or strace, as root \
or where the kernel permits them, and a C compiler for counting allocations. If both contenders have a profile, a differential flame \
graph is written.")]
pub(crate) struct ExplainArgs {
    /// Run id, a prefix of one, or `last`; or a workload, to measure first
    #[arg(value_name = "RUN|WORKLOAD")]
    pub(crate) of: String,
    /// First contender
    pub(crate) a: String,
    /// Second contender, compared with the first
    pub(crate) b: String,
    /// Profile nothing; use stored data only
    #[arg(long, conflicts_with = "again")]
    pub(crate) no_look: bool,
    /// Re-profile even if a profile is stored
    #[arg(long)]
    pub(crate) again: bool,
    /// Measure again, unchanged and with this condition equalised, and report how much of the gap closes
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', conflicts_with = "no_look")]
    pub(crate) equalise: Vec<Equalise>,
    /// Preset for measuring a workload [default: standard]
    #[arg(long, short)]
    pub(crate) preset: Option<String>,
    /// Set a parameter for measuring a workload, such as `transport=tcp`; repeatable
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// Stop starting blocks or sessions after this much measuring: `90s`, `15m`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// File for the flame graph [default: RUN-A-B.svg]
    #[arg(long, short, value_name = "FILE", value_parser = super::parse_picture)]
    pub(crate) output: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ExplainFormat,
}

/// A condition that can be equalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Equalise {
    /// Keep the system's default receive buffers; calls to change them have no effect.
    Rcvbuf,
    /// Disable segmentation offload (GSO).
    Gso,
    /// Give each role one CPU.
    Workers,
    /// Preload jemalloc as the allocator.
    Allocator,
}

/// How to print an explanation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExplainFormat {
    /// Text and tables.
    #[default]
    Table,
    /// One JSON object; `netdyno schema explanation` prints its schema.
    Json,
}
