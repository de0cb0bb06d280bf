//! The command line as typed. What it means is resolved by the verbs in [`crate::cmd`].

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

pub use authors::{CompareArgs, ExportArgs, ImportArgs, ReplayArgs};
pub use doctor::DoctorArgs;
pub use explain::{Equalise, ExplainArgs, ExplainFormat};
use netdyno_lab_analysis::claims::Asked;
use netdyno_lab_manifest::Net;
use netdyno_lab_manifest::Placement;
use netdyno_lab_manifest::limits::MARKS_HZ_MAX;
pub use pages::{ServeArgs, SiteArgs};
pub use replicate::ReplicateArgs;
pub use upkeep::{CompletionsArgs, DummyArgs, PruneArgs, SchemaArgs, SchemaOf};
pub use values::{FailOn, parse_fail_on};
use values::{
    parse_asked, parse_assignment, parse_duration, parse_factor, parse_net, parse_picture, parse_placement,
    parse_share, parse_size,
};

/// A dynamometer for network stacks.
#[derive(Debug, Parser)]
#[command(name = "netdyno", version, max_term_width = 110, arg_required_else_help = true)]
#[command(
    about = "A dynamometer for network stacks: builds several implementations of the same network job, runs them under \
the same conditions, proves that each did the work, and says which is faster, by how much, and how sure that is."
)]
#[command(after_help = "Examples:
  netdyno run datachannel --preset quick      a first answer in four minutes once built
  netdyno run datachannel pion rustrtc        only these two
  netdyno list                                what there is, and what can run here
  netdyno doctor                              what this machine lacks, and the remedy
  netdyno show last --format json             the newest run, for a program

Exit codes: 0 good, 1 unlike itself (doctor) or what was printed (replay), 2 usage or environment, 3 a cell failed, 4 nothing could run, \
5 a regression (--fail-on), 130 interrupted.
Environment: NETDYNO_ROOT (checkout with workloads/ and contenders/), NETDYNO_CONTENDERS (as --contenders, parted by `:`), \
NETDYNO_CACHE (builds), NETDYNO_STORE (results), \
NO_COLOR, COLUMNS (width of tables and prose), NETDYNO_LOG (log filter: error, warn, info, debug).")]
pub struct Cli {
    /// A folder with contenders of one's own, in <WORKLOAD>/<NAME>, and workloads of one's own, in <WORKLOAD>.toml; may be said again
    #[arg(
        long = "contenders",
        value_name = "DIR",
        global = true,
        env = "NETDYNO_CONTENDERS",
        value_delimiter = ':',
        hide_env = true
    )]
    pub folders: Vec<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Build, measure and compare contenders
    Run(Box<RunArgs>),
    /// List workloads and contenders, their versions, and whether they can run here
    List(ListArgs),
    /// Say what this machine lacks for good measurements, each with its remedy
    Doctor(DoctorArgs),
    /// Check that a contender keeps the protocol and passes the gate
    Check(CheckArgs),
    /// Make a new contender that passes `check`, to put a library into
    New(NewArgs),
    /// Show a stored run again, computed anew from its samples
    Show(ShowArgs),
    /// Draw a stored run as SVG or PNG: ratios, latency curves, a sweep, costs, shares of the ceiling, a matrix
    Plot(PlotArgs),
    /// Compare two revisions of a contender, or two stored runs
    Compare(Box<CompareArgs>),
    /// Put published claims to the test: by the article's own method, then by one that treats both sides alike
    Replicate(ReplicateArgs),
    /// Say where the difference between two contenders comes from: time, system calls, allocations, functions
    Explain(ExplainArgs),
    /// List the stored runs
    History(HistoryArgs),
    /// Show the stored runs in a browser, and runs that go on as they go on
    Serve(ServeArgs),
    /// Write the stored runs as a folder of web pages
    Site(SiteArgs),
    /// Remove builds that are out of date and, if asked to, old runs
    Prune(PruneArgs),
    /// Write a stored run into a file
    Export(ExportArgs),
    /// Take a run from a file into the store
    Import(ImportArgs),
    /// Compute every verdict of a run or a file again, and hold it against what was printed then
    Replay(ReplayArgs),
    /// Print a JSON Schema: of reports, comparisons and exports, or of the contender protocol
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Start, meter and relay one contender (used by the lab itself)
    #[command(hide = true)]
    Agent,
    /// Keep a private network (used by the lab itself)
    #[command(hide = true)]
    Holder,
    /// Play a role that does nothing, or does it wrong (used by `doctor --self-test` and the tests)
    #[command(hide = true)]
    Dummy(DummyArgs),
}

/// The option of `run` that no user types.
pub const ASK: &str = "--ask";
/// What `--resume` without a run stands for.
pub const UNFINISHED: &str = "the newest unfinished run";

