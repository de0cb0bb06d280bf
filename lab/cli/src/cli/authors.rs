//! The verbs for authors of a library: comparing, and runs as files.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::{FailOn, parse_assignment, parse_duration, parse_fail_on, parse_net, parse_placement};
use netdyno_lab_manifest::Net;
use netdyno_lab_manifest::Placement;

/// `compare`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno compare datachannel my-lib --rev main --rev HEAD --fail-on regression=3%
  netdyno compare datachannel my-lib --rev v1.2          the working tree against a tag
  netdyno compare --rev main --format markdown           of netdyno.toml, as a comment on a change
  netdyno compare 20260131-120000-ab12 last              two stored runs, by what both have

Revisions are built side by side, with whatever of their repository they depend on, and duelled in one run. Where both come \
to the same build nothing is measured. The first revision is what the second is held against. \
--fail-on regression=3% fails (exit code 5) where the second is slower for sure (the whole interval) and by more than 3 % \
(the estimate): a rate by what the same takes longer. docs/CI.md has it all.")]
pub struct CompareArgs {
    /// A workload and a contender, with --rev [default: those of netdyno.toml]; without it two stored runs, the older first
    #[arg(value_name = "WORKLOAD CONTENDER | RUN RUN", num_args = 0..=2)]
    pub what: Vec<String>,
    /// A revision of the contender's repository as git names it, or `.` for the working tree; twice [default of the second: .]
    #[arg(long = "rev", value_name = "REV")]
    pub revisions: Vec<String>,
    /// Fail on `regression=3%`; and, said again, on `undecided`
    #[arg(long, value_name = "WHAT", value_parser = parse_fail_on)]
    pub fail_on: Vec<FailOn>,
    /// Parameters and effort chosen together [default: quick, where the workload has it]
    #[arg(long, short, requires = "revisions")]
    pub preset: Option<String>,
    /// Set a parameter: `--set pairs=1`
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment, requires = "revisions")]
    pub set: Vec<(String, String)>,
    /// Begin no session after this time of measuring [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "revisions")]
    pub budget: Option<Duration>,
    /// Sessions or blocks at the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "revisions")]
    pub max_blocks: Option<u32>,
    /// Seed of the order and of the payloads [default: from the clock, printed]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 53), requires = "revisions")]
    pub seed: Option<u64>,
    /// `apart`: one role a core; `shared`: all roles on all cores [default: the preset's, else apart]
    #[arg(long, value_parser = parse_placement, requires = "revisions")]
    pub placement: Option<Placement>,
    /// `loopback`, `veth[,..]` or `host`, as for `run` [default: the workload's, else loopback]
    #[arg(long, value_parser = parse_net, requires = "revisions")]
    pub net: Option<Net>,
    /// Keep idle CPUs from sleeping; needs root
    #[arg(long, requires = "revisions")]
    pub awake: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno export last -o run.netdyno
  netdyno export 20260131 -o - | ssh elsewhere netdyno import -

The file is compressed (gzip) lines of JSON: `netdyno schema export` is the schema of a line.")]
pub struct ExportArgs {
    /// A run's id, the start of one, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// The file to write; `-` for stdout [default: RUN.netdyno]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno import run.netdyno && netdyno show last
  netdyno import *.netdyno

A file is taken whole or not at all. A run that is there already is left as it is; another one of the same id is refused.")]
pub struct ImportArgs {
    /// Files that `export` wrote; `-` for stdin
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

/// `replay`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno replay run.netdyno        whether its figures come to what was printed then
  netdyno replay last

Exit code 1 where a verdict is not what was printed.")]
pub struct ReplayArgs {
    /// A file that `export` wrote, or a run's id, the start of one, or `last`
    #[arg(default_value = "last")]
    pub what: String,
}
