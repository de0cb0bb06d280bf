//! What a stored run says of two cells by the unit of work, role by role. Pure functions over the store's rows.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duels::Duels;
use crate::metrics::{self, median};
use netdyno_lab_manifest::{Better, Metric, Source, Workload};
use netdyno_lab_store::probe::{Found, Probe, ProbeKind};
use netdyno_lab_store::samples::CPUS_ALLOWED;
use netdyno_lab_store::{Outcome, Run, SampleKind, TrialRecord};
use netdyno_stats::{Interval, Unit as Compared, confidence_sequence};

/// The name of the sum of all calls.
pub const SYSTEM_CALLS: &str = "system calls";

/// The workload's own unit of work: what its CPU time is told by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// `msg`, `op`, `frame`.
    pub name: String,
    /// Whose counter counts it.
    pub role: String,
    /// Which counter.
    pub counter: String,
    /// How many increments are one.
    pub increments: u32,
}

impl Unit {
    /// That of a workload: its metrics tell CPU time by it.
    ///
    /// # Errors
    /// In words: it has no such metric.
    pub fn of(workload: &Workload) -> Result<Unit, String> {
        let unit = workload.metrics.iter().find_map(|metric| match &metric.from {
            Source::CpuPer { role, counter, increments, .. } => Some(Unit {
                name: metric.label.rsplit_once('/').map_or("message", |(_, name)| name).to_owned(),
                role: role.clone(),
                counter: counter.clone(),
                increments: *increments,
            }),
            _ => None,
        });
        unit.ok_or_else(|| format!("{} has no metric of CPU time by a unit of work (cpu_per)", workload.name))
    }

    /// Units a second.
    #[must_use]
    pub fn rate(&self) -> Metric {
        let Unit { role, counter, increments, .. } = self.clone();
        metric(Source::Rate { role, counter, increments })
    }

    fn meter(&self, field: &str, of: &str) -> Metric {
        let Unit { role, counter, increments, .. } = self.clone();
        metric(Source::MeterPer {
            field: field.to_owned(),
            role,
            counter,
            increments,
            of: Some(of.to_owned()),
        })
    }

    fn wire(&self, field: &str) -> Metric {
        let Unit { role, counter, increments, .. } = self.clone();
        metric(Source::WirePer { field: field.to_owned(), role, counter, increments })
    }
}

fn metric(from: Source) -> Metric {
    let (name, label, unit) = (String::new(), String::new(), String::new());
    let (primary, decides, column, headline) = (false, false, false, false);
    Metric { name, label, unit, better: Better::Lower, primary, decides, column, headline, from }
}

/// A pair of cells of a stored run: from the first to the second.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its workload.
    pub workload: &'a Workload,
    /// Indices of the cells.
    pub cells: [usize; 2],
}

/// Time of one role by the unit of work, in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Time {
    /// From one unit to the next, on each CPU that the role may use.
    pub whole: f64,
    /// On a CPU.
    pub cpu: f64,
    /// Of it in its own code; none where the kernel does not tell the parts.
    pub user: Option<f64>,
}

impl Time {
    /// On no CPU.
    #[must_use]
    pub fn waiting(&self) -> f64 {
        self.whole - self.cpu
    }
}

/// One figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Whose; of all roles together where there is none.
    pub role: Option<String>,
    /// Its name.
    pub name: String,
    /// `ns`, `B`, or `1` for a count; each by the unit of work.
    pub unit: String,
    /// Of the first.
    pub a: Option<f64>,
    /// Of the second.
    pub b: Option<f64>,
    /// Who says so, or why there is none.
    pub source: String,
}

impl Row {
    /// Second less first.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        Some(self.b? - self.a?)
    }
}

