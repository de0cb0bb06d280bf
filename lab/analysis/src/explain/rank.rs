//! Breakdown of a difference into ranked causes. Pure functions over values and results of probes.
//!
//! If the roles work alternately, as in request and reply, the CPU times of both and the time in which neither works add up to
//! the whole. If they work concurrently, the CPU time and the waiting time of the busier role do. At an offered load, the
//! schedule determines the time, and CPU time is broken down.

use std::collections::BTreeSet;

use super::figures::{Pair, Probes, Time, WorkUnit};
use super::model::{CallDifference, Cause, FunctionDifference};
use super::profile::{Place, Places};
use netdyno_lab_manifest::Source;
use netdyno_lab_store::probe::{Found, ProbeKind};

/// Maximum sum of the CPU utilisations of roles that work alternately. Slight overlaps and clock errors are tolerated.
const IN_TURN_MOST: f64 = 1.05;
/// Number of functions and calls of a cause.
const NAMED: usize = 5;
/// Minimum difference in calls per unit of a named call.
const CALLS_LEAST: f64 = 0.01;
/// Minimum share of a difference in waiting of a named call.
const INSIDE_LEAST: f64 = 0.2;
/// Name of time without a CPU.
pub const WAITING: &str = "waiting";

/// The times that add up to the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// CPU times of all roles, and the time in which no role works.
    InTurn,
    /// CPU time and waiting time of this role.
    Busiest(String),
    /// CPU time of these roles.
    Cpu(Vec<String>),
}

impl Basis {
    /// Chooses the basis for a pair.
    pub fn new(pair: &Pair<'_>, unit: &WorkUnit) -> Basis {
        let workload = pair.workload;
        let compared = || workload.compared().cloned().collect::<Vec<_>>();
        let of = match workload.primary().map(|metric| &metric.from) {
            Some(Source::CpuPer { of, .. }) => Some(of),
            Some(Source::MeterPer { of, field, .. }) if field.starts_with("cpu_") => Some(of),
            _ => None,
        };
        if let Some(of) = of {
            return Basis::Cpu(of.clone().map_or_else(compared, |of| vec![of]));
        }
        let params = &pair.run.cells[pair.cells[0]].params;
        if workload.offered.as_ref().and_then(|o| params.number(&o.param)).is_some_and(|rate| rate > 0.0) {
            return Basis::Cpu(compared());
        }
        let busy = |role: &String, side| pair.time(unit, role, side).map_or(0.0, |t| t.cpu / t.whole);
        let share = |side| workload.roles.iter().map(|role| busy(role, side)).sum::<f64>();
        if share(0).max(share(1)) <= IN_TURN_MOST {
            return Basis::InTurn;
        }
        let utilisation = |role: &&String| busy(role, 0) + busy(role, 1);
        let busiest = workload.roles.iter().max_by(|a, b| utilisation(a).total_cmp(&utilisation(b)));
        Basis::Busiest(busiest.cloned().unwrap_or_default())
    }

    /// Description of the basis.
    pub fn about(&self) -> String {
        match self {
            Basis::InTurn => {
                "the roles work alternately: the CPU time of each, and the time without work".to_owned()
            }
            Basis::Busiest(role) => {
                format!("the roles work concurrently: the time of the {role}, which is the busier one")
            }
            Basis::Cpu(roles) => {
                let roles = roles.join(" and the ");
                format!("CPU time of the {roles}: the primary metric is CPU time, or the load is offered")
            }
        }
    }

    fn has(&self, role: &str) -> bool {
        match self {
            Basis::InTurn => true,
            Basis::Busiest(busiest) => busiest == role,
            Basis::Cpu(roles) => roles.iter().any(|r| r == role),
        }
    }
}

/// The causes, greatest first, and the difference that they are parts of, in ns per unit; `None` if not measured.
pub fn causes(pair: &Pair<'_>, unit: &WorkUnit, probes: &Probes, basis: &Basis) -> (Vec<Cause>, Option<f64>) {
    let mut on_path = Vec::new();
    let mut beside = Vec::new();
    // Wall-clock time per unit.
    let mut whole: Option<[f64; 2]> = None;
    let mut cpu = [0.0; 2];
    for role in &pair.workload.roles {
        let [Some(a), Some(b)] = [0, 1].map(|side| pair.time(unit, role, side)) else { continue };
        let times = [a, b];
        let mut of_role = on_cpu(role, times, probes);
        if matches!(basis, Basis::Busiest(_)) {
            of_role.push(waiting(Some(role), times.map(|t| t.waiting()), probes));
        }
        let counts = basis.has(role);
        if counts {
            (0..2).for_each(|side| cpu[side] += times[side].cpu);
            if matches!(basis, Basis::Busiest(_)) {
                whole = Some(times.map(|t| t.whole));
            }
        }
        if counts { on_path.extend(of_role) } else { beside.extend(of_role) }
    }
    let total = match basis {
        Basis::Cpu(_) if on_path.is_empty() => None,
        Basis::Cpu(_) => Some(cpu[1] - cpu[0]),
        Basis::Busiest(_) => whole.map(|[a, b]| b - a),
        Basis::InTurn => {
            let [Some(a), Some(b)] = pair.rates(unit) else { return (beside, None) };
            let times = [1e9 / a, 1e9 / b];
            on_path.push(waiting(None, [times[0] - cpu[0], times[1] - cpu[1]], probes));
            Some(times[1] - times[0])
        }
    };
    for cause in &mut on_path {
        cause.share = total.filter(|total| *total != 0.0).map(|total| cause.difference_ns() / total);
    }
    for list in [&mut on_path, &mut beside] {
        list.retain(|cause| cause.a_ns != 0.0 || cause.b_ns != 0.0);
        list.sort_by(|x, y| y.difference_ns().abs().total_cmp(&x.difference_ns().abs()));
    }
    on_path.extend(beside);
    (on_path, total)
}

