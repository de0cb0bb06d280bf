//! Arguments of `replicate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::values::parse_duration;

/// `replicate`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  netdyno replicate --list                    list articles, claims and tests
  netdyno replicate D --budget 10m            test all claims of an article
  netdyno replicate D --budget 10m --resume   10 more minutes for undecided claims
  netdyno replicate D.throughput              test claims whose name begins with this
  netdyno replicate my-article.toml           your own file; see docs/CLAIMS.md
  netdyno replicate D --from 20260131-12 20260131-13 --into docs/studies/data-channels.md

Each claim has one of these results: holds; holds only under the article's conditions (named if an experiment isolates them); does \
not hold; undecided (a longer budget may decide it); not tested (with the reason).")]
pub(crate) struct ReplicateArgs {
    /// Articles (`D`), claims (`D.throughput`) or files of claims to test [default: all]
    pub(crate) claims: Vec<String>,
    /// List the runs and the claims they test, without running anything
    #[arg(long)]
    pub(crate) list: bool,
    /// Total measuring time, spent first where it decides claims soonest [default: from the files]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "from")]
    pub(crate) budget: Option<Duration>,
    /// Extend the newest runs of the same methods and builds on this machine instead of starting new ones
    #[arg(long, conflicts_with = "from")]
    pub(crate) resume: bool,
    /// Judge these stored runs or exported files without measuring
    #[arg(long, value_name = "RUN", num_args = 1..)]
    pub(crate) from: Vec<String>,
    /// Also write the result of one article between `<!-- claims:begin -->` and `<!-- claims:end -->` of a document
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Draw the published and measured ratios of one article to an SVG file
    #[arg(long, value_name = "FILE", value_parser = super::parse_picture)]
    pub(crate) picture: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}
