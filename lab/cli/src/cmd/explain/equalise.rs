//! `explain --equalise`: measures the pair unchanged and with one condition equalised, and reports how much of the gap closes.

use std::path::{Path, PathBuf};

use super::super::Fallible;
use super::Looker;
use crate::cli::{Equalise, name_of};
use netdyno_lab_analysis::explain::equalise::closes;
use netdyno_lab_analysis::explain::figures::{Pair, WorkUnit};
use netdyno_lab_analysis::explain::{Equalised, Ratio, ratio};
use netdyno_lab_engine::probe::{Bench, Scratch, preload_library};
use netdyno_lab_engine::run::{Display, Ended, Resolved};
use netdyno_lab_manifest::{Net, Placement};
use netdyno_lab_store::probe::{Found, ProbeKind};
use netdyno_lab_store::{CellStatus, Equal, Settings};
use netdyno_stats::Interval;

/// Target half-width of the intervals, relative.
const PRECISION: f64 = 0.02;
/// Default measuring time of each run in seconds.
const BUDGET_S: f64 = 180.0;
/// Packet counts per unit that differ by less than this factor count as equal.
const AS_MANY: f64 = 1.05;
/// The allocator library and its usual folders.
const LIBRARY: &str = "libjemalloc.so.2";
const FOLDERS: [&str; 6] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/lib64",
];

/// A run of the pair: its ratio, and the packets per unit of each side.
struct Measured {
    id: String,
    interval: Interval,
    ratio: Ratio,
    packets: [Option<f64>; 2],
}

/// Measures the effect of each condition. The unchanged run is measured once, together with the others.
pub(super) fn equalise(
    looker: &mut Looker<'_>,
    wanted: &[Equalise],
    budget_s: Option<f64>,
    display: &mut dyn Display,
) -> Fallible<Vec<Equalised>> {
    let mut all: Vec<Equalised> = Vec::new();
    let mut as_it_is: Option<Measured> = None;
    for what in wanted {
        let name = name_of(what);
        let cannot = |how: String| {
            let what = name.clone();
            Equalised { what, how, before: None, after: None, closes: None, runs: Vec::new() }
        };
        let (equal, how) = match possible(looker, *what) {
            Ok(possible) => possible,
            Err(why) => {
                all.push(cannot(why.to_string()));
                continue;
            }
        };
        let mut measure = |equal: Option<Equal>| measure(looker, equal, budget_s, &mut *display);
        if as_it_is.is_none() {
            as_it_is = Some(measure(None)?);
        }
        let Some(before) = &as_it_is else { continue };
        let after = measure(Some(equal))?;
        if *what == Equalise::Gso && !cut_up(before.packets, after.packets) {
            let how = "no contender uses segmentation offload: packet counts are equal without it";
            all.push(cannot(how.to_owned()));
            continue;
        }
        all.push(Equalised {
            what: name,
            how,
            before: Some(before.ratio.clone()),
            after: Some(after.ratio),
            closes: closes(before.interval, after.interval),
            runs: vec![before.id.clone(), after.id],
        });
    }
    Ok(all)
}

/// Whether at least one side sends more packets.
fn cut_up(before: [Option<f64>; 2], after: [Option<f64>; 2]) -> bool {
    let mut known = before.into_iter().zip(after).filter_map(|(before, after)| before.zip(after));
    known.any(|(before, after)| after > before * AS_MANY)
}

/// How the condition is equalised and how its effect was verified; or why it cannot be.
fn possible(looker: &Looker<'_>, what: Equalise) -> Fallible<(Equal, String)> {
    let settings = &looker.pair.run.header.settings;
    match what {
        Equalise::Gso if settings.net == Net::Host => {
            Err("the trials have no private network; run as root, or permit user namespaces".into())
        }
        Equalise::Gso => {
            let how = "devices of the private network accepted one segment at a time (gso_max_segs 1), and more packets were sent.";
            Ok((Equal::Gso, how.to_owned()))
        }
        Equalise::Workers if settings.placement == Placement::Apart => {
            Err("each role already has one CPU (placement apart)".into())
        }
        Equalise::Workers => {
            Ok((Equal::Workers, "each role had one CPU of its own (placement apart).".to_owned()))
        }
        Equalise::Rcvbuf => {
            let scratch = Scratch::new(looker.lab.builder.cache())?;
            let equal = Equal::Rcvbuf { library: preload_library(&scratch)? };
            match count_effects(looker, &equal, &scratch)? {
                0 => Err(
                    "no contender sets a receive buffer through the C library: all use the system default"
                        .into(),
                ),
                times => {
                    let what = "calls that set a receive buffer were blocked";
                    Ok((equal, format!("{what}, {times} times in one trial of each side.")))
                }
            }
        }
        Equalise::Allocator => {
            let library =
                library().ok_or_else(|| format!("{LIBRARY} not found; apt-get install libjemalloc2"))?;
            let scratch = Scratch::new(looker.lab.builder.cache())?;
            let how =
                format!("every process of both sides was started with {} preloaded.", library.display());
            let equal = Equal::Allocator { library };
            count_effects(looker, &equal, &scratch).map(|_| (equal, how))
        }
    }
}