/// How to print a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table, for people.
    #[default]
    Table,
    /// JSON.
    Json,
    /// Markdown, for a README or an issue.
    Markdown,
}

/// How to print a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A table with bars and verdicts, for people.
    #[default]
    Table,
    /// One JSON object; `netdyno schema report` is its schema.
    Json,
    /// Markdown, for a README or an issue.
    Markdown,
    /// A page for a browser: one file with all of it, that needs no network.
    Html,
}

/// `run`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno run datachannel --preset quick
  netdyno run datachannel --preset quick --html report.html
  netdyno run datachannel pion rustrtc --set pairs=1 --budget 2m
  netdyno run datachannel --sweep message_bytes=64,1024,16384 --precision 5%
  netdyno run datachannel --matrix pion rustrtc str0m
  netdyno run datachannel --net veth,rate=100mbit,delay=50ms,loss=1% --no-ceiling
  netdyno run rtt --against c-blocking        each as ping and as pong, with the same peer
  netdyno run mjpeg --role sender             the senders, all with one receiver
  netdyno run --resume                        go on with the newest unfinished run

Where builds take long, a first look at what is built is shown meanwhile, on stderr.")]
pub struct RunArgs {
    /// The workload, as `netdyno list` names it [default: that of netdyno.toml]
    pub workload: Option<String>,
    /// Only these contenders [default: all that can run here]
    pub contenders: Vec<String>,
    /// Parameters and effort chosen together; `netdyno list WORKLOAD` names them [default: standard]
    #[arg(long, short)]
    pub preset: Option<String>,
    /// Set a parameter: `--set pairs=1`
    #[arg(long = "set", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub set: Vec<(String, String)>,
    /// Measure at each of several values: `--sweep message_bytes=64,1024`
    #[arg(long, value_name = "PARAM=A,B,..", value_parser = parse_assignment)]
    pub sweep: Vec<(String, String)>,
    /// Every contender of one role with every contender of the other
    #[arg(long)]
    pub matrix: bool,
    /// Each contender in each role, with this one in the others: on which side is the cost?
    #[arg(long, value_name = "CONTENDER", conflicts_with = "matrix")]
    pub against: Option<String>,
    /// Compare only who plays this role: the workload's stand-in plays the other for all
    #[arg(long, value_name = "ROLE", conflicts_with_all = ["matrix", "against"])]
    pub role: Option<String>,
    /// The contender that ratios are to [default: that of netdyno.toml, else the workload's]
    #[arg(long, value_name = "CONTENDER")]
    pub baseline: Option<String>,
    /// Begin no block after this time of measuring: `90s`, `15m`, `1h`
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub budget: Option<Duration>,
    /// Blocks at the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_blocks: Option<u32>,
    /// Go on until every interval is this narrow: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub precision: Option<f64>,
    /// Seed of the order and of the payloads [default: from the clock, printed]
    #[arg(long, value_parser = clap::value_parser!(u64).range(..1 << 53))]
    pub seed: Option<u64>,
    /// `apart`: one role a core; `shared`: all roles on all cores [default: the preset's, else apart]
    #[arg(long, value_parser = parse_placement)]
    pub placement: Option<Placement>,
    /// `loopback`, `veth[,mtu=N][,rate=1gbit][,queue=50ms][,delay=50ms][,loss=1%]` (each way) or `host` [default: the workload's, else
    /// loopback]
    #[arg(long, value_parser = parse_net)]
    pub net: Option<Net>,
    /// Leave the workload's ceiling out
    #[arg(long)]
    pub no_ceiling: bool,
    /// Memory a role may take: `2GiB`, `512MiB` [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory_limit: Option<u64>,
    /// Keep idle CPUs from sleeping, so that waking them is not in the latencies; needs root
    #[arg(long)]
    pub awake: bool,
    /// Compare by blocks, each contender on its own, even where duels can be held; needed for tails beyond p99
    #[arg(long)]
    pub blocks: bool,
    /// Multiply the time that a role has for each answer, on slow machines or for very many connections
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = parse_factor)]
    pub time_limits: f64,
    /// Fail on `regression=3%`: a contender that is slower than the baseline; and, said again, on `undecided`
    #[arg(long, value_name = "WHAT", value_parser = parse_fail_on)]
    pub fail_on: Vec<FailOn>,
    /// Marks a second while measuring; 0: only at the window's ends [default: the workload's]
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(0..=i64::from(MARKS_HZ_MAX)))]
    pub marks_hz: Option<u32>,
    /// Go on with an unfinished run, as it was asked for; with --budget, for so much more time, also with one that its budget ended
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = UNFINISHED,
          conflicts_with_all = ["workload", "contenders", "preset", "set", "sweep", "matrix", "against", "role", "seed", "baseline",
              "max_blocks", "precision", "placement", "net", "no_ceiling", "memory_limit", "awake", "blocks", "time_limits",
              "fail_on", "marks_hz"])]
    pub resume: Option<String>,
    /// What `replicate` wants to know of a run, as JSON (used by the lab itself)
    #[arg(long, hide = true, value_parser = parse_asked)]
    pub ask: Option<Asked>,
    /// How to print the report
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
    /// Write the report as a page for a browser, too: one file with all of it, that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `list`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  netdyno list\n  netdyno list datachannel        its roles, parameters, presets and contract"
)]
pub struct ListArgs {
    /// Tell all of this workload
    pub workload: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// `check`
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  netdyno check pion\n  netdyno check datachannel/pion datachannel/str0m\n  netdyno check --all"
)]
pub struct CheckArgs {
    /// Contenders: `NAME`, or `WORKLOAD/NAME` where a name stands in several
    #[arg(required_unless_present = "all")]
    pub contenders: Vec<String>,
    /// Every contender that can be built here
    #[arg(long, conflicts_with = "contenders")]
    pub all: bool,
    /// `loopback`, `veth` or `host` [default: the workload's, else loopback]
    #[arg(long, value_parser = parse_net)]
    pub net: Option<Net>,
}

