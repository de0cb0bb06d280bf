//! Did a cell hold the load that was asked for? From the store's rows alone, as every other figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metrics::median;
use crate::window::Window;
use netdyno_lab_manifest::{Params, Workload};
use netdyno_lab_store::{Outcome, TrialRecord};

/// The share of what was asked for that may be missing ...
pub const TOLERANCE: f64 = 0.001;
/// ... or as much as falls due in this time, since a trial's window may end in the middle of a short stall, in s ...
const STALL_S: f64 = 0.010;
/// ... or what may be under way at the end. A window in which that is more than this share of the whole tells nothing.
const UNDER_WAY_MOST: f64 = 0.1;

/// The load that was asked for, and what was done of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Asked for, a second.
    pub offered: f64,
    /// Done, a second: the median of the trials.
    pub achieved: f64,
    /// Whether at least half of the trials did it, within 0.1 %, what falls due in 10 ms, or what may be under way at the
    /// end; null: the windows were too short to tell.
    pub held: Option<bool>,
}

impl Load {
    /// Whether it is sure that the load was not held.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.held == Some(false)
    }
}

/// The load of a cell; none where no load was asked for, or nothing was measured.
#[must_use]
pub fn of_cell(workload: &Workload, params: &Params, trials: &[&TrialRecord]) -> Option<Load> {
    let wanted = workload.offered.as_ref()?;
    let offered = params.number(&wanted.param).filter(|rate| *rate > 0.0)?;
    let under_way = workload.gate.streams.of(params).unwrap_or(1) as f64;
    let good = trials.iter().filter(|t| t.outcome == Outcome::Ok);
    let done: Vec<(f64, f64)> = good
        .filter_map(|t| Window::of(&t.samples, t.turns.as_ref()).counter_delta(&wanted.role, &wanted.counter))
        .collect();
    // More than was asked for is a queue from before the window: no fault of the load within it.
    let shares: Vec<f64> = done
        .iter()
        .map(|(n, ns)| {
            let expected = offered * ns / 1e9;
            let spare = (TOLERANCE * expected).max(STALL_S * offered).max(under_way);
            (n + spare) / expected
        })
        .collect();
    let blind = done.iter().any(|(_, ns)| under_way > UNDER_WAY_MOST * offered * ns / 1e9);
    let rates: Vec<f64> = done.iter().map(|(n, ns)| n * 1e9 / ns).collect();
    let held = (!blind).then_some(median(&shares)? >= 1.0);
    Some(Load { offered, achieved: median(&rates)?, held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_manifest::ParamValue;
    use netdyno_lab_store::fixture::{Contender, run};
    use netdyno_lab_store::{CellStatus, Run};

    /// A run of the dummy, whose sink is asked for 1,000 messages a second on 2 streams.
    fn loads(rates: &[u64], offered: i64) -> Option<Load> {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.offered = Some(netdyno_lab_manifest::Offered {
            param: "rate".to_owned(),
            role: "sink".to_owned(),
            counter: "messages".to_owned(),
        });
        let one = Contender { name: "base", status: CellStatus::Ok, rates, sink_cpu_percent: 10 };
        let run: Run = run(&[one], None);
        let trials: Vec<&TrialRecord> = run.trials.iter().collect();
        let mut params = Params::default();
        params.0.insert("rate".to_owned(), ParamValue::Integer(offered));
        params.0.insert("streams".to_owned(), ParamValue::Integer(2));
        of_cell(&workload, &params, &trials)
    }

    #[test]
    fn held_is_within_a_thousandth_a_short_stall_or_what_is_under_way() {
        for (rates, offered, held) in [
            (&[100_000u64, 100_010, 99_990][..], 100_000, Some(true)),
            (&[99_000, 99_000, 98_999][..], 100_000, Some(true)),
            (&[98_990, 98_990, 100_000][..], 100_000, Some(false)),
            // One bad trial of three is not the cell's.
            (&[50_000, 100_000, 100_000][..], 100_000, Some(true)),
            // A queue from before that drains.
            (&[120_000, 120_000][..], 100_000, Some(true)),
            (&[98, 100][..], 100, Some(true)),
            (&[97, 97][..], 100, Some(false)),
            // 2 of 10 may be under way: too few to tell.
            (&[10, 10][..], 10, None),
        ] {
            assert_eq!(loads(rates, offered).unwrap().held, held, "{rates:?} of {offered}");
        }
        let load = loads(&[400, 500, 600], 1000).unwrap();
        assert_eq!((load.offered, load.achieved, load.is_missed()), (1000.0, 500.0, true));
    }

    #[test]
    fn flat_out_asks_for_nothing() {
        assert_eq!(loads(&[1000], 0), None);
        assert_eq!(loads(&[], 1000), None);
    }
}
