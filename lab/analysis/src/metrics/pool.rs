//! Figures of a cell: of all its good trials together. Latencies are pooled, which takes each histogram to be decoded; that is done once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Figure, median_of, of_trial, setup_quantile, sum_of};
use crate::window::series;
use netdyno_lab_manifest::{Metric, Params, Source};
use netdyno_lab_store::{Outcome, SampleKind, TrialRecord};
use netdyno_stats::Encoded;
use netdyno_stats::histogram::{HistogramError, Latencies};

/// Quantiles above this are not told of a trial in turns: a request that is under way when its turn ends has the pause
/// in its latency.
const QUANTILE_IN_TURNS_MOST: f64 = 0.99;
/// Such requests are this share, at the most, of those beyond a quantile that is told.
const INTERRUPTED_MOST: f64 = 0.5;
const PAUSE_IN_IT: &str = "a request under way when its turn ends has the pause in it: measure with --blocks";

/// How far a quantile's neighbours are, as a share of all values ...
const NEIGHBOUR: f64 = 0.05;
/// ... and the ratio from which the quantile lies between two groups. One group's are 1.02 to 1.1 apart.
const GROUPS_APART: f64 = 1.3;

/// A pooled histogram's curve, as [`Latencies::curve`] gives it.
pub type Curve = Vec<(f64, u64)>;

type Merged = Result<Option<Latencies>, HistogramError>;

/// The good trials of a cell.
#[derive(Debug)]
pub struct Pool<'a> {
    good: Vec<&'a TrialRecord>,
    /// By role and name, as they are asked for.
    merged: RefCell<BTreeMap<(String, String), Rc<Merged>>>,
}

impl<'a> Pool<'a> {
    /// The good ones of these.
    #[must_use]
    pub fn of(trials: &[&'a TrialRecord]) -> Pool<'a> {
        let good = trials.iter().copied().filter(|t| t.outcome == Outcome::Ok).collect();
        Pool { good, merged: RefCell::default() }
    }

    /// A metric of a cell with these parameters: quantiles are taken of the pooled values, counts are added up, everything
    /// else is the median of the trials' figures. Percentiles are never averaged.
    #[must_use]
    pub fn figure(&self, metric: &Metric, params: &Params) -> Figure {
        if self.good.is_empty() {
            return Figure::none("no good trial");
        }
        let each = || self.good.iter().map(|t| of_trial(metric, params, t)).collect::<Vec<_>>();
        match &metric.from {
            Source::SetupQuantile { role, quantile } => setup_quantile(&self.good, role, *quantile),
            Source::HistogramQuantile { role, histogram, quantile } => {
                let found = at(&self.merged(role, histogram), *quantile);
                figure(&self.good, role, histogram, *quantile, found)
            }
            Source::Count { .. } => sum_of(&each()),
            _ => median_of(&each()),
        }
    }

    /// A metric of each good trial that has one, in their order.
    #[must_use]
    pub fn samples(&self, metric: &Metric, params: &Params) -> Vec<f64> {
        self.good.iter().filter_map(|t| of_trial(metric, params, t).value).collect()
    }

    /// A quantile's neighbours, a twentieth of all values below and above it, where they are so far apart that it lies between two
    /// groups of values: it says little of either, and leaps from one to the other where their shares change a little.
    #[must_use]
    pub fn between_groups(&self, metric: &Metric) -> Option<(u64, u64)> {
        let Source::HistogramQuantile { role, histogram, quantile } = &metric.from else { return None };
        let merged = self.merged(role, histogram);
        let merged = (*merged).as_ref().ok()?.as_ref()?;
        let (below, above) = (merged.quantile(quantile - NEIGHBOUR)?, merged.quantile(quantile + NEIGHBOUR)?);
        (above as f64 >= GROUPS_APART * below as f64).then_some((below, above))
    }

    /// The curves of the histograms by role and name, up to where freezes begin to show. One that does not decode has none; its
    /// metric says why.
    #[must_use]
    pub fn curves(&self) -> BTreeMap<(String, String), Curve> {
        let all = self.good.iter().flat_map(|t| &t.histograms);
        let names: BTreeSet<(&String, &String)> = all.map(|(role, name, _)| (role, name)).collect();
        let curve = |(role, name): (&String, &String)| {
            let merged = self.merged(role, name);
            let merged = (*merged).as_ref().ok()?.as_ref()?;
            let mut curve = merged.curve();
            let pauses = Pauses::of(&self.good, role);
            let is_free = |q: f64| pauses.leave(q, merged.count());
            curve.retain(|(q, _)| is_free(*q));
            if !is_free(1.0) && is_free(QUANTILE_IN_TURNS_MOST) {
                curve.extend(merged.quantile(QUANTILE_IN_TURNS_MOST).map(|v| (QUANTILE_IN_TURNS_MOST, v)));
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
        [one] => one.quantile(q),
        all => at(&merge(all), q),
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

/// A quantile, and the number of values.
fn at(merged: &Merged, q: f64) -> Result<Option<(u64, u64)>, HistogramError> {
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
        Ok(Some((_, count))) if !Pauses::of(trials, role).leave(q, count) => Figure::none(PAUSE_IN_IT),
        Ok(Some((v, count))) => Figure::some(v as f64, format!("{count} values, by the {role}")),
        Ok(None) => Figure::none(format!("the {role} gave no histogram {name}, or an empty one")),
    }
}

/// What freezes may have done to latencies.
struct Pauses {
    in_turns: bool,
    /// Requests that a freeze may have met under way since the measured phase began: as many a freeze as the workload says, or one a
    /// connection.
    interrupted: f64,
}

impl Pauses {
    fn of(trials: &[&TrialRecord], role: &str) -> Pauses {
        let of = |trial: &&TrialRecord| {
            let Some(turns) = &trial.turns else { return 0.0 };
            let freezes = 1 + turns.count + u32::from(turns.stretch);
            let connections = || series(&trial.samples, SampleKind::Setup, role, "setup_ns").len() as u64;
            f64::from(freezes) * turns.under_way.unwrap_or_else(connections) as f64
        };
        let in_turns = trials.iter().any(|t| t.turns.is_some());
        Pauses { in_turns, interrupted: trials.iter().map(of).sum() }
    }

    /// Whether a quantile of so many values says what it would without freezes.
    fn leave(&self, q: f64, count: u64) -> bool {
        !(self.in_turns && q > QUANTILE_IN_TURNS_MOST)
            && self.interrupted <= INTERRUPTED_MOST * (1.0 - q) * count as f64
    }
}
