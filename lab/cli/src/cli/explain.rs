//! `explain` as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::values::{parse_assignment, parse_duration};

/// `explain`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno explain last c-blocking c-epoll                 two contenders of the newest run
  netdyno explain rtt c-blocking c-epoll                  measures them first
  netdyno explain rtt c-blocking tokio --set transport=tcp -o tokio.svg
  netdyno explain last redis valkey --no-look             only what the run has stored
  netdyno explain last libdatachannel netdyno --equalise gso,allocator

Figures are by the unit of work (a message, an operation), role by role. What a run does not store (system calls by name, allocations, \
page faults, a profile) is looked at in trials of its own, which are no measurements: perf or strace, as root or where the kernel lets \
you, and a C compiler for what counts allocations. What they find is kept with the run. Where there is a profile of both, a picture is \
written: a differential flame graph.")]
pub struct ExplainArgs {
    /// A run's id, the start of one, or `last`; or a workload, which is measured first
    #[arg(value_name = "RUN|WORKLOAD")]
    pub of: String,
    /// From this contender ...
    pub a: String,
    /// ... to this one
    pub b: String,
    /// Look at nothing: only what is stored
    #[arg(long, conflicts_with = "again")]
    pub no_look: bool,
    /// Look again, also where it was looked before
    #[arg(long)]
    pub again: bool,
    /// Measure both again, as they are and with this made equal: how much of the gap closes?
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', conflicts_with = "no_look")]
    pub equalise: Vec<Equalise>,
    /// Preset of the measurement, of a workload [default: standard]
    #[arg(long, short)]
    pub preset: Option<String>,
    /// Set a parameter of the measurement: `--set transport=tcp`
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub set: Vec<(String, String)>,
    /// Time after which no further block begins: `90s`, `15m`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// The flame graph [default: RUN-A-B.svg]
    #[arg(long, short, value_name = "FILE", value_parser = super::parse_picture)]
    pub output: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: ExplainFormat,
}

/// What can be made equal for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Equalise {
    /// Receive buffers stay as the system has them, whatever a program asks for by the C library.
    Rcvbuf,
    /// No segments: devices take packets one by one.
    Gso,
    /// One CPU for each role.
    Workers,
    /// One allocator, jemalloc, in place of the C library's.
    Allocator,
}

impl Equalise {
    /// As typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Equalise::Rcvbuf => "rcvbuf",
            Equalise::Gso => "gso",
            Equalise::Workers => "workers",
            Equalise::Allocator => "allocator",
        }
    }
}

/// How to print an explanation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// Sentences and tables, for people.
    #[default]
    Table,
    /// One JSON object; `netdyno schema explanation` is its schema.
    Json,
}
