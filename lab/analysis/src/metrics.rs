//! From stored samples to the figures of a workload's metrics.
//!
//! All that is printed of a run is computed here and in [`crate::verdicts`], from the store's rows alone.

mod pool;

use std::collections::BTreeMap;

pub use pool::{Curve, Pool};

use crate::window::{Window, at, series};
use netdyno_lab_manifest::{Metric, Moment, Params, Source};
use netdyno_lab_store::samples::{
    CPUS_ALLOWED, METER_BEGIN, METER_CONNECTED, METER_VERIFIED, WIRE_PREFIX, WIRE_SHARED,
};
use netdyno_lab_store::{Sample, SampleKind, TrialRecord};
use netdyno_stats::quantile;

/// Fields of the wire that are one side's alone where the roles do not share it; the others are the whole traffic.
const ONE_SIDED: [&str; 5] = ["ip_packets", "udp_datagrams", "udp_drops", "udp_errors", "interface_drops"];

/// A figure, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The value in the metric's unit.
    pub value: Option<f64>,
    /// Who says so, or why there is none.
    pub source: String,
    /// The roles' parts, where the figure has any.
    pub per_role: BTreeMap<String, f64>,
}

impl Figure {
    fn none(why: impl Into<String>) -> Figure {
        Figure { value: None, source: why.into(), per_role: BTreeMap::new() }
    }

    fn some(value: f64, source: impl Into<String>) -> Figure {
        Figure { value: Some(value), source: source.into(), per_role: BTreeMap::new() }
    }
}

/// A metric of one trial, of a cell with these parameters.
#[must_use]
pub fn of_trial(metric: &Metric, params: &Params, trial: &TrialRecord) -> Figure {
    let samples = trial.samples.as_slice();
    let window = Window::of(samples, trial.turns.as_ref());
    match &metric.from {
        Source::Rate { role, counter, increments } => rate(&window, role, counter, *increments),
        Source::Count { role, counter } => count(&window, role, counter),
        Source::SetupQuantile { role, quantile } => setup_quantile(&[trial], role, *quantile),
        Source::CpuPer { role, counter, increments, of } => {
            let per = Per { role, counter, increments: *increments };
            meter_per(samples, &window, "cpu_ns", of.as_deref(), &per)
        }
        Source::MeterPer { field, role, counter, increments, of } => {
            let per = Per { role, counter, increments: *increments };
            meter_per(samples, &window, field, of.as_deref(), &per)
        }
        Source::Meter { field, of, at } => meter(samples, field, of.as_deref(), *at),
        Source::MeterGrowth { field, of, each, least } => {
            let count = each.iter().map(|factors| params.product(factors)).fold(0, u64::saturating_add);
            meter_growth(samples, field, of, count, *least)
        }
        Source::Wire { field } => wire(samples, &window, field),
        Source::WirePer { field, role, counter, increments } => {
            wire_per(samples, &window, field, &Per { role, counter, increments: *increments })
        }
        Source::HistogramQuantile { role, histogram, quantile } => {
            pool::of_trial_quantile(trial, role, histogram, *quantile)
        }
    }
}

/// The rate of a session's undisturbed stretch, of a metric that is a rate.
#[must_use]
pub fn undisturbed(metric: &Metric, trial: &TrialRecord) -> Option<f64> {
    let Source::Rate { role, counter, increments } = &metric.from else { return None };
    let window = Window::undisturbed(&trial.samples, trial.turns.as_ref()?)?;
    rate(&window, role, counter, *increments).value
}

/// CPU time of a role over the window, as a share of the CPUs it may use: 1 is saturated.
#[must_use]
pub fn cpu_share(trial: &TrialRecord, role: &str) -> Option<f64> {
    let (used, over) = Window::of(&trial.samples, trial.turns.as_ref()).meter_delta(role, "cpu_ns").ok()?;
    let cpus = at(&series(&trial.samples, SampleKind::Meter, role, CPUS_ALLOWED), METER_BEGIN)?.value?;
    (cpus > 0 && over > 0.0).then(|| used / over / cpus as f64)
}

/// A counter at the latest mark, since the role connected.
#[must_use]
pub fn counter_total(samples: &[Sample], role: &str, counter: &str) -> Option<u64> {
    series(samples, SampleKind::Counter, role, counter).into_iter().max_by_key(|s| s.at_ns)?.value
}

