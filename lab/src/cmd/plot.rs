//! `netdyno plot`: a stored run as a picture.

use std::path::PathBuf;

use super::{GOOD, Outcome, print};
use crate::cli::PlotArgs;
use crate::report::{self, plot};
use crate::store::Store;

/// Draws a metric against a parameter, or latency curves, into an SVG file.
///
/// # Errors
/// When there is no such run, there is nothing to plot, or the file cannot be written.
pub fn run(args: &PlotArgs) -> Outcome {
    let store = Store::open(&Store::default_path())?;
    let run = store.load(&store.find(&args.run)?)?;
    let workload = run.header.parsed_workload()?;
    let report = report::build(&run)?;
    let selection = plot::Selection { only: args.only.clone(), contenders: args.contenders.clone() };
    let mut drawing = match (&args.x, &args.curve) {
        (Some(x), _) => {
            let y = args.y.clone().unwrap_or_else(|| report.run.primary.clone());
            plot::against(&report, &workload, x, &y, &selection)?
        }
        (None, Some(curve)) => plot::curves(&report, &workload, curve, &selection)?,
        (None, None) => return Err("what to plot? Name --x PARAM, or --curve ROLE.HISTOGRAM".into()),
    };
    if let Some(title) = &args.title {
        drawing.title.clone_from(title);
    }
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", report.run.id)));
    std::fs::write(&file, plot::svg(&drawing)?).map_err(|e| format!("{}: {e}", file.display()))?;
    print(&format!("{}\n", file.display()));
    Ok(GOOD)
}
