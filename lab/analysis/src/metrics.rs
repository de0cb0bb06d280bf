//! Values of a workload's metrics, computed from stored samples.
//!
//! All printed values are computed here and in [`crate::verdicts`], from the store alone.

mod pool;

use std::collections::BTreeMap;

pub use pool::{Curve, Pool};

use crate::distinct;
use crate::window::{Window, sample_at, series};
use netdyno_lab_manifest::{Metric, Moment, Params, Source};
use netdyno_lab_store::samples::{
    CPUS_ALLOWED, METER_BEGIN, METER_CONNECTED, METER_VERIFIED, WIRE_PREFIX, WIRE_SHARED,
};
use netdyno_lab_store::{Sample, SampleKind, TrialRecord};
use netdyno_stats::quantile;

/// Wire fields that cover one side only if the roles do not share the wire. Other fields cover the whole traffic.
const ONE_SIDED: [&str; 5] = ["ip_packets", "udp_datagrams", "udp_drops", "udp_errors", "interface_drops"];

/// A value, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Value in the unit of the metric.
    pub value: Option<f64>,
    /// Source of the value, or the reason why there is none.
    pub source: String,
    /// Parts of the value, by role.
    pub per_role: BTreeMap<String, f64>,
}

impl Figure {
    fn none(reason: impl Into<String>) -> Figure {
        Figure { value: None, source: reason.into(), per_role: BTreeMap::new() }
    }

    fn some(value: f64, source: impl Into<String>) -> Figure {
        Figure { value: Some(value), source: source.into(), per_role: BTreeMap::new() }
    }

    /// Adds the part of a role.
    fn add(&mut self, role: String, part: f64) {
        self.value = self.value.map(|sum| sum + part);
        self.per_role.insert(role, part);
    }
}

impl From<Result<Figure, String>> for Figure {
    fn from(result: Result<Figure, String>) -> Figure {
        result.unwrap_or_else(Figure::none)
    }
}

/// Value of a metric in one trial of a cell with these parameters.
pub fn of_trial(metric: &Metric, params: &Params, trial: &TrialRecord) -> Figure {
    let samples = trial.samples.as_slice();
    let window = Window::new(samples, trial.turns.as_ref());
    match &metric.from {
        Source::Rate { role, counter, increments } => rate(&window, role, counter, *increments),
        Source::Count { role, counter } => match window.counter_delta(role, counter) {
            Some((n, _)) => Figure::some(n, format!("counter {counter} of the {role}")),
            None => unread(role, counter),
        },
        Source::SetupQuantile { role, quantile } => setup_quantile(&[trial], role, *quantile),
        Source::CpuPer { role, counter, increments, of } => {
            let per_ns = units_per_ns(&window, role, counter, *increments);
            per_ns.and_then(|per_ns| meter_per(samples, &window, "cpu_ns", of.as_deref(), per_ns)).into()
        }
        Source::MeterPer { field, role, counter, increments, of } => {
            let per_ns = units_per_ns(&window, role, counter, *increments);
            per_ns.and_then(|per_ns| meter_per(samples, &window, field, of.as_deref(), per_ns)).into()
        }
        Source::Meter { field, of, at } => meter(samples, field, of.as_deref(), *at),
        Source::MeterGrowth { field, of, each, least } => {
            let count = each.iter().map(|factors| params.product(factors)).fold(0, u64::saturating_add);
            meter_growth(samples, field, of, count, *least)
        }
        Source::Wire { field } => {
            wire_delta(samples, &window, field).map(|(n, _, source)| Figure::some(n, source)).into()
        }
        Source::WirePer { field, role, counter, increments } => {
            let ratio = |per_ns: f64| {
                let (n, ns, source) = wire_delta(samples, &window, field)?;
                Ok(Figure::some(n / ns / per_ns, source))
            };
            units_per_ns(&window, role, counter, *increments).and_then(ratio).into()
        }
        Source::HistogramQuantile { role, histogram, quantile } => {
            pool::of_trial_quantile(trial, role, histogram, *quantile)
        }
    }
}

/// Rate in the uninterrupted stretch of a session, for a metric that is a rate.
pub fn undisturbed(metric: &Metric, trial: &TrialRecord) -> Option<f64> {
    let Source::Rate { role, counter, increments } = &metric.from else { return None };
    let window = Window::undisturbed(&trial.samples, trial.turns.as_ref()?)?;
    rate(&window, role, counter, *increments).value
}