/// The roles of a trial that have a sample of this kind and name, in the order in which they were stored.
fn roles_with(samples: &[Sample], name: &str) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for s in samples.iter().filter(|s| s.kind == SampleKind::Meter && s.name == name) {
        if !roles.contains(&s.role) {
            roles.push(s.role.clone());
        }
    }
    roles
}

fn rate(window: &Window<'_>, role: &str, counter: &str, increments: u32) -> Figure {
    match window.counter_delta(role, counter) {
        Some((n, ns)) if n > 0.0 => {
            let each = if increments == 1 { String::new() } else { format!(" in units of {increments}") };
            let source = format!("counter {counter} of the {role}{each}, by its own clock");
            Figure::some(n * 1e9 / ns / f64::from(increments), source)
        }
        Some((_, ns)) => Figure::none(stalled(role, counter, ns)),
        None => Figure::none(format!("the {role} gave no two readings of counter {counter}")),
    }
}

/// Why there is no rate, and what to do: a stall may be longer than a short window, and says nothing of a longer one.
fn stalled(role: &str, counter: &str, window_ns: f64) -> String {
    let window = window_ns / 1e9;
    let longer = (4.0 * window).ceil().max(3.0);
    format!(
        "counter {counter} of the {role} did not move in the window of {window:.1} s: it stalled, or is slower than that; \
         a longer window shows which: --set seconds={longer}"
    )
}

fn count(window: &Window<'_>, role: &str, counter: &str) -> Figure {
    match window.counter_delta(role, counter) {
        Some((n, _)) => Figure::some(n, format!("counter {counter} of the {role}")),
        None => Figure::none(format!("the {role} gave no two readings of counter {counter}")),
    }
}

fn setup_quantile(trials: &[&TrialRecord], role: &str, q: f64) -> Figure {
    let values: Vec<u64> = trials
        .iter()
        .flat_map(|t| series(&t.samples, SampleKind::Setup, role, "setup_ns"))
        .filter_map(|s| s.value)
        .collect();
    match quantile(&values, q) {
        Some(v) => Figure::some(v as f64, format!("{} setups, by the {role}", values.len())),
        None => Figure::none(format!("the {role} gave no setup times")),
    }
}

/// The mark of the meter's reading at a moment.
#[must_use]
pub fn mark_of(moment: Moment) -> u64 {
    match moment {
        Moment::Connected => METER_CONNECTED,
        Moment::Verified => METER_VERIFIED,
    }
}

/// A reading of a meter's field, the last one unless a moment is named: each role and summed, or one role's.
fn meter(samples: &[Sample], field: &str, of: Option<&str>, moment: Option<Moment>) -> Figure {
    let mut sum = 0.0;
    let mut source = String::new();
    let mut per_role = BTreeMap::new();
    let mut roles = roles_with(samples, field);
    roles.retain(|role| of.is_none_or(|of| of == role));
    if roles.is_empty() {
        return Figure::none(format!("the meter has no {field}"));
    }
    for role in roles {
        let mut readings = series(samples, SampleKind::Meter, &role, field);
        readings.retain(|s| match moment {
            Some(moment) => s.mark == mark_of(moment),
            // These were read before the window, though their marks are above its own.
            None => ![METER_CONNECTED, METER_VERIFIED].contains(&s.mark),
        });
        let Some(last) = readings.iter().filter(|s| s.value.is_some()).max_by_key(|s| s.mark) else {
            let unread = || format!("the meter did not read {field} of the {role} at that moment");
            return Figure::none(readings.last().map_or_else(unread, |s| s.source.clone()));
        };
        let value = last.value.unwrap_or_default() as f64;
        sum += value;
        source.clone_from(&last.source);
        per_role.insert(role, value);
    }
    Figure { value: Some(sum), source, per_role }
}

/// The growth of a role's field from one moment to the other, for each of so many things.
fn meter_growth(samples: &[Sample], field: &str, of: &str, count: u64, least: u64) -> Figure {
    if count < least {
        return Figure::none(format!("of {count} nothing can be told: it takes at least {least}"));
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

/// A role's counter, and how many of its increments are one.
struct Per<'a> {
    role: &'a str,
    counter: &'a str,
    increments: u32,
}

impl Per<'_> {
    /// Their number in the window a nanosecond, or why there is none.
    fn rate(&self, window: &Window<'_>) -> Result<f64, Figure> {
        let Self { role, counter, increments } = self;
        match window.counter_delta(role, counter) {
            Some((n, ns)) if n > 0.0 => Ok(n / ns / f64::from(*increments)),
            _ => Err(Figure::none(format!("counter {counter} of the {role} did not move"))),
        }
    }
}

