//! `replicate`, as typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::parse_duration;

/// `replicate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno replicate --list                    the articles, their claims, and what tests them
  netdyno replicate D --budget 10m            all claims of an article
  netdyno replicate D --budget 10m --resume   ten minutes more, for what is undecided
  netdyno replicate D.throughput              one claim, or those whose name begins with it
  netdyno replicate my-article.toml           a file of your own: docs/CLAIMS.md
  netdyno replicate D --from 20260131-12 20260131-13 --into docs/studies/data-channels.md

Each claim comes out as: holds; holds only under the article's conditions (and which, where an experiment shows it); does not \
hold; undecided, where a longer budget would tell; or not tested, and why.")]
pub struct ReplicateArgs {
    /// Articles (`D`), claims (`D.throughput`), or files of claims [default: all]
    pub claims: Vec<String>,
    /// Say what would be run and what that tests, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Time of measuring of all runs together; it goes where it soonest decides something [default: what the files say]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "from")]
    pub budget: Option<Duration>,
    /// Go on with the newest runs of the same methods, on this machine and of the same builds: times of several evenings add up
    #[arg(long, conflicts_with = "from")]
    pub resume: bool,
    /// Judge from these stored runs, and measure nothing
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub from: Vec<String>,
    /// Write it between the markers `<!-- claims:begin -->` and `<!-- claims:end -->` of a document, too; of one article
    #[arg(long, value_name = "FILE")]
    pub into: Option<PathBuf>,
    /// Draw published and measured ratios of one article into an SVG file
    #[arg(long, value_name = "FILE", value_parser = super::parse_picture)]
    pub picture: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
