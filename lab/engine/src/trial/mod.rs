//! A trial: the roles of one cell, from launch to the last exit.
//!
//! Phases, in order: launch, `ready`, `connected`, `verify` and the gate, `warmup`, `measure` with its marks, `stop`
//! of one role after the other, and final checks. If a gate fails, no figure of the trial is kept.

pub mod duel;
pub mod probe;
mod stage;
mod verification;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::build::{Prepared, PreparedInput};
use netdyno_lab_analysis::metrics;
use netdyno_lab_arena::meter::Snapshot;
use netdyno_lab_arena::{Arena, LaunchSpec, Usage};
use netdyno_lab_manifest::{Moment, Params, Workload};
use netdyno_lab_protocol::limits::TimeLimits;
use netdyno_lab_protocol::{Counters, Implementation, PROTOCOL_VERSION, Phase, Setup, TrialResult};
use netdyno_lab_store::samples::{CPUS_ALLOWED, WIRE_PREFIX, WIRE_SHARED};
use netdyno_lab_store::samples::{METER_BEGIN, METER_DEEP, METER_END};
use netdyno_lab_store::{Outcome, Sample, SampleKind, TrialRecord, Turns};
use netdyno_stats::Encoded;

use stage::Stage;

/// The configuration of a trial.
#[derive(Debug)]
pub struct TrialSpec<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Its parameters.
    pub params: &'a Params,
    /// The generated inputs for these parameters.
    pub inputs: Prepared,
    /// Seed of the payload; below 2^53.
    pub seed: u64,
    /// How each role is started, in the workload's order.
    pub roles: Vec<TrialRole>,
    /// Times of the marks in the window, ascending. There is always one at the start; the last is the end of the
    /// window.
    pub marks: Vec<Duration>,
    /// Time limits of the roles' replies.
    pub limits: TimeLimits,
    /// Add unknown fields to `setup`, which contenders must ignore.
    pub extra_setup: bool,
}

/// How a role is started.
#[derive(Debug, Clone)]
pub struct TrialRole {
    /// Its name in the workload.
    pub name: String,
    /// The contender.
    pub contender: String,
    /// Program, arguments, environment, CPUs.
    pub launch: LaunchSpec,
    /// Address to bind.
    pub local: IpAddr,
    /// Address of the other role.
    pub peer: IpAddr,
}

/// The phase of a trial, for the progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Starting the roles.
    Launching,
    /// Making connections.
    Connecting,
    /// In the gate.
    Verifying,
    /// Unmeasured traffic.
    WarmingUp,
    /// Measured traffic.
    Measuring,
    /// Ending.
    Stopping,
}

/// The result of a trial.
#[derive(Debug)]
pub struct TrialReport {
    /// For the store; the caller sets cell, block and position.
    pub record: TrialRecord,
    /// The implementation reported by each role.
    pub implementations: BTreeMap<String, Implementation>,
}

/// An observer of the roles' processes. Observation changes performance, so such a trial is not a measurement.
pub trait Watch {
    /// All roles are running, before the measured window; with the process of each role.
    fn attach(&mut self, roles: &[(String, i32)]);
    /// The window starts.
    fn begin(&mut self);
    /// The window ends.
    fn end(&mut self);
}

/// Runs a trial, with an observer if there is one. All failures are part of its outcome.
pub fn run(
    spec: &TrialSpec<'_>,
    arena: &Arena,
    cancel: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
    watch: Option<&mut dyn Watch>,
) -> TrialReport {
    let (started_at, begun) = (Timestamp::now(), Instant::now());
    let mut collected = Collected::default();
    let conduct = || -> Result<(), Outcome> {
        progress(Progress::Launching);
        let mut stage = set_up(spec, arena, cancel, &mut collected, progress)?;
        progress(Progress::WarmingUp);
        warm_up(spec, &mut stage)?;
        progress(Progress::Measuring);
        measure(spec, &mut stage, watch)?;
        progress(Progress::Stopping);
        stop(spec, &mut stage)
    };
    let outcome = conduct().err().unwrap_or(Outcome::Ok);
    report(spec, collected, outcome, started_at, begun.elapsed())
}

/// A failure without stderr; of no role in particular if the name is empty.
pub(crate) fn failed(role: &str, reason: String) -> Outcome {
    Outcome::Failed { role: role.to_owned(), reason, stderr: String::new() }
}

