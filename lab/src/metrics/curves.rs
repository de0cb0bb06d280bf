//! Curves of latencies: the values of all trials of a cell, merged.

use std::collections::{BTreeMap, BTreeSet};

use super::{QUANTILE_IN_TURNS_MOST, is_free_of_pauses, pooled};
use crate::store::{Outcome, TrialRecord};

/// A pooled histogram's curve, as [`Latencies::curve`] gives it.
pub type Curve = Vec<(f64, u64)>;

/// The curves of a cell's pooled histograms by role and name, up to where freezes begin to show. One that does not decode has none; its metric
/// says why.
#[must_use]
pub fn curves(trials: &[&TrialRecord]) -> BTreeMap<(String, String), Curve> {
    let good: Vec<&TrialRecord> = trials.iter().copied().filter(|t| t.outcome == Outcome::Ok).collect();
    let names: BTreeSet<(&String, &String)> =
        good.iter().flat_map(|t| &t.histograms).map(|(role, name, _)| (role, name)).collect();
    let curve = |(role, name): (&String, &String)| {
        let merged = pooled(&good, role, name).ok()??;
        let mut curve = merged.curve();
        let is_free = |q: f64| is_free_of_pauses(&good, role, q, merged.count());
        curve.retain(|(q, _)| is_free(*q));
        if !is_free(1.0) && is_free(QUANTILE_IN_TURNS_MOST) {
            curve.extend(merged.quantile(QUANTILE_IN_TURNS_MOST).map(|v| (QUANTILE_IN_TURNS_MOST, v)));
        }
        (!curve.is_empty()).then(|| ((role.clone(), name.clone()), curve))
    };
    names.into_iter().filter_map(curve).collect()
}
