//! A synthetic run, for tests of code that reads runs.
#![allow(clippy::unwrap_used, clippy::expect_used)] // Only tests use it, and its values are constants.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    CellRecord, CellStatus, Outcome, Run, RunHeader, RunStatus, Sample, SampleKind, Settings, StopReason,
    Store, TrialRecord,
};
use crate::Host;
use crate::samples::{CPUS_ALLOWED, METER_BEGIN, METER_END};
use netdyno_lab_manifest::{Net, Params, Placement};

/// Length of every window, in ns.
const WINDOW_NS: u64 = 1_000_000_000;

/// A contender of the run and its rates, one per block, in messages/s.
pub struct CannedContender<'a> {
    /// Its name.
    pub name: &'a str,
    /// Status of its cell.
    pub status: CellStatus,
    /// Messages per second of each block.
    pub rates: &'a [u64],
    /// The sink's CPU usage, in percent of one CPU.
    pub sink_cpu_percent: u64,
}

/// A run of the embedded dummy workload.
pub fn run(contenders: &[CannedContender<'_>], ceiling: Option<&str>) -> Run {
    let cells = contenders.iter().map(|c| cell(c, ceiling)).collect();
    let mut trials = Vec::new();
    for (index, contender) in contenders.iter().enumerate() {
        for (block, rate) in (0u32..).zip(contender.rates) {
            trials.push(trial(index, block, *rate, contender.sink_cpu_percent));
        }
    }
    trials.sort_by_key(|t| (t.block, t.position));
    Run { header: header(), status: RunStatus::Finished, stopped_because: StopReason::Decided, cells, trials }
}

/// Writes a complete run to a store.
pub fn write(store: &mut Store, run: &Run) {
    store.begin_run(&run.header, &run.cells).unwrap();
    for trial in &run.trials {
        store.add_trial(&run.header.id, trial).unwrap();
    }
    store.set_status(&run.header.id, run.status, run.stopped_because).unwrap();
}

fn header() -> RunHeader {
    RunHeader {
        id: "20260101-120000-0007".to_owned(),
        workload: "dummy".to_owned(),
        manifest: netdyno_lab_manifest::dummy::WORKLOAD.to_owned(),
        started_at: "2026-01-01T12:00:00Z".parse().unwrap(),
        lab_version: "0.0.0".to_owned(),
        command: vec!["netdyno".to_owned()],
        settings: Settings {
            preset: None,
            placement: Placement::Apart,
            net: Net::Loopback,
            baseline: Some("base".to_owned()),
            role: None,
            seed: 7,
            min_blocks: 3,
            max_blocks: 10,
            budget_seconds: 60.0,
            alpha: 0.05,
            margin: 0.02,
            precision: None,
            time_limits: 1.0,
            marks_hz: 10,
            memory_limit_bytes: None,
            awake: false,
            blocks: false,
            regression: None,
            fail_on_undecided: false,
            tolerances: Vec::new(),
            equal: None,
            questions: Vec::new(),
        },
        host: host(),
        arena: "made up".to_owned(),
        warnings: vec!["this run is made up".to_owned()],
    }
}

fn host() -> Host {
    Host {
        cpu: "Synthetic CPU".to_owned(),
        cpus: 2,
        cores: 2,
        smt: "off".to_owned(),
        memory_bytes: 1 << 33,
        kernel: "6.1".to_owned(),
        os: "Synthetic OS".to_owned(),
        governor: "performance".to_owned(),
        virtual_machine: false,
        steal_percent: 0.0,
        cgroup: "v2".to_owned(),
        mitigations: Vec::new(),
        toolchains: BTreeMap::new(),
    }
}

fn cell(contender: &CannedContender<'_>, ceiling: Option<&str>) -> CellRecord {
    let failed = contender.status != CellStatus::Ok;
    CellRecord {
        contenders: ["source", "sink"].map(|r| (r.to_owned(), contender.name.to_owned())).into(),
        partners: BTreeSet::new(),
        params: Params::default(),
        ceiling: ceiling == Some(contender.name),
        again: false,
        stalled: 0,
        status: contender.status,
        reason: if failed { "the sink: gate: wrong digest".to_owned() } else { String::new() },
        remedy: if contender.status == CellStatus::Skipped {
            "apt-get install it".to_owned()
        } else {
            String::new()
        },
        builds: BTreeMap::new(),
        inputs: BTreeMap::new(),
        implementations: BTreeMap::new(),
    }
}

fn trial(cell: usize, block: u32, rate: u64, sink_cpu_percent: u64) -> TrialRecord {
    let mut samples = Vec::new();
    let mut add = |role: &str, kind, mark: u64, name: &str, value: u64| {
        let at_ns = 5 + mark.min(1) * WINDOW_NS;
        let (role, name, source) = (role.to_owned(), name.to_owned(), "made up".to_owned());
        samples.push(Sample { role, kind, mark, at_ns, name, value: Some(value), source });
    };
    for (role, percent) in [("source", 50), ("sink", sink_cpu_percent)] {
        add(role, SampleKind::Counter, 0, "messages", 100);
        add(role, SampleKind::Counter, 1, "messages", 100 + rate);
        add(role, SampleKind::Meter, METER_BEGIN, CPUS_ALLOWED, 1);
        add(role, SampleKind::Meter, METER_BEGIN, "cpu_ns", 0);
        add(role, SampleKind::Meter, METER_END, "cpu_ns", WINDOW_NS / 100 * percent);
        add(role, SampleKind::Meter, METER_END, "peak_rss_bytes", 3_000_000);
        add(role, SampleKind::Setup, 0, "setup_ns", 1000 + u64::from(block));
    }
    TrialRecord {
        cell,
        block,
        position: u32::try_from(cell).unwrap(),
        turns: None,
        started_at: "2026-01-01T12:00:01Z".parse().unwrap(),
        seconds: 1.5,
        seed: 7,
        outcome: Outcome::Ok,
        notes: vec!["made up".to_owned()],
        samples,
        histograms: Vec::new(),
    }
}
