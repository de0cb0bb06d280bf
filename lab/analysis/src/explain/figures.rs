//! Values of two cells of a stored run per unit of work, by role. Pure functions over stored rows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::duels::{self, Duels};
use crate::metrics::{self, median};
use netdyno_lab_manifest::{Better, Metric, Source, Workload};
use netdyno_lab_store::probe::{Found, Probe, ProbeKind};
use netdyno_lab_store::samples::CPUS_ALLOWED;
use netdyno_lab_store::{Outcome, Run, SampleKind, TrialRecord};
use netdyno_stats::{Interval, Unit as Compared, confidence_sequence};

/// Name of the sum of all system calls.
pub const SYSTEM_CALLS: &str = "system calls";

/// The workload's unit of work, to which its CPU time refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkUnit {
    /// `msg`, `op`, `frame`.
    pub name: String,
    /// Role whose counter counts it.
    pub role: String,
    /// The counter.
    pub counter: String,
    /// Increments per unit.
    pub increments: u32,
}

impl WorkUnit {
    /// The unit of the workload's metric of CPU time, if it has one.
    pub fn new(workload: &Workload) -> Result<WorkUnit, String> {
        let unit = workload.metrics.iter().find_map(|metric| match &metric.from {
            Source::CpuPer { role, counter, increments, .. } => Some(WorkUnit {
                name: metric.label.rsplit_once('/').map_or("message", |(_, name)| name).to_owned(),
                role: role.clone(),
                counter: counter.clone(),
                increments: *increments,
            }),
            _ => None,
        });
        unit.ok_or_else(|| format!("{} has no metric of CPU time per unit of work (cpu_per)", workload.name))
    }

    /// Units per second.
    pub fn rate(&self) -> Metric {
        let WorkUnit { role, counter, increments, .. } = self.clone();
        metric(Source::Rate { role, counter, increments })
    }

    fn meter(&self, field: &str, of: &str) -> Metric {
        let WorkUnit { role, counter, increments, .. } = self.clone();
        let (field, of) = (field.to_owned(), Some(of.to_owned()));
        metric(Source::MeterPer { field, role, counter, increments, of })
    }

    fn wire(&self, field: &str) -> Metric {
        let WorkUnit { role, counter, increments, .. } = self.clone();
        metric(Source::WirePer { field: field.to_owned(), role, counter, increments })
    }
}

fn metric(from: Source) -> Metric {
    let (name, label, unit) = (String::new(), String::new(), String::new());
    let (primary, decides, column, headline) = (false, false, false, false);
    Metric { name, label, unit, better: Better::Lower, primary, decides, column, headline, from }
}

/// Two cells of a stored run, which are compared as second - first.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its workload.
    pub workload: &'a Workload,
    /// Indices of the cells.
    pub cells: [usize; 2],
}

/// Time of one role per unit of work, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// Wall-clock time per unit, times the CPUs that the role may use.
    pub whole: f64,
    /// CPU time.
    pub cpu: f64,
    /// CPU time in user mode; `None` if the kernel does not report the parts.
    pub user: Option<f64>,
}

impl Time {
    /// Time without a CPU.
    pub fn waiting(&self) -> f64 {
        self.whole - self.cpu
    }
}

/// A value of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Row"))]
pub struct FigureRow {
    /// The role; `None` for all roles together.
    pub role: Option<String>,
    /// Its name.
    pub name: String,
    /// `ns`, `B`, or `1` for a count; each per unit of work.
    pub unit: String,
    /// Value of the first side.
    pub a: Option<f64>,
    /// Value of the second side.
    pub b: Option<f64>,
    /// Source, or reason why there is no value.
    pub source: String,
}

impl FigureRow {
    /// Second - first.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

impl<'a> Pair<'a> {
    /// The successful trials that the values of a cell are based on.
    fn trials(&self, side: usize) -> Vec<&'a TrialRecord> {
        let counted = Duels::new(self.run, self.workload).counted(self.cells[side]);
        counted.into_iter().filter(|t| t.outcome == Outcome::Ok).collect()
    }

    fn figure(&self, metric: &Metric, side: usize) -> metrics::Figure {
        let params = &self.run.cells[self.cells[side]].params;
        metrics::Pool::new(&self.trials(side)).figure(metric, params)
    }

    /// Values of a metric on both sides.
    pub fn values(&self, metric: &Metric) -> [Option<f64>; 2] {
        [0, 1].map(|side| self.figure(metric, side).value)
    }

