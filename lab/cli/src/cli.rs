//! Command-line arguments as typed. The verbs in [`crate::cmd`] resolve them.

mod authors;
mod doctor;
mod explain;
mod pages;
mod replicate;
mod upkeep;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use authors::{CompareArgs, ExportArgs, ImportArgs, ReplayArgs};
pub(crate) use doctor::DoctorArgs;
pub(crate) use explain::{Equalise, ExplainArgs, ExplainFormat};
use netdyno_lab_analysis::claims::Asked;
use netdyno_lab_manifest::limits::MARKS_HZ_MAX;
use netdyno_lab_manifest::{Net, Placement};
pub(crate) use pages::{ServeArgs, SiteArgs};
pub(crate) use replicate::ReplicateArgs;
pub(crate) use upkeep::{CompletionsArgs, DummyArgs, PruneArgs, SchemaArgs, SchemaOf};
pub(crate) use values::{FailOn, parse_fail_on};
use values::{
    parse_asked, parse_assignment, parse_duration, parse_factor, parse_net, parse_picture, parse_placement,
    parse_share, parse_size,
};

/// A dynamometer for network stacks.
#[derive(Debug, Parser)]
#[command(name = "netdyno", version, max_term_width = 110, arg_required_else_help = true)]
#[command(
    about = "A dynamometer for network stacks: builds several implementations of the same network workload, runs them \
under the same conditions, verifies that each did the work, and reports which is faster, by how much, and with what confidence."
)]
#[command(after_help = "Examples:
  netdyno run datachannel --preset quick      compare with little effort
  netdyno run datachannel pion rustrtc        compare two contenders
  netdyno list                                list workloads and contenders
  netdyno doctor                              check this machine, print remedies
  netdyno show last --format json             print the newest run as JSON

Exit codes: 0 success, 1 a contender differs from itself (doctor) or a verdict from its stored one (replay), 2 usage or environment error, \
3 a cell failed, 4 nothing could run, 5 a regression (--fail-on), 6 a limit of --fail-on could not be tested, 130 interrupted.
Environment: NETDYNO_ROOT (checkout with workloads/ and contenders/), NETDYNO_CONTENDERS (like --contenders, separated by `:`), \
NETDYNO_CACHE (builds), NETDYNO_STORE (results), \
NO_COLOR (disable colour), COLUMNS (width of tables and text), NETDYNO_LOG (log level: error, warn, info, debug, trace).")]
pub(crate) struct Cli {
    /// Also load contenders (DIR/WORKLOAD/NAME/) and workloads (DIR/WORKLOAD.toml) from this folder; repeatable
    #[arg(
        long = "contenders",
        value_name = "DIR",
        global = true,
        env = "NETDYNO_CONTENDERS",
        value_delimiter = ':',
        hide_env = true
    )]
    pub(crate) folders: Vec<PathBuf>,
    /// The verb and its arguments.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Build, measure and compare contenders
    Run(Box<RunArgs>),
    /// List workloads and contenders, their versions, and whether they can run here
    List(ListArgs),
    /// Report what makes this machine unsuitable for measurements, with remedies
    Doctor(DoctorArgs),
    /// Check that contenders follow the protocol and pass the gate
    Check(CheckArgs),
    /// Create a contender that passes `check`, as a template for a library
    New(NewArgs),
    /// Print the report of a stored run, recomputed from its samples
    Show(ShowArgs),
    /// Draw a stored run as SVG or PNG: ratios, latency curves, a sweep, costs, shares of the ceiling or a matrix
    Plot(PlotArgs),
    /// Compare two revisions of a contender, or two stored runs
    Compare(Box<CompareArgs>),
    /// Test published claims, first by the article's method, then under equal conditions for both sides
    Replicate(ReplicateArgs),
    /// Attribute the difference between two contenders to CPU time, system calls, allocations and functions
    Explain(ExplainArgs),
    /// List the stored runs
    History(HistoryArgs),
    /// Serve the stored runs as web pages, with live progress of running ones
    Serve(ServeArgs),
    /// Write the stored runs as static web pages
    Site(SiteArgs),
    /// Remove outdated builds and, with --keep or --older-than, old runs
    Prune(PruneArgs),
    /// Write a stored run to a file
    Export(ExportArgs),
    /// Add exported runs to the store
    Import(ImportArgs),
    /// Recompute the verdicts of a run or an exported file and compare them with the stored ones
    Replay(ReplayArgs),
    /// Print the JSON Schema of an output format or of the contender protocol
    Schema(SchemaArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Start, meter and relay one contender (internal)
    #[command(hide = true)]
    Agent,
    /// Hold a private network (internal)
    #[command(hide = true)]
    Holder,
    /// Play a role of the dummy workload, optionally with a fault (used by `doctor --self-test` and tests)
    #[command(hide = true)]
    Dummy(DummyArgs),
}