/// `new`
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  netdyno new --workload datachannel --language rust my-stack && netdyno check my-stack"
)]
pub struct NewArgs {
    /// The workload it is for
    #[arg(long)]
    pub workload: String,
    /// Its programming language
    #[arg(long)]
    pub language: String,
    /// Its name: lower-case letters, digits, `-` and `.`
    pub name: String,
}

/// `show`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno show last
  netdyno show 20260131 --format markdown
  netdyno show last --format html > report.html      a page with pictures, logs and samples")]
pub struct ShowArgs {
    /// A run's id, the start of one, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: ReportFormat,
}

/// `plot`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno plot last                           each one's ratio to the baseline, with its interval
  netdyno plot last --y cpu_per_message -o cpu.svg
  netdyno plot last --chart cost -o cost.png  CPU time, memory, bytes on the wire, for a paper
  netdyno plot last --chart matrix            all of one role with all of the other
  netdyno plot last --x rate --y service_p50 --where transport=udp -o rates.svg
  netdyno plot last --x tasks c-epoll tokio
  netdyno plot last --curve ping.latency --where rate=1000

With --x, lines join the values of a contender, bars show the least and the greatest trial; a hollow point did not hold the load \
that was asked for.")]
pub struct PlotArgs {
    /// A run's id, the start of one, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Only these contenders [default: all of the run]
    pub contenders: Vec<String>,
    /// What to draw [default: ratios; sweep with --x, latency with --curve]
    #[arg(long, value_enum)]
    pub chart: Option<Chart>,
    /// The parameter along the x axis of a sweep [default: the only one that was swept over]
    #[arg(long, value_name = "PARAM", conflicts_with = "curve")]
    pub x: Option<String>,
    /// The metric: along the y axis of a sweep, what contenders are ranked by, what of the cost [default: the primary one; of the cost,
    /// all]
    #[arg(long, value_name = "METRIC", conflicts_with = "curve")]
    pub y: Option<String>,
    /// Of latency curves: a role and its histogram [default: the one that the primary metric reads]
    #[arg(long, value_name = "ROLE.HISTOGRAM")]
    pub curve: Option<String>,
    /// Only cells with this value of a parameter
    #[arg(long = "where", value_name = "PARAM=VALUE", value_parser = parse_assignment)]
    pub only: Vec<(String, String)>,
    /// Headline of the picture [default: the run's]
    #[arg(long)]
    pub title: Option<String>,
    /// The SVG or PNG file to write [default: RUN.svg]
    #[arg(long, short, value_name = "FILE", value_parser = parse_picture)]
    pub output: Option<PathBuf>,
}

/// A picture of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Chart {
    /// Each contender's ratio to the baseline, with its interval.
    Ratios,
    /// Latency curves.
    Latency,
    /// A metric against a parameter.
    Sweep,
    /// What the work cost: CPU time, memory, what went over the wire.
    Cost,
    /// Shares of the ceiling.
    Ceiling,
    /// Every contender of one role with every one of the other.
    Matrix,
}

/// `history`
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// At most this many, newest first
    #[arg(long, short = 'n', default_value_t = 20, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub most: usize,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Of help that is read by way of a pipe; on a terminal it is as wide as that.
    const HELP_COLUMNS: usize = 100;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Prose is wrapped to the terminal, so that a line that ends by itself in a paragraph would be ragged; examples stay whole.
    #[test]
    fn what_stands_below_the_help_is_as_wide_as_the_terminal() {
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
