//! Values of a cell, from all its successful trials together. Latencies are pooled; each histogram is decoded once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Figure, median_of, of_trial, setup_quantile, sum_of};
use crate::window::series;
use netdyno_lab_manifest::{Metric, Params, Source};
use netdyno_lab_store::{Outcome, SampleKind, TrialRecord};
use netdyno_stats::Encoded;
use netdyno_stats::histogram::{HistogramError, Latencies};

/// Greatest quantile that is reported for trials in turns. The latency of a request in flight at the end of a turn includes
/// the pause.
const QUANTILE_IN_TURNS_MAX: f64 = 0.99;
/// Maximum share of such requests among those beyond a reported quantile.
const INTERRUPTED_MAX: f64 = 0.5;
const PAUSE_INCLUDED: &str =
    "latencies of requests in flight at the end of a turn include the pause: measure with --blocks";

/// Distance of a quantile's neighbours, as a share of all values ...
const NEIGHBOUR: f64 = 0.05;
/// ... and their ratio from which the quantile lies between two groups. Within one group, it is 1.02 to 1.1.
const GROUPS_APART: f64 = 1.3;

/// Curve of a pooled histogram; see [`Latencies::curve`].
pub type Curve = Vec<(f64, u64)>;

type Merged = Result<Option<Latencies>, HistogramError>;

/// The successful trials of a cell.
#[derive(Debug)]
pub struct Pool<'a> {
    good: Vec<&'a TrialRecord>,
    /// Merged histograms by role and name, computed on demand.
    merged: RefCell<BTreeMap<(String, String), Rc<Merged>>>,
}

impl<'a> Pool<'a> {
    /// The successful ones of these trials.
    pub fn new(trials: &[&'a TrialRecord]) -> Pool<'a> {
        let good = trials.iter().copied().filter(|t| t.outcome == Outcome::Ok).collect();
        Pool { good, merged: RefCell::default() }
    }

    /// Value of a metric: quantiles are taken from the pooled values, counts are summed, everything else is the median of the
    /// trials. Percentiles are never averaged.
    pub fn figure(&self, metric: &Metric, params: &Params) -> Figure {
        if self.good.is_empty() {
            return Figure::none("no successful trial");
        }
        let each = || self.good.iter().map(|t| of_trial(metric, params, t)).collect::<Vec<_>>();
        match &metric.from {
            Source::SetupQuantile { role, quantile } => setup_quantile(&self.good, role, *quantile),
            Source::HistogramQuantile { role, histogram, quantile } => {
                let found = quantile_of(&self.merged(role, histogram), *quantile);
                figure(&self.good, role, histogram, *quantile, found)
            }
            Source::Count { .. } => sum_of(&each()),
            _ => median_of(&each()),
        }
    }

    /// Values of a metric in the trials, in their order.
    pub fn samples(&self, metric: &Metric, params: &Params) -> Vec<f64> {
        self.good.iter().filter_map(|t| of_trial(metric, params, t).value).collect()
    }

    /// The values at 5 % below and above a quantile, if they differ so much that the quantile lies between two groups of
    /// values. Such a quantile represents neither group, and jumps when their shares change slightly.
    pub fn between_groups(&self, metric: &Metric) -> Option<(u64, u64)> {
        let Source::HistogramQuantile { role, histogram, quantile } = &metric.from else { return None };
        let merged = self.merged(role, histogram);
        let merged = (*merged).as_ref().ok()?.as_ref()?;
        let (below, above) = (merged.quantile(quantile - NEIGHBOUR)?, merged.quantile(quantile + NEIGHBOUR)?);
        (above as f64 >= GROUPS_APART * below as f64).then_some((below, above))
    }

    /// Curves of the histograms by role and name, up to the quantile that freezing distorts. A histogram that cannot be
    /// decoded has no curve; its metric gives the reason.
    pub fn curves(&self) -> BTreeMap<(String, String), Curve> {
        let all = self.good.iter().flat_map(|t| &t.histograms);
        let names: BTreeSet<(&String, &String)> = all.map(|(role, name, _)| (role, name)).collect();
        let curve = |(role, name): (&String, &String)| {
            let merged = self.merged(role, name);
            let merged = (*merged).as_ref().ok()?.as_ref()?;
            let mut curve = merged.curve();
            let pauses = Pauses::new(&self.good, role);
            let is_free = |q: f64| pauses.allow(q, merged.count());
            curve.retain(|(q, _)| is_free(*q));
            if !is_free(1.0) && is_free(QUANTILE_IN_TURNS_MAX) {
                curve.extend(merged.quantile(QUANTILE_IN_TURNS_MAX).map(|v| (QUANTILE_IN_TURNS_MAX, v)));
            }
            (!curve.is_empty()).then(|| ((role.clone(), name.clone()), curve))
        };
        names.into_iter().filter_map(curve).collect()
    }

    fn merged(&self, role: &str, name: &str) -> Rc<Merged> {
        let merge = || Rc::new(merge(&histograms(&self.good, role, name)));
        let mut merged = self.merged.borrow_mut();
        merged.entry((role.to_owned(), name.to_owned())).or_insert_with(merge).clone()
    }
}

/// A quantile of one trial.
pub(super) fn of_trial_quantile(trial: &TrialRecord, role: &str, name: &str, q: f64) -> Figure {
    let found = match histograms(&[trial], role, name).as_slice() {
        [single] => single.quantile(q),
        all => quantile_of(&merge(all), q),
    };
    figure(&[trial], role, name, q, found)
}

fn histograms<'a>(trials: &[&'a TrialRecord], role: &str, name: &str) -> Vec<&'a Encoded> {
    let all = trials.iter().flat_map(|t| &t.histograms).filter(|(r, n, _)| r == role && n == name);
    all.map(|(_, _, encoded)| encoded).collect()
}