fn report(
    spec: &TrialSpec<'_>,
    mut collected: Collected,
    outcome: Outcome,
    started_at: Timestamp,
    took: Duration,
) -> TrialReport {
    collected.notes.sort();
    collected.notes.dedup();
    let mut record = TrialRecord {
        cell: 0,
        block: 0,
        position: 0,
        turns: collected.turns,
        started_at,
        seconds: took.as_secs_f64(),
        seed: spec.seed,
        outcome,
        notes: collected.notes,
        samples: collected.samples,
        histograms: collected.histograms,
    };
    if let (Outcome::Ok, Some(why)) = (&record.outcome, no_figure(spec, &record)) {
        record.outcome = failed("", why);
    }
    TrialReport { record, implementations: collected.implementations }
}

/// A trial without a figure of the primary metric, for example because it stalled, has failed: otherwise a stack
/// would be ranked by its good blocks only.
fn no_figure(spec: &TrialSpec<'_>, record: &TrialRecord) -> Option<String> {
    let primary = spec.workload.primary()?;
    let figure = metrics::of_trial(primary, spec.params, record);
    figure.value.is_none().then(|| format!("no {}: {}", primary.label, figure.source))
}

#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) implementations: BTreeMap<String, Implementation>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) histograms: Vec<(String, String, Encoded)>,
    pub(crate) results: BTreeMap<String, TrialResult>,
    pub(crate) notes: Vec<String>,
    /// The turns of a side of a duel.
    pub(crate) turns: Option<Turns>,
}

impl Collected {
    pub(crate) fn froze(&mut self, how: String) {
        if let Some(turns) = &mut self.turns {
            turns.freezer = how;
        }
    }

    pub(crate) fn counters(&mut self, role: &str, counters: &Counters) {
        let at = (role, SampleKind::Counter, counters.id, counters.at_ns);
        for (name, value) in &counters.values {
            self.sample(at, name, Some(*value), "contender");
        }
    }

    pub(crate) fn result(&mut self, role: &str, result: TrialResult, now_ns: u64) {
        for (name, value) in &result.values {
            self.sample((role, SampleKind::Result, 0, now_ns), name, Some(*value), "contender");
        }
        for (name, data) in &result.histograms {
            self.histograms.push((role.to_owned(), name.clone(), data.clone().into()));
        }
        self.results.insert(role.to_owned(), result);
    }

    pub(crate) fn setups(&mut self, role: &str, setup_ns: &[u64], now_ns: u64) {
        for (connection, ns) in (0u64..).zip(setup_ns) {
            self.sample((role, SampleKind::Setup, connection, now_ns), "setup_ns", Some(*ns), "contender");
        }
    }

    pub(crate) fn meter(&mut self, role: &str, id: u64, snapshot: &Snapshot) {
        let at = (role, SampleKind::Meter, id, snapshot.at_ns);
        for (name, reading) in snapshot.readings() {
            self.sample(at, name, reading.value, &reading.source);
        }
        self.sample(at, WIRE_SHARED, Some(snapshot.net.shared_by_roles.into()), "the arena");
        for (name, reading) in snapshot.net.readings() {
            self.sample(at, &format!("{WIRE_PREFIX}{name}"), reading.value, &reading.source);
        }
    }

    /// The kernel's accounting of a role's whole life, stored for comparison with the window's figures.
    pub(crate) fn usage(&mut self, role: &str, usage: &Usage, now_ns: u64) {
        let all = [
            ("life_cpu_ns", usage.cpu_ns),
            ("life_max_rss_bytes", usage.max_rss_bytes),
            ("life_context_switches", usage.context_switches),
        ];
        for (name, value) in all {
            self.sample((role, SampleKind::Result, 0, now_ns), name, Some(value), "wait4(2)");
        }
    }

    /// The number of CPUs that a role may use.
    pub(crate) fn cpus(&mut self, role: &TrialRole) {
        let all = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let count = role.launch.cpus.as_ref().map_or(all, Vec::len) as u64;
        let at = (&*role.name, SampleKind::Meter, METER_BEGIN, 0);
        self.sample(at, CPUS_ALLOWED, Some(count), "sched_setaffinity(2)");
    }

    fn sample(
        &mut self,
        (role, kind, mark, at_ns): (&str, SampleKind, u64, u64),
        name: &str,
        value: Option<u64>,
        source: &str,
    ) {
        let (role, name, source) = (role.to_owned(), name.to_owned(), source.to_owned());
        self.samples.push(Sample { role, kind, mark, at_ns, name, value, source });
    }
}

