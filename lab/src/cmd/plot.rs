//! `netdyno plot`: a stored run as a picture.

use std::path::PathBuf;

use super::{GOOD, Outcome, print};
use crate::cli::PlotArgs;
use crate::report::{self, plot};
use crate::store::Store;

/// Draws who is how far from the baseline, a metric against a parameter, or latency curves, into an SVG file.
///
/// # Errors
/// When there is no such run, there is nothing to plot, or the file cannot be written.
pub fn run(args: &PlotArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let run = store.load(&store.find(&args.run)?)?;
    let workload = run.header.parsed_workload()?;
    let report = report::build(&run)?;
    let selection = plot::Selection { only: args.only.clone(), contenders: args.contenders.clone() };
    let metric = args.y.clone().unwrap_or_else(|| report.run.primary.clone());
    let drawing = match (&args.x, &args.curve) {
        (Some(x), _) => Drawing::Lines(plot::against(&report, &workload, x, &metric, &selection)?),
        (None, Some(curve)) => Drawing::Lines(plot::curves(&report, &workload, curve, &selection)?),
        (None, None) => Drawing::Ranking(plot::ranking(&report, &workload, &metric, &selection)?),
    };
    let svg = drawing.svg(args.title.as_deref())?;
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", report.run.id)));
    std::fs::write(&file, svg).map_err(|e| format!("{}: {e}", file.display()))?;
    print(&format!("{}\n", file.display()));
    Ok(GOOD)
}

enum Drawing {
    Lines(plot::Plot),
    Ranking(plot::Ranking),
}

impl Drawing {
    fn svg(mut self, title: Option<&str>) -> Result<String, String> {
        if let Some(wanted) = title {
            let (Self::Lines(plot::Plot { title, .. }) | Self::Ranking(plot::Ranking { title, .. })) =
                &mut self;
            wanted.clone_into(title);
        }
        match &self {
            Self::Lines(plot) => plot::svg(plot),
            Self::Ranking(ranking) => plot::ranking_svg(ranking),
        }
    }
}
