//! Arguments of `doctor`.

use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::parse_duration;

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno doctor
  netdyno doctor --self-test                                    test the lab itself
  netdyno doctor --against-itself 60 datachannel pion rustrtc   duel each with itself
  netdyno doctor --resolve datachannel --budget 2m              measure the lab's resolution

Repeating --against-itself adds to the stored duels. --resolve runs four duels of the given budget and reports the \
smallest slowdown that is detected.")]
pub(crate) struct DoctorArgs {
    /// Measure the lab's overhead and verify that it detects contract violations (one to three minutes)
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Run N duels of each contender with itself; at most 5 % may be better or worse (half a minute each)
    #[arg(long, value_name = "N", requires = "workload", conflicts_with = "self_test",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) against_itself: Option<u32>,
    /// Find the smallest slowdown that this host detects, by a control and three duels with injected slowdowns
    #[arg(long, value_name = "WORKLOAD", conflicts_with_all = ["self_test", "against_itself"])]
    pub(crate) resolve: Option<String>,
    /// Contender to slow down [default: the workload's baseline]
    #[arg(long, value_name = "NAME", requires = "resolve")]
    pub(crate) contender: Option<String>,
    /// Measuring time of each duel: `90s`, `2m`
    #[arg(long, value_name = "TIME", requires = "resolve", value_parser = parse_duration, default_value = "60s")]
    pub(crate) budget: Duration,
    /// Output format of `--resolve`
    #[arg(long, value_enum, default_value_t, requires = "resolve")]
    pub(crate) format: Format,
    /// Workload of the duels
    #[arg(requires = "against_itself")]
    pub(crate) workload: Option<String>,
    /// Test only these contenders [default: all that can run here]
    pub(crate) contenders: Vec<String>,
}