/// The hidden option that `replicate` passes to `run`.
pub(crate) const ASK: &str = "--ask";
/// The value of `--resume` when no run is named.
pub(crate) const UNFINISHED: &str = "the newest unfinished run";

/// The name of a value on the command line.
pub(crate) fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// How to print a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table.
    #[default]
    Table,
    /// JSON.
    Json,
    /// Markdown.
    Markdown,
}

/// How to print a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// A table with bars and verdicts.
    #[default]
    Table,
    /// One JSON object; `netdyno schema report` prints its schema.
    Json,
    /// Markdown.
    Markdown,
    /// A self-contained web page.
    Html,
}

/// `run`
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = "Examples:
  netdyno run datachannel --preset quick
  netdyno run datachannel pion rustrtc --set pairs=1 --budget 2m
  netdyno run datachannel --sweep message_bytes=64,1024,16384 --precision 5%
  netdyno run datachannel --matrix pion rustrtc str0m
  netdyno run datachannel --net veth,rate=100mbit,delay=50ms,loss=1% --no-ceiling
  netdyno run rtt --against c-blocking        each contender in each role, same peer
  netdyno run mjpeg --role sender             compare senders, with one receiver
  netdyno run --resume                        resume the newest unfinished run

If builds take long, a first look at the contenders built so far is printed to stderr.")]
pub(crate) struct RunArgs {
    /// Workload to run; see `netdyno list` [default: the one in netdyno.toml]
    pub(crate) workload: Option<String>,
    /// Compare only these contenders [default: all that can run here]
    pub(crate) contenders: Vec<String>,
    /// Use a predefined set of parameters and limits; see `netdyno list WORKLOAD` [default: standard]
    #[arg(long, short)]
    pub(crate) preset: Option<String>,
    /// Set a parameter, such as `pairs=1`; repeatable
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub(crate) set: Vec<(String, String)>,
    /// Measure at several values of a parameter, such as `message_bytes=64,1024`; repeatable
    #[arg(long, value_name = "PARAM=A,B,..", value_parser = parse_assignment)]
    pub(crate) sweep: Vec<(String, String)>,
    /// Combine every contender of one role with every contender of the other
    #[arg(long)]
    pub(crate) matrix: bool,
    /// Measure each contender in each role against this one, to find which side limits
    #[arg(long, value_name = "CONTENDER", conflicts_with = "matrix")]
    pub(crate) against: Option<String>,
    /// Compare only this role; the workload's stand-in plays the other role for all contenders
    #[arg(long, value_name = "ROLE", conflicts_with_all = ["matrix", "against"])]
    pub(crate) role: Option<String>,
    /// Report ratios relative to this contender [default: from netdyno.toml, else the workload's]
    #[arg(long, value_name = "CONTENDER")]
    pub(crate) baseline: Option<String>,
    /// Stop starting blocks or sessions after this much measuring: `90s`, `15m`, `1h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) budget: Option<Duration>,
    /// Measure at most N blocks or sessions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_blocks: Option<u32>,
    /// Measure until every confidence interval is this narrow: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) precision: Option<f64>,
    /// Seed for trial order and payloads [default: from the clock, printed]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 53))]
    pub(crate) seed: Option<u64>,
    /// Place one role per core (`apart`) or all roles on all cores (`shared`) [default: the preset's, else apart]
    #[arg(long, value_parser = parse_placement)]
    pub(crate) placement: Option<Placement>,
    /// Use `loopback`, `veth[,mtu=N][,rate=1gbit][,queue=50ms][,delay=50ms][,loss=1%]` (in each direction) or `host`
    /// [default: the workload's, else loopback]
    #[arg(long, value_parser = parse_net)]
    pub(crate) net: Option<Net>,
    /// Do not measure the workload's ceiling
    #[arg(long)]
    pub(crate) no_ceiling: bool,
    /// Limit the memory of each role: `2GiB`, `512MiB` [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory_limit: Option<u64>,
    /// Keep CPUs out of idle states, to exclude wake-up latency; may need root
    #[arg(long)]
    pub(crate) awake: bool,
    /// Compare in blocks even where duels are possible; needed for percentiles beyond p99
    #[arg(long)]
    pub(crate) blocks: bool,
    /// Multiply the response timeouts of contenders, for slow machines or very many connections
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    pub(crate) time_limits: Option<f64>,
    /// Exit with 5 on a regression against the baseline (`regression=3%`); repeat with `undecided` to fail on that too
    #[arg(long, value_name = "WHAT", value_parser = parse_fail_on)]
    pub(crate) fail_on: Vec<FailOn>,
    /// Marks per second during the window; 0: only at its ends [default: the workload's]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(0..=i64::from(MARKS_HZ_MAX)))]
    pub(crate) marks_hz: Option<u32>,
    /// Resume an unfinished run with its settings; with --budget, extend a run by this much measuring
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = UNFINISHED,
          conflicts_with_all = ["workload", "contenders", "preset", "set", "sweep", "matrix", "against", "role", "seed", "baseline",
              "max_blocks", "precision", "placement", "net", "no_ceiling", "memory_limit", "awake", "blocks", "time_limits",
              "fail_on", "marks_hz"])]
    pub(crate) resume: Option<String>,
    /// The questions of `replicate`, as JSON (internal)
    #[arg(long, hide = true, value_parser = parse_asked)]
    pub(crate) ask: Option<Asked>,
    /// Compare each contender with a copy of itself that is stalled for this many thousandths of its time (`doctor`).
    #[arg(skip)]
    pub(crate) itself: Option<u32>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
}