    /// Units per second on both sides.
    pub fn rates(&self, unit: &WorkUnit) -> [Option<f64>; 2] {
        self.values(&unit.rate())
    }

    /// Packets per unit on both sides.
    pub fn packets(&self, unit: &WorkUnit) -> [Option<f64>; 2] {
        self.values(&unit.wire("packets"))
    }

    /// Time of a role per unit on one side; `None` if not measured.
    pub fn time(&self, unit: &WorkUnit, role: &str, side: usize) -> Option<Time> {
        let value = |metric: &Metric| self.figure(metric, side).value;
        let cpus = self.trials(side).first()?.samples.iter().find_map(|s| {
            (s.kind == SampleKind::Meter && s.role == role && s.name == CPUS_ALLOWED).then_some(s.value)?
        })?;
        let cpu = value(&unit.meter("cpu_ns", role))?;
        // The parts are counted in clock ticks and need not add up to the exact total: only their shares are used.
        let parts = value(&unit.meter("cpu_user_ns", role)).zip(value(&unit.meter("cpu_system_ns", role)));
        let user = parts.filter(|(u, s)| u + s > 0.0).map(|(user, system)| cpu * user / (user + system));
        Some(Time { whole: cpus as f64 * 1e9 / value(&unit.rate())?, cpu, user })
    }

    /// Log ratio of a metric, second / first, from the sessions or blocks that have both, and the number of these.
    pub fn ratio(&self, metric: &Metric) -> Option<(Interval, Compared, usize)> {
        let values = |side: usize| duels::values(self.run, metric, self.cells[side], self.trials(side));
        let in_turns = self.trials(0).iter().any(|t| t.turns.is_some());
        let unit = if in_turns { Compared::Session } else { Compared::Block };
        let (a, b) = (values(0), values(1));
        let mut logs: Vec<f64> = duels::log_ratios(&b, &a).into_values().collect();
        if logs.is_empty() {
            // Neither is the other's baseline: they took part in different sessions of a round.
            let by_round = |all: duels::Values| {
                let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                all.into_iter().for_each(|((round, _), value)| rounds.entry(round).or_default().push(value));
                rounds.into_iter().filter_map(|(r, v)| Some((r, median(&v)?))).collect::<BTreeMap<_, _>>()
            };
            logs = duels::log_ratios(&by_round(b), &by_round(a)).into_values().collect();
        }
        let estimate = *logs.first().filter(|_| logs.iter().all(|log| log.is_finite()))?;
        let interval = confidence_sequence(&logs, unit, self.run.header.settings.alpha);
        Some((interval.unwrap_or(Interval::unbounded(estimate)), unit, logs.len()))
    }

    /// All values per unit, by role, then those of the network.
    pub fn rows(&self, unit: &WorkUnit, probes: &Probes) -> Vec<FigureRow> {
        let mut rows = Vec::new();
        for role in &self.workload.roles {
            let times = [0, 1].map(|side| self.time(unit, role, side));
            let each = |part: &dyn Fn(Time) -> Option<f64>| times.map(|time| time.and_then(part));
            let mut add = |name: &str, unit: &str, [a, b]: [Option<f64>; 2], source: &str| {
                let (role, name, unit) = (Some(role.clone()), name.to_owned(), unit.to_owned());
                rows.push(FigureRow { role, name, unit, a, b, source: source.to_owned() });
            };
            let ticks = "the kernel's clock ticks, as shares of the CPU time";
            let source = format!("counter {} of the {}", unit.counter, unit.role);
            add("time", "ns", each(&|t| Some(t.whole)), &source);
            add("on CPU", "ns", each(&|t| Some(t.cpu)), &self.source(&unit.meter("cpu_ns", role)));
            add("user", "ns", each(&|t| t.user), ticks);
            add("system", "ns", each(&|t| Some(t.cpu - t.user?)), ticks);
            add("waiting", "ns", each(&|t| Some(t.waiting())), "time - CPU time");
            let switches = unit.meter("context_switches", role);
            add("context switches", "1", self.values(&switches), &self.source(&switches));
            rows.extend(probes.rows(role));
        }
        for (field, name, shown) in [
            ("packets", "packets", "1"),
            ("udp_datagrams", "UDP datagrams", "1"),
            ("bytes", "wire bytes", "B"),
            ("udp_drops", "UDP drops", "1"),
        ] {
            let metric = unit.wire(field);
            let ([a, b], source) = (self.values(&metric), self.source(&metric));
            rows.push(FigureRow { role: None, name: name.to_owned(), unit: shown.to_owned(), a, b, source });
        }
        rows
    }

