//! Duels of a dummy with itself: their cost, and their false-positive rate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::against_itself::Duel;
use super::self_test::{LIMITS, Window, roles};
use crate::cmd::Fallible;
use netdyno_lab_analysis::metrics;
use netdyno_lab_arena::{Arena, ArenaError, ArenaSpec};
use netdyno_lab_engine::build::Prepared;
use netdyno_lab_engine::trial::duel::{self, TurnPlan};
use netdyno_lab_engine::trial::{Progress, TrialReport, TrialSpec};
use netdyno_lab_manifest::Net;
use netdyno_lab_manifest::dummy::workload;
use netdyno_lab_store::Outcome;
use netdyno_stats::{Direction, PairedRatios, Rules, Unit, judge};

/// The shortest possible turns, for as many duels as possible.
const SHORT: TurnPlan = TurnPlan {
    turn: Duration::from_millis(8),
    lead: Duration::from_millis(2),
    count: 4,
    stalled: Vec::new(),
    undisturbed: Vec::new(),
    stretch: Duration::ZERO,
    under_way: None,
    seed: 1,
};
/// No duel starts after this time.
const HOLD_TIME: Duration = Duration::from_secs(15);
/// Two lengths of turns, in whose difference the lab should be asleep; and the number of turns of each side.
const SLEPT: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(250)];
const SLEPT_COUNT: u32 = 10;

/// CPU time of the lab within turns, including agents, as a share of one CPU. Work between turns, such as freezing
/// and reading meters, is independent of their length, and cancels in the difference of two lengths.
pub(crate) fn cost(cancel: &AtomicBool) -> Fallible<f64> {
    let arenas = arenas()?;
    let spent = |turn: Duration| {
        let mut window = Window::default();
        let turns = TurnPlan { turn, count: SLEPT_COUNT, ..SHORT };
        session(&turns, &arenas, cancel, &mut |progress| window.see(progress))?;
        window.spent()
    };
    let [(cpu, time), (cpu_longer, longer)] = [spent(SLEPT[0])?, spent(SLEPT[1])?];
    Ok((cpu_longer - cpu).max(0.0) / (longer - time))
}

/// Runs short duels with so many sessions each, as many as fit into the time limit.
pub(crate) fn hold(duels: u32, sessions: u32, cancel: &AtomicBool) -> Fallible<Vec<Option<Duel>>> {
    let arenas = arenas()?;
    let one = |duel: u32| {
        let seed = |session| u64::from(duel * sessions + session);
        let session = |i| session(&TurnPlan { seed: seed(i), ..SHORT }, &arenas, cancel, &mut |_| {});
        let log_ratios = (0..sessions).map(session).collect::<Fallible<Vec<f64>>>()?;
        let comparison = PairedRatios { unit: Unit::Session, log_ratios: log_ratios.clone() };
        let judged = judge(&[comparison], Direction::Higher, &Rules::default());
        Ok(judged.first().map(|judgement| Duel::new(judgement, &log_ratios)))
    };
    let begun = Instant::now();
    (0..duels).take_while(|_| begun.elapsed() < HOLD_TIME).map(one).collect()
}

fn arenas() -> Fallible<Vec<Arena>> {
    (0..2).map(|_| Ok(Arena::best(&ArenaSpec::local(Net::Loopback))?)).collect()
}

/// One session of two dummies. Returns the log ratio of their counts.
fn session(
    turns: &TurnPlan,
    arenas: &[Arena],
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Fallible<f64> {
    let workload = workload();
    let primary = workload.primary().ok_or("no primary metric")?;
    let params = workload.resolve(None, &[("warmup_seconds".to_owned(), "0".to_owned())])?;
    let spec = |arena: &Arena| {
        Ok(TrialSpec {
            workload: &workload,
            params: &params,
            inputs: Prepared::new(),
            seed: 1,
            roles: roles(&workload, None, arena)?,
            marks: Vec::new(),
            limits: LIMITS,
            extra_setup: false,
        })
    };
    let specs = arenas.iter().map(spec).collect::<Result<Vec<_>, ArenaError>>()?;
    let reports = duel::run(&specs, turns, arenas, cancel, &mut |_, p| progress(p));
    if cancel.load(Ordering::Relaxed) {
        return Err("interrupted".into());
    }
    let count = |report: Option<TrialReport>| {
        let record = report.ok_or("the other side failed")?.record;
        let figure = metrics::of_trial(primary, &params, &record);
        match &record.outcome {
            Outcome::Ok => Ok(figure.value.ok_or(figure.source)?),
            other => Err(format!("{other:?}").into()),
        }
    };
    let counts = reports.into_iter().map(count).collect::<Fallible<Vec<f64>>>()?;
    Ok((counts[0] / counts[1]).ln())
}