/// `list`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  netdyno list\n  netdyno list datachannel        show roles, parameters, presets and contract"
)]
pub(crate) struct ListArgs {
    /// Show this workload in full
    pub(crate) workload: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// `check`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  netdyno check pion\n  netdyno check datachannel/pion datachannel/str0m\n  netdyno check --all"
)]
pub(crate) struct CheckArgs {
    /// Contenders to check: `NAME`, or `WORKLOAD/NAME` if several workloads have one of that name
    #[arg(required_unless_present = "all")]
    pub(crate) contenders: Vec<String>,
    /// Check every contender that can be built here
    #[arg(long, conflicts_with = "contenders")]
    pub(crate) all: bool,
    /// Use `loopback`, `veth` or `host` [default: the workload's, else loopback]
    #[arg(long, value_parser = parse_net)]
    pub(crate) net: Option<Net>,
}

/// `new`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  netdyno new --workload datachannel --language rust my-stack && netdyno check my-stack"
)]
pub(crate) struct NewArgs {
    /// Workload that the contender implements
    #[arg(long)]
    pub(crate) workload: String,
    /// Programming language
    #[arg(long)]
    pub(crate) language: String,
    /// Name of the contender: lower-case letters, digits, `-` and `.`
    pub(crate) name: String,
}

/// `show`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno show last
  netdyno show 20260131 --format markdown
  netdyno show results/kv.netdyno                    an exported run
  netdyno show last --format html > report.html      plots, logs and samples")]
