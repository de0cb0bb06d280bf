//! Offered load: whether a cell sustained it. All figures come from the store.

use serde::{Deserialize, Serialize};

use crate::metrics::median;
use crate::window::Window;
use netdyno_lab_manifest::{Params, Workload};
use netdyno_lab_store::{Outcome, TrialRecord};

/// Tolerated shortfall: this share of the offered load ...
pub const TOLERANCE: f64 = 0.001;
/// ... or the requests due in this time, in s, because a window may end in the middle of a short stall ...
const STALL_S: f64 = 0.010;
/// ... or the requests in flight at the end. If these exceed this share of the window, nothing is decided.
const IN_FLIGHT_MAX: f64 = 0.1;

/// Offered and achieved load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Offered, per second.
    pub offered: f64,
    /// Achieved, per second: the median of the trials.
    pub achieved: f64,
    /// Whether at least half of the trials sustained the load within 0.1 %, the requests due in 10 ms, or those in flight
    /// at the end; null: the windows were too short to decide.
    pub held: Option<bool>,
}

impl Load {
    /// Whether the load was not sustained.
    pub fn is_missed(&self) -> bool {
        self.held == Some(false)
    }
}

/// Load of a cell; `None` without an offered load or without measurements.
pub fn of_cell(workload: &Workload, params: &Params, trials: &[&TrialRecord]) -> Option<Load> {
    let spec = workload.offered.as_ref()?;
    let offered = params.number(&spec.param).filter(|rate| *rate > 0.0)?;
    let in_flight = workload.gate.streams.of(params).unwrap_or(1) as f64;
    let good = trials.iter().filter(|t| t.outcome == Outcome::Ok);
    let done: Vec<(f64, f64)> = good
        .filter_map(|t| Window::new(&t.samples, t.turns.as_ref()).counter_delta(&spec.role, &spec.counter))
        .collect();
    // An excess comes from a queue that existed before the window. It is not a fault.
    let share = |(n, ns): &(f64, f64)| {
        let expected = offered * ns / 1e9;
        (n + (TOLERANCE * expected).max(STALL_S * offered).max(in_flight)) / expected
    };
    let shares: Vec<f64> = done.iter().map(share).collect();
    let is_too_short = done.iter().any(|(_, ns)| in_flight > IN_FLIGHT_MAX * offered * ns / 1e9);
    let rates: Vec<f64> = done.iter().map(|(n, ns)| n * 1e9 / ns).collect();
    let held = (!is_too_short).then_some(median(&shares)? >= 1.0);
    Some(Load { offered, achieved: median(&rates)?, held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_manifest::ParamValue;
    use netdyno_lab_store::fixture::{CannedContender, run};
    use netdyno_lab_store::{CellStatus, Run};

    /// A run of the dummy with this offered load on 2 streams.
    fn loads(rates: &[u64], offered: i64) -> Option<Load> {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.offered = Some(netdyno_lab_manifest::Offered {
            param: "rate".to_owned(),
            role: "sink".to_owned(),
            counter: "messages".to_owned(),
        });
        let one = CannedContender { name: "base", status: CellStatus::Ok, rates, sink_cpu_percent: 10 };
        let run: Run = run(&[one], None);
        let trials: Vec<&TrialRecord> = run.trials.iter().collect();
        let mut params = Params::default();
        params.0.insert("rate".to_owned(), ParamValue::Integer(offered));
        params.0.insert("streams".to_owned(), ParamValue::Integer(2));
        of_cell(&workload, &params, &trials)
    }

    #[test]
    fn a_load_is_held_within_the_tolerance_a_short_stall_or_the_requests_in_flight() {
        for (rates, offered, held) in [
            (&[100_000u64, 100_010, 99_990][..], 100_000, Some(true)),
            (&[99_000, 99_000, 98_999][..], 100_000, Some(true)),
            (&[98_990, 98_990, 100_000][..], 100_000, Some(false)),
            // A single bad trial of three is tolerated.
            (&[50_000, 100_000, 100_000][..], 100_000, Some(true)),
            // A queue from before the window drains.
            (&[120_000, 120_000][..], 100_000, Some(true)),
            (&[98, 100][..], 100, Some(true)),
            (&[97, 97][..], 100, Some(false)),
            // 2 of 10 may be in flight: the window is too short.
            (&[10, 10][..], 10, None),
        ] {
            assert_eq!(loads(rates, offered).unwrap().held, held, "{rates:?} of {offered}");
        }
        let load = loads(&[400, 500, 600], 1000).unwrap();
        assert_eq!((load.offered, load.achieved, load.is_missed()), (1000.0, 500.0, true));
    }

    #[test]
    fn without_an_offered_load_there_is_no_result() {
        assert_eq!(loads(&[1000], 0), None);
        assert_eq!(loads(&[], 1000), None);
    }
}