/// From the launch to the gate.
fn set_up<'a>(
    spec: &TrialSpec<'_>,
    arena: &Arena,
    cancel: &'a AtomicBool,
    collected: &'a mut Collected,
    progress: &mut dyn FnMut(Progress),
) -> Result<Stage<'a>, Outcome> {
    let mut stage = Stage::launch(spec, arena, cancel, collected)?;
    stage.until_ready()?;
    let expected = verification::expected(spec).map_err(|reason| failed("", reason))?;
    progress(Progress::Connecting);
    stage.until_connected()?;
    stage.check(|collected| verification::connected(spec, collected))?;
    meter_at(Moment::Connected, spec.workload, &mut stage)?;
    progress(Progress::Verifying);
    stage.start(Phase::Verify);
    let verified = stage.until_verified(&spec.workload.gate.role, expected.messages, spec.limits.verified)?;
    stage.check(|_| verification::verify(spec, &expected, verified.as_ref()))?;
    meter_at(Moment::Verified, spec.workload, &mut stage)?;
    Ok(stage)
}

/// Reads the meter at a moment that a metric needs.
fn meter_at(moment: Moment, workload: &Workload, stage: &mut Stage<'_>) -> Result<(), Outcome> {
    let is_needed = workload.metrics.iter().any(|m| m.from.moments().contains(&moment));
    if is_needed { stage.meter(metrics::mark_of(moment), false) } else { Ok(()) }
}

fn warm_up(spec: &TrialSpec<'_>, stage: &mut Stage<'_>) -> Result<(), Outcome> {
    stage.start(Phase::Warmup);
    stage.sleep(seconds(spec.params, "warmup_seconds"))
}

fn stop(spec: &TrialSpec<'_>, stage: &mut Stage<'_>) -> Result<(), Outcome> {
    stage.stop()?;
    stage.check(|collected| verification::after(spec, collected))
}

/// The measured window. Meter readings are just outside the first and last mark; that at the start precedes the
/// message to the roles, so that it affects no latency.
fn measure(
    spec: &TrialSpec<'_>,
    stage: &mut Stage<'_>,
    mut watch: Option<&mut dyn Watch>,
) -> Result<(), Outcome> {
    if let Some(watch) = &mut watch {
        watch.attach(&stage.processes());
    }
    stage.meter(METER_BEGIN, false)?;
    stage.mark(0)?;
    stage.start(Phase::Measure);
    if let Some(watch) = &mut watch {
        watch.begin();
    }
    let begun = Instant::now();
    for (i, due) in spec.marks.iter().enumerate() {
        // Relative to the start of the window, so that delays do not accumulate. A mark is skipped if the next one is
        // already due, so that slow replies do not extend the window.
        if spec.marks.get(i + 1).is_some_and(|next| begun.elapsed() >= *next) {
            continue;
        }
        stage.sleep(due.saturating_sub(begun.elapsed()))?;
        if let Some(watch) = watch.as_mut().filter(|_| i + 1 == spec.marks.len()) {
            watch.end();
        }
        stage.mark(i as u64 + 1)?;
    }
    stage.meter(METER_END, false)?;
    // Walking page tables slows the contender down: only after the window.
    stage.meter(METER_DEEP, true)
}

/// Marks at a steady rate over the window; at least one, at its end.
pub fn steady_marks(params: &Params, marks_hz: u32) -> Vec<Duration> {
    let window = seconds(params, "seconds");
    let count = (window.as_secs_f64() * f64::from(marks_hz)).max(1.0) as u32;
    (1..=count).map(|i| window * i / count).collect()
}

/// A parameter that is a duration. Every workload has `seconds` and `warmup_seconds`.
pub(crate) fn seconds(params: &Params, name: &str) -> Duration {
    Duration::try_from_secs_f64(params.number(name).unwrap_or(0.0)).unwrap_or(Duration::ZERO)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The `setup` message of a role.
pub fn setup(spec: &TrialSpec<'_>, role: &TrialRole) -> Setup {
    let mut params: serde_json::Map<String, serde_json::Value> =
        spec.params.iter().map(|(name, value)| (name.to_owned(), serde_json::json!(value))).collect();
    if spec.extra_setup {
        params.insert("a_parameter_of_a_later_lab".to_owned(), serde_json::json!({ "nested": [1, null] }));
    }
    let path = |input: &PreparedInput| input.path.to_string_lossy().into_owned();
    let inputs = spec.inputs.iter().map(|(name, input)| (name.clone(), path(input))).collect();
    Setup {
        protocol: PROTOCOL_VERSION,
        workload: spec.workload.name.clone(),
        role: role.name.clone(),
        seed: spec.seed,
        local: role.local,
        peer: role.peer,
        params,
        inputs,
        capture: false,
    }
}