/// A meter's field over an increment of a counter, of all roles or of one. Both as rates: the meter's window and the
/// counter's begin and end a little apart.
fn meter_per(
    samples: &[Sample],
    window: &Window<'_>,
    field: &str,
    whose: Option<&str>,
    per: &Per<'_>,
) -> Figure {
    let per_ns = match per.rate(window) {
        Ok(per_ns) => per_ns,
        Err(none) => return none,
    };
    let mut figure = Figure::some(0.0, String::new());
    for of_role in roles_with(samples, field).into_iter().filter(|r| whose.is_none_or(|w| w == r)) {
        match window.meter_delta(&of_role, field) {
            Ok((used, used_ns)) => {
                let part = used / used_ns / per_ns;
                figure.value = figure.value.map(|v| v + part);
                figure.per_role.insert(of_role.clone(), part);
            }
            Err(why) => return Figure::none(why),
        }
        figure.source = first_source(samples, &of_role, field);
    }
    if figure.per_role.is_empty() { Figure::none(format!("the meter has no {field}")) } else { figure }
}

fn first_source(samples: &[Sample], role: &str, field: &str) -> String {
    series(samples, SampleKind::Meter, role, field).first().map_or(String::new(), |s| s.source.clone())
}

/// The increase of a counter of the wire, the window's length in ns, and the source. Whole traffic is read by one role,
/// the first that could; what each side counts for itself is added up.
fn wire_delta(samples: &[Sample], window: &Window<'_>, field: &str) -> Result<(f64, f64, String), String> {
    let name = format!("{WIRE_PREFIX}{field}");
    let roles = roles_with(samples, &name);
    let one_side = |role: &String| {
        at(&series(samples, SampleKind::Meter, role, WIRE_SHARED), METER_BEGIN)
            .is_some_and(|s| s.value == Some(0))
    };
    let add = ONE_SIDED.contains(&field) && roles.iter().any(one_side);
    let mut found: Result<(f64, f64, String), String> = Err(format!("the meter has no {name}"));
    for role in roles {
        found = match (window.meter_delta(&role, &name), found) {
            (Ok((n, ns)), Ok((sum, _, first))) => Ok((sum + n, ns, first)),
            (Ok((n, ns)), Err(_)) => Ok((n, ns, first_source(samples, &role, &name))),
            (Err(why), _) => Err(why),
        };
        if found.is_ok() && !add {
            break;
        }
    }
    found
}

fn wire(samples: &[Sample], window: &Window<'_>, field: &str) -> Figure {
    match wire_delta(samples, window, field) {
        Ok((n, _, source)) => Figure::some(n, source),
        Err(why) => Figure::none(why),
    }
}

fn wire_per(samples: &[Sample], window: &Window<'_>, field: &str, per: &Per<'_>) -> Figure {
    let per_ns = match per.rate(window) {
        Ok(per_ns) => per_ns,
        Err(none) => return none,
    };
    match wire_delta(samples, window, field) {
        Ok((n, ns, source)) => Figure::some(n / ns / per_ns, source),
        Err(why) => Figure::none(why),
    }
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
    let mut per_role = BTreeMap::new();
    for role in figures.iter().flat_map(|f| f.per_role.keys()) {
        let parts: Vec<f64> = figures.iter().filter_map(|f| f.per_role.get(role).copied()).collect();
        if let Some(m) = median(&parts) {
            per_role.insert(role.clone(), m);
        }
    }
    let source = figures.iter().find(|f| f.value.is_some()).map_or("", |f| f.source.as_str());
    let source = match values.len() {
        1 => source.to_owned(),
        n => format!("median of {n} trials; {source}"),
    };
    Figure { value: Some(value), source, per_role }
}

/// The median; of an even number of values the mean of the middle two.
#[must_use]
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

/// Datagrams dropped at full sockets over the window; none where it was not measured.
#[must_use]
pub fn udp_drops(trial: &TrialRecord) -> Option<f64> {
    let window = Window::of(&trial.samples, trial.turns.as_ref());
    wire_delta(&trial.samples, &window, "udp_drops").ok().map(|(n, _, _)| n)
}

/// Bytes that the trial's own network has carried, by its last reading; none where it was not measured.
#[must_use]
pub fn wire_total(samples: &[Sample]) -> Option<u64> {
    let name = format!("{WIRE_PREFIX}bytes");
    let readings = samples.iter().filter(|s| s.kind == SampleKind::Meter && s.name == name);
    readings.filter_map(|s| s.value).max()
}

#[cfg(test)]
mod tests;