impl<'a> Pair<'a> {
    /// The good trials that a cell's figures are of.
    fn trials(&self, side: usize) -> Vec<&'a TrialRecord> {
        let counted = Duels::of(self.run, self.workload).counted(self.cells[side]);
        counted.into_iter().filter(|t| t.outcome == Outcome::Ok).collect()
    }

    fn figure(&self, metric: &Metric, side: usize) -> metrics::Figure {
        let params = &self.run.cells[self.cells[side]].params;
        metrics::Pool::of(&self.trials(side)).figure(metric, params)
    }

    /// A metric of the first and the second.
    #[must_use]
    pub fn values(&self, metric: &Metric) -> [Option<f64>; 2] {
        [0, 1].map(|side| self.figure(metric, side).value)
    }

    /// Units a second of the first and the second.
    #[must_use]
    pub fn rates(&self, unit: &Unit) -> [Option<f64>; 2] {
        self.values(&unit.rate())
    }

    /// Packets by the unit, of the first and the second.
    #[must_use]
    pub fn packets(&self, unit: &Unit) -> [Option<f64>; 2] {
        self.values(&unit.wire("packets"))
    }

    /// A role's time by the unit, of one side; none where it was not measured.
    #[must_use]
    pub fn time(&self, unit: &Unit, role: &str, side: usize) -> Option<Time> {
        let value = |metric: &Metric| self.figure(metric, side).value;
        let cpus = self.trials(side).first()?.samples.iter().find_map(|s| {
            (s.kind == SampleKind::Meter && s.role == role && s.name == CPUS_ALLOWED).then_some(s.value)?
        })?;
        let cpu = value(&unit.meter("cpu_ns", role))?;
        // The parts are told by clock ticks and need not add up: their shares are taken, and the whole is exact.
        let parts = value(&unit.meter("cpu_user_ns", role)).zip(value(&unit.meter("cpu_system_ns", role)));
        let user = parts.filter(|(u, s)| u + s > 0.0).map(|(user, system)| cpu * user / (user + system));
        Some(Time { whole: cpus as f64 * 1e9 / value(&unit.rate())?, cpu, user })
    }

    /// The second by the first in one metric, as the log of the ratio, within sessions or blocks that had both; and of how many.
    #[must_use]
    pub fn ratio(&self, metric: &Metric) -> Option<(Interval, Compared, usize)> {
        let of = |side: usize| -> BTreeMap<(u32, u32), f64> {
            let params = &self.run.cells[self.cells[side]].params;
            let value = |t: &&TrialRecord| {
                let place = if t.turns.is_some() { t.position } else { 0 };
                Some(((t.block, place), metrics::of_trial(metric, params, t).value?))
            };
            self.trials(side).iter().filter_map(value).collect()
        };
        let in_turns = self.trials(0).iter().any(|t| t.turns.is_some());
        let compared = if in_turns { Compared::Session } else { Compared::Block };
        let (a, b) = (of(0), of(1));
        let mut logs: Vec<f64> = b.iter().filter_map(|(at, b)| Some((b / a.get(at)?).ln())).collect();
        if logs.is_empty() {
            // Neither is the other's baseline: they were in different sessions of the same round.
            let by_round = |all: &BTreeMap<(u32, u32), f64>| {
                let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                all.iter().for_each(|((round, _), value)| rounds.entry(*round).or_default().push(*value));
                rounds.into_iter().filter_map(|(r, v)| Some((r, median(&v)?))).collect::<BTreeMap<_, _>>()
            };
            let (a, b) = (by_round(&a), by_round(&b));
            logs = b.iter().filter_map(|(at, b)| Some((b / a.get(at)?).ln())).collect();
        }
        let alpha = self.run.header.settings.alpha;
        let estimate = *logs.first().filter(|_| logs.iter().all(|log| log.is_finite()))?;
        let unbounded = Interval { estimate, low: f64::NEG_INFINITY, high: f64::INFINITY };
        Some((confidence_sequence(&logs, compared, alpha).unwrap_or(unbounded), compared, logs.len()))
    }

    /// Every figure by the unit, role by role, then of the network.
    #[must_use]
    pub fn rows(&self, unit: &Unit, probes: &Probes) -> Vec<Row> {
        let mut rows = Vec::new();
        for role in &self.workload.roles {
            let times = [0, 1].map(|side| self.time(unit, role, side));
            let each = |of: &dyn Fn(Time) -> Option<f64>| times.map(|time| time.and_then(of));
            let mut add = |name: &str, unit: &str, [a, b]: [Option<f64>; 2], source: &str| {
                let (role, name, unit) = (Some(role.clone()), name.to_owned(), unit.to_owned());
                rows.push(Row { role, name, unit, a, b, source: source.to_owned() });
            };
            let ticks = "the kernel's clock ticks, as shares of the CPU time";
            add(
                "time",
                "ns",
                each(&|t| Some(t.whole)),
                &format!("counter {} of the {}", unit.counter, unit.role),
            );
            add("on CPU", "ns", each(&|t| Some(t.cpu)), &self.source(&unit.meter("cpu_ns", role)));
            add("user", "ns", each(&|t| t.user), ticks);
            add("system", "ns", each(&|t| Some(t.cpu - t.user?)), ticks);
            add("waiting", "ns", each(&|t| Some(t.waiting())), "time less CPU time");
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
            rows.push(Row { role: None, name: name.to_owned(), unit: shown.to_owned(), a, b, source });
        }
        rows
    }

    fn source(&self, metric: &Metric) -> String {
        self.figure(metric, 0).source
    }
}