pub(crate) struct ShowArgs {
    /// Exported file, run id, a prefix of one, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ReportFormat,
}

/// `plot`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno plot last                           ratios to the baseline, with intervals
  netdyno plot last --y cpu_per_message -o cpu.svg
  netdyno plot last --chart cost -o cost.png  CPU time, memory, bytes on the wire
  netdyno plot last --chart matrix            every pair of contenders
  netdyno plot last --x rate --y service_p50 --where transport=udp -o rates.svg
  netdyno plot last --x tasks c-epoll tokio
  netdyno plot last --curve ping.latency --where rate=1000

With --x, a line joins the values of a contender, and bars show the minimum and maximum over trials. A hollow point did not sustain \
the requested load.")]
pub(crate) struct PlotArgs {
    /// Exported file, run id, a prefix of one, or `last`
    #[arg(default_value = "last")]
    pub(crate) run: String,
    /// Draw only these contenders [default: all contenders of the run]
    pub(crate) contenders: Vec<String>,
    /// Chart type [default: ratios; with --x sweep, with --curve latency]
    #[arg(long, value_enum)]
    pub(crate) chart: Option<Chart>,
    /// Parameter on the x axis of a sweep [default: the swept one, if there is only one]
    #[arg(long, value_name = "PARAM", conflicts_with = "curve")]
    pub(crate) x: Option<String>,
    /// Metric to draw: the y axis of a sweep, the ranking or the cost [default: the primary metric; for costs, all]
    #[arg(long, value_name = "METRIC", conflicts_with = "curve")]
    pub(crate) y: Option<String>,
    /// Role and histogram of the latency curves [default: the primary metric's]
    #[arg(long, value_name = "ROLE.HISTOGRAM")]
    pub(crate) curve: Option<String>,
    /// Draw only cells with this parameter value; repeatable
    #[arg(long = "where", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub(crate) only: Vec<(String, String)>,
    /// Title of the chart [default: the run's]
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// SVG or PNG file to write [default: RUN.svg]
    #[arg(long, short, value_name = "FILE", value_parser = parse_picture)]
    pub(crate) output: Option<PathBuf>,
}

/// A chart of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Chart {
    /// Ratio of each contender to the baseline, with its interval.
    Ratios,
    /// Latency curves.
    Latency,
    /// A metric against a parameter.
    Sweep,
    /// CPU time, memory and bytes on the wire.
    Cost,
    /// Shares of the ceiling.
    Ceiling,
    /// Every contender of one role with every contender of the other.
    Matrix,
}

/// `history`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  netdyno history\n  netdyno history -n 5 --format json")]
pub(crate) struct HistoryArgs {
    /// List at most N runs, newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(crate) most: usize,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Width of help that is written to a pipe; on a terminal, help has the terminal's width.
    const HELP_COLUMNS: usize = 100;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// clap wraps prose to the terminal, so a line break within a paragraph would look ragged. Examples are not wrapped.
    #[test]
    fn text_after_the_help_fits_the_terminal() {
        let command = Cli::command();
        for verb in std::iter::once(&command).chain(command.get_subcommands()) {
            let below = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let mut in_prose = false;
            for line in below.lines() {
                let is_prose = !line.is_empty() && !line.starts_with("  ");
                let begins = ["Example", "Environment: "].iter().any(|word| line.starts_with(word));
                assert!(!(in_prose && is_prose) || begins, "{}: {line}", verb.get_name());
                assert!(is_prose || line.chars().count() < HELP_COLUMNS, "{}: {line}", verb.get_name());
                in_prose = is_prose;
            }
        }
    }
}