/// CPU time of a role: by place if both sides were profiled, else by user and system mode.
fn on_cpu(role: &str, times: [Time; 2], probes: &Probes) -> Vec<Cause> {
    let places = probes.both_sides(role, ProbeKind::Profile).map(|probe| match probe.map(|p| &p.found) {
        Some(Ok(Found::Profile { stacks, .. })) => Some(Places::new(stacks)),
        _ => None,
    });
    let cause = |name: &str, [a_ns, b_ns]: [f64; 2]| Cause {
        role: Some(role.to_owned()),
        name: name.to_owned(),
        a_ns,
        b_ns,
        ..Cause::default()
    };
    let [Some(a), Some(b)] = places else {
        return match times.map(|t| t.user) {
            [Some(a), Some(b)] => {
                let mut system = cause("the kernel", [times[0].cpu - a, times[1].cpu - b]);
                system.calls = differing(role, probes);
                vec![cause(Place::User.name(), [a, b]), system]
            }
            _ => vec![cause("on CPU", times.map(|t| t.cpu))],
        };
    };
    let both = [&a, &b];
    let names: BTreeSet<&Place> = a.places.keys().chain(b.places.keys()).collect();
    let of_place = |place: &Place| {
        let counts = both.map(|p| p.places.get(place).copied().unwrap_or(0));
        let (ns, error) = scaled(counts, both, times);
        let mut cause = cause(place.name(), ns);
        cause.error_ns = Some(error);
        match place {
            Place::User => cause.functions = functions(both, times),
            Place::Call(name) => cause.calls = call(role, name, probes).into_iter().collect(),
            _ => {}
        }
        cause
    };
    names.into_iter().map(of_place).collect()
}

/// Converts samples of both sides to ns, with the standard error of the difference. Counts of samples are binomial.
fn scaled(counts: [u64; 2], of: [&Places; 2], times: [Time; 2]) -> ([f64; 2], f64) {
    let mut variance = 0.0;
    let ns = [0, 1].map(|side: usize| {
        let all = of[side].samples.max(1) as f64;
        let share = counts[side] as f64 / all;
        // A count of 0 is treated as half a sample.
        let at_least = share.max(0.5 / all).min(1.0);
        variance += times[side].cpu.powi(2) * at_least * (1.0 - at_least) / all;
        times[side].cpu * share
    });
    (ns, variance.sqrt())
}

fn functions(both: [&Places; 2], times: [Time; 2]) -> Vec<FunctionDifference> {
    let names: BTreeSet<&String> = both.iter().flat_map(|p| p.functions.keys()).collect();
    let difference = |name: &String| {
        let counts = both.map(|p| p.functions.get(name).copied().unwrap_or(0));
        let ([a_ns, b_ns], error) = scaled(counts, both, times);
        let is_significant = (b_ns - a_ns).abs() > 2.0 * error;
        is_significant.then(|| FunctionDifference { name: name.clone(), a_ns, b_ns })
    };
    greatest(names.into_iter().filter_map(difference), |f| f.b_ns - f.a_ns)
}

/// The entries with the greatest differences, in order.
fn greatest<T>(all: impl Iterator<Item = T>, difference: impl Fn(&T) -> f64) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by(|x, y| difference(y).abs().total_cmp(&difference(x).abs()));
    all.truncate(NAMED);
    all
}

/// A system call that was counted on both sides.
fn call(role: &str, name: &str, probes: &Probes) -> Option<CallDifference> {
    let [Some(a), Some(b)] = probes.calls(role, name) else { return None };
    let inside = probes.counts(role, ProbeKind::Syscalls, |found| match found {
        Found::Syscalls { calls, .. } => Some(calls.get(name).map_or(0.0, |c| c.inside_ns)),
        _ => None,
    });
    let [a_inside_ns, b_inside_ns] = inside.map(|ns| ns.unwrap_or(0.0));
    Some(CallDifference { name: name.to_owned(), a, b, a_inside_ns, b_inside_ns })
}

/// The system calls that were counted on both sides.
fn calls(role: &str, probes: &Probes) -> impl Iterator<Item = CallDifference> {
    probes.call_names(role).into_iter().filter_map(move |name| call(role, &name, probes))
}

/// The calls with the greatest difference in number.
fn differing(role: &str, probes: &Probes) -> Vec<CallDifference> {
    greatest(calls(role, probes).filter(|c| (c.b - c.a).abs() >= CALLS_LEAST), |c| c.b - c.a)
}

/// Time without a CPU, with the calls that account for the difference.
fn waiting(role: Option<&String>, [a_ns, b_ns]: [f64; 2], probes: &Probes) -> Cause {
    let difference = b_ns - a_ns;
    let inside = |c: &CallDifference| c.b_inside_ns - c.a_inside_ns;
    let is_part = |c: &CallDifference| {
        inside(c).signum() == difference.signum() && inside(c).abs() >= INSIDE_LEAST * difference.abs()
    };
    let all = role.into_iter().flat_map(|role| calls(role, probes));
    let calls = greatest(all.filter(is_part), inside);
    Cause { role: role.cloned(), name: WAITING.to_owned(), a_ns, b_ns, calls, ..Cause::default() }
}