fn merge(all: &[&Encoded]) -> Merged {
    let decoded: Vec<Latencies> = all.iter().map(|encoded| encoded.decode()).collect::<Result<_, _>>()?;
    Latencies::merge(&decoded)
}

/// A quantile and the number of values.
fn quantile_of(merged: &Merged, q: f64) -> Result<Option<(u64, u64)>, HistogramError> {
    let merged = merged.as_ref().map_err(Clone::clone)?;
    Ok(merged.as_ref().and_then(|m| Some((m.quantile(q)?, m.count()))))
}

fn figure(
    trials: &[&TrialRecord],
    role: &str,
    name: &str,
    q: f64,
    found: Result<Option<(u64, u64)>, HistogramError>,
) -> Figure {
    match found {
        Err(e) => Figure::none(format!("histogram {name} of the {role}: {e}")),
        Ok(Some((_, count))) if !Pauses::new(trials, role).allow(q, count) => Figure::none(PAUSE_INCLUDED),
        Ok(Some((v, count))) => Figure::some(v as f64, format!("{count} values, by the {role}")),
        Ok(None) => Figure::none(format!("the {role} reported no histogram {name}, or an empty one")),
    }
}

/// Possible effect of freezing on latencies.
struct Pauses {
    in_turns: bool,
    /// Maximum number of requests in flight during a freeze since the measured phase began: as many per freeze as the workload
    /// specifies, else one per connection.
    interrupted: f64,
}

impl Pauses {
    fn new(trials: &[&TrialRecord], role: &str) -> Pauses {
        let interrupted = |trial: &&TrialRecord| {
            let Some(turns) = &trial.turns else { return 0.0 };
            let freezes = 1 + turns.count + u32::from(turns.stretch);
            let connections = || series(&trial.samples, SampleKind::Setup, role, "setup_ns").len() as u64;
            f64::from(freezes) * turns.under_way.unwrap_or_else(connections) as f64
        };
        let in_turns = trials.iter().any(|t| t.turns.is_some());
        Pauses { in_turns, interrupted: trials.iter().map(interrupted).sum() }
    }

    /// Whether a quantile of this number of values is unaffected by freezing.
    fn allow(&self, q: f64, count: u64) -> bool {
        !(self.in_turns && q > QUANTILE_IN_TURNS_MAX)
            && self.interrupted <= INTERRUPTED_MAX * (1.0 - q) * count as f64
    }
}
