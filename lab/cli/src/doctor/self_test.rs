//! The lab's self-test: its overhead, and the faults it detects.
//!
//! A dummy role ([`crate::dummy`]) counts as fast as one thread can. Overhead of the lab reduces the count.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use procfs::process::Process;

use crate::cli::name_of;
use crate::cmd::Fallible;
use crate::dummy::DummyFault;
use netdyno_lab_analysis::metrics;
use netdyno_lab_arena::meter::monotonic_ns;
use netdyno_lab_arena::{Arena, ArenaError, ArenaSpec, LaunchSpec, LinkEnd, Topology};
use netdyno_lab_engine::build::Prepared;
use netdyno_lab_engine::trial::{self, Progress, TrialReport, TrialRole, TrialSpec};
use netdyno_lab_manifest::dummy::workload;
use netdyno_lab_manifest::{Net, ParamValue, Params, Placement, Workload};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_store::{Outcome, SampleKind};
use netdyno_stats::{Direction, Judgement, PairedRatios, Rules, Unit, judge};

/// Share of one CPU that the lab may use while measuring.
pub(crate) const COST_MOST: f64 = 0.01;
/// Permitted relative effect of marks.
pub(crate) const MARKS_MOST: f64 = 0.01;
/// Memory limit of a dummy that must exceed it.
const MEMORY_LIMIT_BYTES: u64 = 256 << 20;
/// Length of a part of the window with or without marks, and the number of marks at 10 Hz.
const SLICE: Duration = Duration::from_millis(400);
const MARKS_IN_SLICE: u32 = 4;
/// Window of a dummy with a fault.
const FAULT_WINDOW: Duration = Duration::from_millis(500);
/// Short limits, so that faults are detected quickly.
pub(super) const LIMITS: TimeLimits = TimeLimits {
    ready: Duration::from_secs(2),
    connected: Duration::from_secs(2),
    verified: Duration::from_secs(5),
    counters: Duration::from_secs(1),
    result: Duration::from_secs(2),
};

/// Every fault, with a part of the expected error.
pub(crate) const CAUGHT: [(DummyFault, &str); 18] = [
    (DummyFault::Misdirect, "unknown role"),
    (DummyFault::Mute, "no `ready`"),
    (DummyFault::Hang, "no `counters`"),
    (DummyFault::Flood, "1048576 bytes"),
    (DummyFault::Garbage, "bad line"),
    (DummyFault::Crash, "SIGABRT"),
    (DummyFault::Orphan, "behind"),
    (DummyFault::Memory, "memory limit"),
    (DummyFault::WrongDigest, "wrong digest"),
    (DummyFault::Fewer, "messages received in verify"),
    (DummyFault::Lost, "15 of 16 messages have arrived"),
    (DummyFault::Overclaim, "sent only"),
    (DummyFault::FewSetups, "setup times"),
    (DummyFault::SlowClock, "does not count nanoseconds"),
    (DummyFault::Quit, "ended early"),
    (DummyFault::Chatter, "`connected`"),
    (DummyFault::Linger, "no `exit`"),
    (DummyFault::Unsupported, "no role"),
];