/// CPU utilisation of a role over the window, relative to the CPUs that it may use: 1 is saturated.
pub fn cpu_share(trial: &TrialRecord, role: &str) -> Option<f64> {
    let (used, over) = Window::new(&trial.samples, trial.turns.as_ref()).meter_delta(role, "cpu_ns").ok()?;
    let cpus =
        sample_at(&series(&trial.samples, SampleKind::Meter, role, CPUS_ALLOWED), METER_BEGIN)?.value?;
    (cpus > 0 && over > 0.0).then(|| used / over / cpus as f64)
}

/// Value of a counter at the latest mark, since the role connected.
pub fn counter_total(samples: &[Sample], role: &str, counter: &str) -> Option<u64> {
    series(samples, SampleKind::Counter, role, counter).into_iter().max_by_key(|s| s.at_ns)?.value
}

/// Roles with a meter sample of this name, in stored order.
fn roles_with(samples: &[Sample], name: &str) -> Vec<String> {
    let named = samples.iter().filter(|s| s.kind == SampleKind::Meter && s.name == name);
    distinct(named.map(|s| s.role.clone()))
}

fn unread(role: &str, counter: &str) -> Figure {
    Figure::none(format!("the {role} reported counter {counter} fewer than twice"))
}

fn rate(window: &Window<'_>, role: &str, counter: &str, increments: u32) -> Figure {
    match window.counter_delta(role, counter) {
        Some((n, ns)) if n > 0.0 => {
            let each = if increments == 1 { String::new() } else { format!(" in units of {increments}") };
            let source = format!("counter {counter} of the {role}{each}, by its own clock");
            Figure::some(n * 1e9 / ns / f64::from(increments), source)
        }
        Some((_, ns)) => Figure::none(stalled(role, counter, ns)),
        None => unread(role, counter),
    }
}

/// Reason and remedy for a counter that did not change. A stall may be longer than a short window.
fn stalled(role: &str, counter: &str, window_ns: f64) -> String {
    let window = window_ns / 1e9;
    let longer = (4.0 * window).ceil().max(3.0);
    format!(
        "counter {counter} of the {role} did not change in the window of {window:.1} s: the {role} stalled, or needs more time; \
         measure longer to distinguish the two: --set seconds={longer}"
    )
}

fn setup_quantile(trials: &[&TrialRecord], role: &str, q: f64) -> Figure {
    let values: Vec<u64> = trials
        .iter()
        .flat_map(|t| series(&t.samples, SampleKind::Setup, role, "setup_ns"))
        .filter_map(|s| s.value)
        .collect();
    match quantile(&values, q) {
        Some(v) => Figure::some(v as f64, format!("{} setups, by the {role}", values.len())),
        None => Figure::none(format!("the {role} reported no setup times")),
    }
}

/// Mark of the meter's reading at a moment.
pub fn mark_of(moment: Moment) -> u64 {
    match moment {
        Moment::Connected => METER_CONNECTED,
        Moment::Verified => METER_VERIFIED,
    }
}

/// A reading of a field of the meter: for one role, or for each role and summed. The last reading unless a moment is given.
fn meter(samples: &[Sample], field: &str, of: Option<&str>, moment: Option<Moment>) -> Figure {
    let mut figure = Figure::some(0.0, String::new());
    let mut roles = roles_with(samples, field);
    roles.retain(|role| of.is_none_or(|of| of == role));
    if roles.is_empty() {
        return Figure::none(format!("the meter does not provide {field}"));
    }
    for role in roles {
        let mut readings = series(samples, SampleKind::Meter, &role, field);
        readings.retain(|s| match moment {
            Some(moment) => s.mark == mark_of(moment),
            // These precede the window, although their marks are greater.
            None => ![METER_CONNECTED, METER_VERIFIED].contains(&s.mark),
        });
        let Some(last) = readings.iter().filter(|s| s.value.is_some()).max_by_key(|s| s.mark) else {
            let unread = || format!("the meter did not read {field} of the {role} at that time");
            return Figure::none(readings.last().map_or_else(unread, |s| s.source.clone()));
        };
        figure.add(role, last.value.unwrap_or_default() as f64);
        figure.source.clone_from(&last.source);
    }
    figure
}

/// Growth of a field of a role between the two moments, per unit.
fn meter_growth(samples: &[Sample], field: &str, of: &str, count: u64, least: u64) -> Figure {
    if count < least {
        let reason = format!("the growth by {count} cannot be measured: at least {least} are needed");
        return Figure::none(reason);
    }
    let at = |moment| meter(samples, field, Some(of), Some(moment));
    let (before, after) = (at(Moment::Connected), at(Moment::Verified));
    match (before.value, after.value) {
        (Some(from), Some(to)) if to > from => {
            Figure::some((to - from) / count as f64, format!("{}, grown by {count}", after.source))
        }
        (Some(_), Some(_)) => Figure::none(format!("{field} of the {of} did not grow")),
        (None, _) => before,
        (_, None) => after,
    }
}