fn library() -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(LIBRARY)).find(|path| path.is_file())
}

/// How often the change took effect in one trial of each side, over all roles.
fn count_effects(looker: &Looker<'_>, equal: &Equal, scratch: &Scratch) -> Fallible<u64> {
    let pair = looker.pair;
    let unit = WorkUnit::new(pair.workload)?;
    let settings = Settings { equal: Some(equal.clone()), ..pair.run.header.settings.clone() };
    let mut all = 0;
    for cell in pair.cells {
        let record = &pair.run.cells[cell];
        let languages = super::languages(record);
        let (languages, unit, cancel) = (&languages, &unit, &looker.lab.cancel);
        let bench = Bench { scratch, languages, unit, equal: Some(equal), undisturbed: None, cancel };
        let label = record.label(&pair.workload.roles);
        for (role, probe) in looker.trial(&bench, ProbeKind::Acts, record, &settings)? {
            match probe.found {
                Ok(Found::Acts { times }) => all += times,
                Ok(_) => {}
                Err(why) => return Err(format!("{label}, {role}: {why}").into()),
            }
        }
    }
    Ok(all)
}

/// Measures the pair again, with the settings of its run except for the equalised condition.
fn measure(
    looker: &mut Looker<'_>,
    equal: Option<Equal>,
    budget_s: Option<f64>,
    display: &mut dyn Display,
) -> Fallible<Measured> {
    let pair = looker.pair;
    let workload = looker.lab.catalog.workload(&pair.workload.name)?.clone();
    let old = &pair.run.header.settings;
    let cells = pair.cells.map(|cell| pair.run.cells[cell].planned());
    let placement = if equal == Some(Equal::Workers) { Placement::Apart } else { old.placement };
    let settings = Settings {
        baseline: pair.run.cells[pair.cells[0]].contender().map(str::to_owned),
        placement,
        // Half the error level for each run, so that the joint statement has the full one.
        alpha: old.alpha / 2.0,
        precision: Some(old.precision.unwrap_or(PRECISION)),
        budget_seconds: budget_s.unwrap_or(BUDGET_S),
        equal: equal.clone(),
        ..old.clone()
    };
    let workload = match &old.role {
        Some(role) => workload.of_role(role)?,
        None => workload,
    };
    let warning = equal.as_ref().map(|equal| {
        format!("{} was equalised: figures differ from those of the unmodified contenders", equal.name())
    });
    let resolved = Resolved {
        rounds: None,
        workload: workload.clone(),
        cells: cells.to_vec(),
        settings,
        warnings: warning.into_iter().collect(),
        command: crate::cmd::command_line(),
    };
    let (id, ended) = looker.lab.engine(display).start(&resolved)?;
    if ended == Ended::Interrupted {
        return Err("interrupted".into());
    }
    let run = looker.lab.store.load(&id)?;
    if let Some(cell) = run.cells.iter().find(|cell| cell.status != CellStatus::Ok) {
        return Err(format!("run {id}: {}", cell.reason).into());
    }
    let measured = Pair { run: &run, workload: &workload, cells: [0, 1] };
    let metric = workload.primary().ok_or("the workload has no primary metric")?;
    let (interval, of, count) = measured.ratio(metric).ok_or_else(|| format!("run {id} has no ratio"))?;
    let packets = measured.packets(&WorkUnit::new(&workload)?);
    Ok(Measured { id, interval, ratio: ratio(interval, of, count), packets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_show_in_the_packets() {
        assert!(cut_up([Some(0.1), Some(1.0)], [Some(1.0), Some(1.0)]));
        assert!(!cut_up([Some(1.0), Some(1.0)], [Some(1.01), Some(0.9)]));
        assert!(!cut_up([None, Some(1.0)], [Some(2.0), None]));
    }
}