    fn source(&self, metric: &Metric) -> String {
        self.figure(metric, 0).source
    }
}

/// Results of the probes of both sides, by role and kind.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    /// First and second side.
    pub sides: [BTreeMap<(String, ProbeKind), Probe>; 2],
}

impl Probes {
    /// The probe of each side.
    pub fn both_sides(&self, role: &str, kind: ProbeKind) -> [Option<&Probe>; 2] {
        [0, 1].map(|side: usize| self.sides[side].get(&(role.to_owned(), kind)))
    }

    /// A count of the probes per unit of work, on each side.
    pub fn counts(
        &self,
        role: &str,
        kind: ProbeKind,
        count: impl Fn(&Found) -> Option<f64>,
    ) -> [Option<f64>; 2] {
        self.both_sides(role, kind).map(|probe| {
            let probe = probe.filter(|probe| probe.units > 0.0)?;
            Some(count(probe.found.as_ref().ok()?)? / probe.units)
        })
    }

    /// Number of calls of a system call per unit of work on both sides; `None` if not counted.
    pub fn calls(&self, role: &str, name: &str) -> [Option<f64>; 2] {
        self.counts(role, ProbeKind::Syscalls, |found| match found {
            Found::Syscalls { calls, .. } => Some(calls.get(name).map_or(0.0, |c| c.calls as f64)),
            _ => None,
        })
    }

    /// Names of the system calls of both sides.
    pub fn call_names(&self, role: &str) -> Vec<String> {
        let mut names = BTreeSet::new();
        for probe in self.both_sides(role, ProbeKind::Syscalls).into_iter().flatten() {
            if let Ok(Found::Syscalls { calls, .. }) = &probe.found {
                names.extend(calls.keys().cloned());
            }
        }
        names.into_iter().collect()
    }

    fn rows(&self, role: &str) -> Vec<FigureRow> {
        let mut rows = Vec::new();
        let mut add = |kind: ProbeKind, name: &str, unit: &str, [a, b]: [Option<f64>; 2]| {
            let source = self.both_sides(role, kind).into_iter().flatten().map(|p| match &p.found {
                Ok(_) => p.source.clone(),
                Err(why) => why.clone(),
            });
            let mut source: Vec<String> = source.collect();
            source.dedup();
            if !source.is_empty() {
                let (role, name, unit) = (Some(role.to_owned()), name.to_owned(), unit.to_owned());
                rows.push(FigureRow { role, name, unit, a, b, source: source.join("; ") });
            }
        };
        type OfKernel = fn(&netdyno_lab_store::probe::KernelCounts) -> u64;
        let kernel: [(&str, &str, OfKernel); 5] = [
            ("waiting for a CPU", "ns", |k| k.queued_ns),
            ("  voluntary", "1", |k| k.voluntary),
            ("  involuntary", "1", |k| k.involuntary),
            ("minor page faults", "1", |k| k.minor_faults),
            ("major page faults", "1", |k| k.major_faults),
        ];
        for (name, unit, of) in kernel {
            let counted = |found: &Found| match found {
                Found::Kernel(counts) => Some(of(counts) as f64),
                _ => None,
            };
            add(ProbeKind::Kernel, name, unit, self.counts(role, ProbeKind::Kernel, counted));
        }
        let all = |found: &Found| match found {
            Found::Syscalls { calls, .. } => Some(calls.values().map(|c| c.calls).sum::<u64>() as f64),
            _ => None,
        };
        add(ProbeKind::Syscalls, SYSTEM_CALLS, "1", self.counts(role, ProbeKind::Syscalls, all));
        for name in self.call_names(role) {
            let counts = self.calls(role, &name);
            if counts.iter().flatten().any(|count| *count >= 0.001) {
                add(ProbeKind::Syscalls, &format!("  {name}"), "1", counts);
            }
        }
        let allocated = |of: fn(&netdyno_lab_store::probe::Allocations) -> u64| {
            self.counts(role, ProbeKind::Allocations, move |found| match found {
                Found::Allocations(a) => Some(of(a) as f64),
                _ => None,
            })
        };
        add(ProbeKind::Allocations, "allocations", "1", allocated(|a| a.allocations));
        add(ProbeKind::Allocations, "allocated", "B", allocated(|a| a.bytes));
        rows
    }
}
