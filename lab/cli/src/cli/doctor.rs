//! `doctor` as typed.

use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::parse_duration;

/// `doctor`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno doctor
  netdyno doctor --self-test                                    measure the lab itself
  netdyno doctor --against-itself 60 datachannel pion rustrtc   60 duels of each with itself
  netdyno doctor --resolve datachannel --budget 2m              what is seen in 2 minutes

Said again, --against-itself goes on. --resolve holds four duels of the budget's length, and says what loss of speed is told from none.")]
pub struct DoctorArgs {
    /// Measure the lab's own cost, and show that it catches contenders that break the contract (one to three minutes)
    #[arg(long)]
    pub self_test: bool,
    /// Hold N duels of each contender with itself: at most 5 % may come out better or worse (each takes half a minute)
    #[arg(long, value_name = "N", requires = "workload", conflicts_with = "self_test",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub against_itself: Option<u32>,
    /// Find the smallest loss of speed that this host tells from none: known losses are put in, in a control and three duels
    #[arg(long, value_name = "WORKLOAD", conflicts_with_all = ["self_test", "against_itself"])]
    pub resolve: Option<String>,
    /// Who is to lose [default: the workload's baseline]
    #[arg(long, value_name = "NAME", requires = "resolve")]
    pub contender: Option<String>,
    /// Measure in each duel for this time: `90s`, `2m`
    #[arg(long, value_name = "TIME", requires = "resolve", value_parser = parse_duration, default_value = "60s")]
    pub budget: Duration,
    /// How to print what `--resolve` found
    #[arg(long, value_enum, default_value_t, requires = "resolve")]
    pub format: Format,
    /// The workload of the duels
    #[arg(requires = "against_itself")]
    pub workload: Option<String>,
    /// Only these contenders [default: all that can run here]
    pub contenders: Vec<String>,
}
