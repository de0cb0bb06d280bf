//! Verbs for authors of a library: `compare`, `export`, `import` and `replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::{FailOn, parse_assignment, parse_duration, parse_fail_on, parse_net, parse_placement};
use netdyno_lab_manifest::{Net, Placement};

/// `compare`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno compare datachannel my-lib --rev main --rev HEAD --fail-on regression=3%
  netdyno compare datachannel my-lib --rev v1.2          compare the working tree with a tag
  netdyno compare --rev main --format markdown           names from netdyno.toml, output for a PR
  netdyno compare 20260131-120000-ab12 last              compare the common cells of two runs

Both revisions are built together with the code of their repository that they depend on, and compared by duels in one run. If both \
give the same build, nothing is measured. The first revision is the baseline. --fail-on regression=3% exits with 5 if the second is slower by more than \
3 % (the estimate) and significantly so (the whole interval). For a rate, the slowdown is the increase in time per unit of work. \
See docs/CI.md.")]
pub(crate) struct CompareArgs {
    /// With --rev, a workload and a contender [default: from netdyno.toml]; without, two stored runs, the baseline first
    #[arg(value_name = "WORKLOAD CONTENDER | RUN RUN", num_args = 0..=2)]
    pub(crate) what: Vec<String>,
    /// Git revision of the contender's repository, or `.` for the working tree; given once or twice [default of the second: .]
    #[arg(long = "rev", value_name = "REV")]
    pub(crate) revisions: Vec<String>,
    /// Exit with 5 on `regression=3%` in the primary metric, `p99=5%` in another one, or `lost=0`, an increase by more than 0;
    /// repeatable, also with `undecided`
    #[arg(long, value_name = "WHAT", value_parser = parse_fail_on)]
    pub(crate) fail_on: Vec<FailOn>,
    /// Use a predefined set of parameters and limits [default: quick, if the workload has it]
    #[arg(long, short, requires = "revisions")]
    pub(crate) preset: Option<String>,
    /// Set a parameter, such as `pairs=1`; repeatable
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment, requires = "revisions")]
    pub(crate) set: Vec<(String, String)>,
    /// Stop starting sessions after this much measuring [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "revisions")]
    pub(crate) budget: Option<Duration>,
    /// Measure at most N sessions or blocks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "revisions")]
    pub(crate) max_blocks: Option<u32>,
    /// Seed for trial order and payloads [default: from the clock, printed]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 53), requires = "revisions")]
    pub(crate) seed: Option<u64>,
    /// Place one role per core (`apart`) or all roles on all cores (`shared`) [default: the preset's, else apart]
    #[arg(long, value_parser = parse_placement, requires = "revisions")]
    pub(crate) placement: Option<Placement>,
    /// Use `loopback`, `veth[,..]` or `host`, as in `run` [default: the workload's, else loopback]
    #[arg(long, value_parser = parse_net, requires = "revisions")]
    pub(crate) net: Option<Net>,
    /// Keep CPUs out of idle states; may need root
    #[arg(long, requires = "revisions")]
    pub(crate) awake: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `export`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno export last -o run.netdyno
  netdyno export 20260131 -o - | ssh elsewhere netdyno import -

The file holds gzip-compressed JSON lines; `netdyno schema export` prints the schema of a line.")]
pub(crate) struct ExportArgs {
    /// Run id, a prefix of one, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// File to write; `-` for stdout [default: RUN.netdyno]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// `import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno import run.netdyno && netdyno show last
  netdyno import *.netdyno

A file is imported completely or not at all. An identical stored run is kept; a different run with the same id is an error.")]
pub(crate) struct ImportArgs {
    /// Exported files; `-` for stdin
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// `replay`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno replay run.netdyno        verify the verdicts of an exported run
  netdyno replay last

Exits with 1 if a verdict differs from the stored one.")]
pub(crate) struct ReplayArgs {
    /// Exported file, run id, a prefix of one, or `last`
    #[arg(default_value = "last")]
    pub(crate) what: String,
}