/// What was found by looking, of both sides, by role and kind.
#[derive(Debug, Clone, Default)]
pub struct Probes {
    /// Of the first and of the second.
    pub sides: [BTreeMap<(String, ProbeKind), Probe>; 2],
}

impl Probes {
    /// A probe of each side.
    #[must_use]
    pub fn of(&self, role: &str, kind: ProbeKind) -> [Option<&Probe>; 2] {
        [0, 1].map(|side: usize| self.sides[side].get(&(role.to_owned(), kind)))
    }

    /// A count of what was found, by the unit of work, on each side.
    #[must_use]
    pub fn counts(
        &self,
        role: &str,
        kind: ProbeKind,
        of: impl Fn(&Found) -> Option<f64>,
    ) -> [Option<f64>; 2] {
        self.of(role, kind).map(|probe| {
            let probe = probe.filter(|probe| probe.units > 0.0)?;
            Some(of(probe.found.as_ref().ok()?)? / probe.units)
        })
    }

    /// Calls by name on both sides, by the unit of work: none where they were not counted.
    #[must_use]
    pub fn calls(&self, role: &str, name: &str) -> [Option<f64>; 2] {
        self.counts(role, ProbeKind::Syscalls, |found| match found {
            Found::Syscalls { calls, .. } => Some(calls.get(name).map_or(0.0, |c| c.calls as f64)),
            _ => None,
        })
    }

    /// Names of the system calls that either side makes.
    #[must_use]
    pub fn call_names(&self, role: &str) -> Vec<String> {
        let mut names = BTreeSet::new();
        for probe in self.of(role, ProbeKind::Syscalls).into_iter().flatten() {
            if let Ok(Found::Syscalls { calls, .. }) = &probe.found {
                names.extend(calls.keys().cloned());
            }
        }
        names.into_iter().collect()
    }

    fn rows(&self, role: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |kind: ProbeKind, name: &str, unit: &str, [a, b]: [Option<f64>; 2]| {
            let source = self.of(role, kind).into_iter().flatten().map(|p| match &p.found {
                Ok(_) => p.source.clone(),
                Err(why) => why.clone(),
            });
            let mut source: Vec<String> = source.collect();
            source.dedup();
            if !source.is_empty() {
                let (role, name, unit) = (Some(role.to_owned()), name.to_owned(), unit.to_owned());
                rows.push(Row { role, name, unit, a, b, source: source.join("; ") });
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