pub(crate) fn trial(
    fault: Option<DummyFault>,
    marks: Vec<Duration>,
    seconds: f64,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<TrialReport, ArenaError> {
    let workload = workload();
    let mut params: Params = workload.resolve(None, &[]).unwrap_or_default();
    params.0.insert("seconds".to_owned(), ParamValue::Number(seconds));
    let arena = Arena::best(&ArenaSpec::local(Net::Loopback))?;
    let spec = TrialSpec {
        workload: &workload,
        params: &params,
        inputs: Prepared::new(),
        seed: 1,
        roles: roles(&workload, fault, &arena)?,
        marks,
        limits: LIMITS,
        extra_setup: false,
    };
    Ok(trial::run(&spec, &arena, cancel, progress, None))
}

/// The roles of dummies. The sink has the fault, unless only a source can have it.
pub(super) fn roles(
    workload: &Workload,
    fault: Option<DummyFault>,
    arena: &Arena,
) -> Result<Vec<TrialRole>, ArenaError> {
    let cpus = Topology::of_this_machine()?.place(Placement::Apart, workload.roles.len());
    let roles = workload.roles.iter().enumerate().map(|(index, name)| {
        let faulty = (fault == Some(DummyFault::Overclaim)) == (name == "source");
        let mut argv = vec!["/proc/self/exe".to_owned(), "dummy".to_owned()];
        if let Some(fault) = fault.filter(|_| faulty) {
            argv.push(format!("--fault={}", name_of(&fault)));
        }
        let (local, peer) = arena.addresses(LinkEnd::A);
        let mut launch = LaunchSpec::new(index, argv, PathBuf::from("/"));
        launch.cpus = cpus.roles.get(index).cloned();
        launch.memory_limit_bytes = (fault == Some(DummyFault::Memory)).then_some(MEMORY_LIMIT_BYTES);
        TrialRole { name: name.clone(), contender: "dummy".to_owned(), launch, local, peer }
    });
    Ok(roles.collect())
}

/// The lab's CPU time in a measured window, including agents, as a share of one CPU.
pub(crate) fn cost(seconds: f64, cancel: &AtomicBool) -> Fallible<f64> {
    let mut window = Window::default();
    let marks = (1..=10 * seconds as u32).map(|i| Duration::from_millis(100) * i).collect();
    let report = trial(None, marks, seconds, cancel, &mut |p| window.see(p))?;
    if report.record.outcome != Outcome::Ok {
        return Err(format!("{:?}", report.record.outcome).into());
    }
    let (cpu, time) = window.spent()?;
    Ok(cpu / time)
}

/// The lab's CPU time and the clock, both in ns, at the ends of the measured window.
#[derive(Default)]
pub(super) struct Window {
    begin: Option<(u64, u64)>,
    end: Option<(u64, u64)>,
}

impl Window {
    pub(super) fn see(&mut self, progress: Progress) {
        let now = || own_cpu_ns().map(|cpu| (cpu, monotonic_ns()));
        match progress {
            Progress::Measuring => self.begin = now(),
            // Of two sides, the first that stops ends it.
            Progress::Stopping if self.end.is_none() => self.end = now(),
            _ => {}
        }
    }

    /// CPU time and elapsed time, in ns.
    pub(super) fn spent(&self) -> Fallible<(f64, f64)> {
        match (self.begin, self.end) {
            (Some((cpu, at)), Some((cpu_after, after))) if after > at => {
                Ok((cpu_after.saturating_sub(cpu) as f64, (after - at) as f64))
            }
            _ => Err("/proc does not show the lab's own CPU time".into()),
        }
    }
}

/// CPU time of this process and its children, the agents, in ns, from the scheduler's accounting of every thread.
fn own_cpu_ns() -> Option<u64> {
    let me = Process::myself().ok()?;
    let children =
        procfs::process::all_processes().ok()?.flatten().filter(|p| p.stat().is_ok_and(|s| s.ppid == me.pid));
    Some(std::iter::once(Process::new(me.pid).ok()?).chain(children).map(|p| threads_cpu_ns(&p)).sum())
}

fn threads_cpu_ns(process: &Process) -> u64 {
    let Ok(tasks) = process.tasks() else { return 0 };
    tasks.flatten().filter_map(|t| t.schedstat().ok()).map(|s| s.sum_exec_runtime).sum()
}

/// Compares counting with marks at 10 Hz and without. Pairs of slices of the same trial, in alternating order, cancel
/// differences between trials. Trials with `pairs` pairs are added until the result is decided, at most `trials`.
pub(crate) fn marks(pairs: u32, trials: u32, cancel: &AtomicBool) -> Fallible<Judgement> {
    let rules = Rules { margin: MARKS_MOST, ..Rules::default() };
    let mut logs = Vec::new();
    for done in 1.. {
        logs.extend(log_ratios_of_marks(pairs, cancel)?);
        let comparison = PairedRatios { unit: Unit::Block, log_ratios: logs.clone() };
        let judged = judge(&[comparison], Direction::Higher, &rules);
        let judgement = judged.into_iter().next().ok_or("nothing to judge")?;
        if done >= trials || netdyno_stats::decided(std::slice::from_ref(&judgement), &rules) {
            return Ok(judgement);
        }
    }
    Err("no trial was asked for".into())
}

/// One trial: the log ratio of the rates with and without marks, for each pair of slices.
fn log_ratios_of_marks(pairs: u32, cancel: &AtomicBool) -> Fallible<Vec<f64>> {
    let workload = workload();
    let primary = workload.primary().ok_or("no primary metric")?;
    let (marks, slices) = marks_in_slices(pairs);
    let window = marks.last().map_or(0.0, Duration::as_secs_f64);
    let report = trial(None, marks, window, cancel, &mut |_| {})?;
    let record = report.record;
    if record.outcome != Outcome::Ok {
        return Err(format!("{:?}", record.outcome).into());
    }
    let rate = |(first, last): Slice| {
        let mut slice = record.clone();
        slice.samples.retain(|s| s.kind != SampleKind::Counter || s.mark == first || s.mark == last);
        metrics::of_trial(primary, &Params::default(), &slice).value
    };
    Ok(slices.iter().filter_map(|(with, without)| Some((rate(*with)? / rate(*without)?).ln())).collect())
}

/// The first and last mark of a slice.
type Slice = (u64, u64);

/// The times of the marks, and for each pair the slices with and without marks.
fn marks_in_slices(pairs: u32) -> (Vec<Duration>, Vec<(Slice, Slice)>) {
    let mut marks = Vec::new();
    let mut slices = Vec::new();
    let mut begin = Duration::ZERO;
    let mut slice = |marked: bool| {
        let first = marks.len() as u64;
        let inside = if marked { MARKS_IN_SLICE } else { 1 };
        marks.extend((1..=inside).map(|i| begin + SLICE * i / inside));
        begin += SLICE;
        (first, marks.len() as u64)
    };
    for pair in 0..pairs {
        let (a, b) = (slice(pair % 2 == 0), slice(pair % 2 == 1));
        slices.push(if pair % 2 == 0 { (a, b) } else { (b, a) });
    }
    (marks, slices)
}

/// Whether the lab detects a fault with the expected error, and the error.
pub(crate) fn catches(
    fault: DummyFault,
    part: &str,
    cancel: &AtomicBool,
) -> Result<(bool, String), ArenaError> {
    let marks = vec![FAULT_WINDOW / 2, FAULT_WINDOW];
    let report = trial(Some(fault), marks, FAULT_WINDOW.as_secs_f64(), cancel, &mut |_| {})?;
    Ok(match report.record.outcome {
        Outcome::Failed { reason, role, .. } => (reason.contains(part), format!("{role}: {reason}")),
        Outcome::Skipped { reason, role } => {
            (fault == DummyFault::Unsupported && reason.contains(part), format!("{role}: {reason}"))
        }
        other => (false, format!("{other:?}")),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn slices_share_their_ends_and_turn_their_order() {
        let (marks, slices) = super::marks_in_slices(2);
        assert_eq!(marks.len(), 10);
        assert_eq!(marks[9], super::SLICE * 4);
        assert!(marks.is_sorted());
        assert_eq!(slices, [((0, 4), (4, 5)), ((6, 10), (5, 6))]);
    }
}