/// Units of work per nanosecond in the window. A unit is a number of increments of a role's counter.
fn units_per_ns(window: &Window<'_>, role: &str, counter: &str, increments: u32) -> Result<f64, String> {
    match window.counter_delta(role, counter) {
        Some((n, ns)) if n > 0.0 => Ok(n / ns / f64::from(increments)),
        _ => Err(format!("counter {counter} of the {role} did not change")),
    }
}

/// A field of the meter per unit of work, for one role or for all. Both are divided as rates, because the windows of meter
/// and counter differ slightly.
fn meter_per(
    samples: &[Sample],
    window: &Window<'_>,
    field: &str,
    of: Option<&str>,
    per_ns: f64,
) -> Result<Figure, String> {
    let mut figure = Figure::some(0.0, String::new());
    for role in roles_with(samples, field).into_iter().filter(|r| of.is_none_or(|of| of == r)) {
        let (used, used_ns) = window.meter_delta(&role, field)?;
        figure.source = first_source(samples, &role, field);
        figure.add(role, used / used_ns / per_ns);
    }
    if figure.per_role.is_empty() { Err(format!("the meter does not provide {field}")) } else { Ok(figure) }
}

fn first_source(samples: &[Sample], role: &str, field: &str) -> String {
    series(samples, SampleKind::Meter, role, field).first().map_or(String::new(), |s| s.source.clone())
}

/// Increase of a counter of the wire, length of the window in ns, and source. The whole traffic is read by the first role that
/// can; one-sided counters are summed.
fn wire_delta(samples: &[Sample], window: &Window<'_>, field: &str) -> Result<(f64, f64, String), String> {
    let name = format!("{WIRE_PREFIX}{field}");
    let roles = roles_with(samples, &name);
    let is_one_sided = |role: &String| {
        sample_at(&series(samples, SampleKind::Meter, role, WIRE_SHARED), METER_BEGIN)
            .is_some_and(|s| s.value == Some(0))
    };
    let add = ONE_SIDED.contains(&field) && roles.iter().any(is_one_sided);
    let mut found: Result<(f64, f64, String), String> = Err(format!("the meter does not provide {name}"));
    for role in roles {
        found = match (window.meter_delta(&role, &name), found) {
            (Ok((n, ns)), Ok((sum, _, first))) => Ok((sum + n, ns, first)),
            (Ok((n, ns)), Err(_)) => Ok((n, ns, first_source(samples, &role, &name))),
            (Err(reason), _) => Err(reason),
        };
        if found.is_ok() && !add {
            break;
        }
    }
    found
}

fn sum_of(figures: &[Figure]) -> Figure {
    let values: Option<Vec<f64>> = figures.iter().map(|f| f.value).collect();
    match (values, figures.first()) {
        (Some(values), Some(first)) => {
            Figure::some(values.iter().sum(), format!("sum of {} trials; {}", values.len(), first.source))
        }
        _ => figures.iter().find(|f| f.value.is_none()).cloned().unwrap_or_else(|| Figure::none("no trial")),
    }
}

fn median_of(figures: &[Figure]) -> Figure {
    let values: Vec<f64> = figures.iter().filter_map(|f| f.value).collect();
    let Some(value) = median(&values) else {
        return figures.first().cloned().unwrap_or_else(|| Figure::none("no trial"));
    };
    let part = |role: &String| {
        let parts: Vec<f64> = figures.iter().filter_map(|f| f.per_role.get(role).copied()).collect();
        Some((role.clone(), median(&parts)?))
    };
    let per_role = figures.iter().flat_map(|f| f.per_role.keys()).filter_map(part).collect();
    let source = figures.iter().find(|f| f.value.is_some()).map_or("", |f| f.source.as_str());
    let source = match values.len() {
        1 => source.to_owned(),
        n => format!("median of {n} trials; {source}"),
    };
    Figure { value: Some(value), source, per_role }
}

/// The median; for an even number of values, the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Datagrams dropped at full socket buffers in the window; `None` if not measured.
pub fn udp_drops(trial: &TrialRecord) -> Option<f64> {
    let window = Window::new(&trial.samples, trial.turns.as_ref());
    wire_delta(&trial.samples, &window, "udp_drops").ok().map(|(n, _, _)| n)
}

/// Bytes that the trial's network has carried up to its last reading; `None` if not measured.
pub fn wire_total(samples: &[Sample]) -> Option<u64> {
    let name = format!("{WIRE_PREFIX}bytes");
    let readings = samples.iter().filter(|s| s.kind == SampleKind::Meter && s.name == name);
    readings.filter_map(|s| s.value).max()
}

#[cfg(test)]
mod tests;
