//! `netdyno plot`: draws a stored or exported run.

use std::path::PathBuf;

use super::import::load;
use super::{CommandResult, Fallible, GOOD, print, write_file};
use crate::cli::{Chart, PlotArgs};
use netdyno_lab_analysis::report::Report;
use netdyno_lab_manifest::Workload;
use netdyno_lab_report::plot::{self, Picture};

/// Draws ratios to the baseline, or another chart, to an SVG or PNG file.
pub(crate) fn run(args: &PlotArgs) -> CommandResult {
    let run = load(&args.run)?.0;
    let workload = run.header.parsed_workload()?;
    let report = netdyno_lab_analysis::report::build(&run)?;
    let mut picture = draw(args, &report, &workload)?;
    if let Some(title) = &args.title {
        picture.captions.title.clone_from(title);
    }
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.svg", report.run.id)));
    let is_png = file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("png"));
    let bytes = if is_png { png(&picture)? } else { picture.file().into_bytes() };
    write_file(&file, bytes)?;
    print(&format!("{}\n", file.display()));
    Ok(GOOD)
}

#[cfg(feature = "png")]
fn png(picture: &plot::Picture) -> Result<Vec<u8>, String> {
    plot::png(picture)
}

#[cfg(not(feature = "png"))]
fn png(_: &plot::Picture) -> Result<Vec<u8>, String> {
    Err("this build of netdyno cannot write PNG: write SVG, or build it with --features png".to_owned())
}

fn draw(args: &PlotArgs, report: &Report, workload: &Workload) -> Fallible<Picture> {
    let (only, contenders) = (args.only.clone(), args.contenders.clone());
    let plots = plot::Plots { report, workload, only, contenders };
    let metric = args.y.as_ref().unwrap_or(&report.run.primary);
    let chart = args.chart.unwrap_or(match (&args.x, &args.curve) {
        (Some(_), _) => Chart::Sweep,
        (None, Some(_)) => Chart::Latency,
        (None, None) => Chart::Ratios,
    });
    for (given, option, of) in [
        (args.x.is_some(), "--x", &[Chart::Sweep][..]),
        (args.curve.is_some(), "--curve", &[Chart::Latency]),
        (args.y.is_some(), "--y", &[Chart::Sweep, Chart::Ratios, Chart::Cost, Chart::Matrix]),
    ] {
        if given && !of.contains(&chart) {
            let rule = "does not apply to this chart: remove it, or choose another --chart";
            return Err(format!("{option} {rule}").into());
        }
    }
    Ok(match chart {
        Chart::Ratios => plot::ranking_svg(&plots.ranking(metric)?, plot::WIDTH),
        Chart::Latency => {
            let curve = args.curve.clone().map_or_else(|| plots.main_curve(), Ok)?;
            plot::lines_svg(&plots.curves(&curve)?, plot::WIDTH)
        }
        Chart::Sweep => {
            let x = args.x.clone().map_or_else(|| plots.axis(), Ok)?;
            plot::lines_svg(&plots.against(&x, metric)?, plot::WIDTH)
        }
        Chart::Cost => {
            let panels = match &args.y {
                Some(metric) => vec![plots.bars(metric)?],
                None => plots.cost()?,
            };
            plot::bars_svg(report, &panels, plot::WIDTH)
        }
        Chart::Ceiling => plot::bars_svg(report, &[plots.shares()?], plot::WIDTH),
        Chart::Matrix => plot::matrix_svg(&plots.matrix(metric)?, plot::WIDTH),
    })
}
