//! Did a cell hold the load that was asked for? From the store's rows alone, as every other figure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{Params, Workload};
use crate::metrics::{counter_delta, median};
use crate::store::{Outcome, TrialRecord};

/// The share by which what was done may differ from what was asked for.
pub const TOLERANCE: f64 = 0.001;

/// The load that was asked for, and what was done of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Asked for, a second.
    pub offered: f64,
    /// Done, a second: the median of the trials.
    pub achieved: f64,
    /// Whether every trial did it, within 0.1 % and what may be under way at a mark.
    pub held: bool,
}

/// The load of a cell; none where no load was asked for, or nothing was measured.
#[must_use]
pub fn of_cell(workload: &Workload, params: &Params, trials: &[&TrialRecord]) -> Option<Load> {
    let wanted = workload.offered.as_ref()?;
    let offered = params.number(&wanted.param).filter(|rate| *rate > 0.0)?;
    // At either mark a request a connection may be sent and not yet answered, or due and not yet sent.
    let under_way = 1.0 + params.number(&workload.gate.streams).unwrap_or(1.0);
    let good = trials.iter().filter(|t| t.outcome == Outcome::Ok);
    let done: Vec<(f64, f64)> =
        good.filter_map(|t| counter_delta(&t.samples, &wanted.role, &wanted.counter)).collect();
    let held = done.iter().all(|(n, ns)| {
        let expected = offered * ns / 1e9;
        (n - expected).abs() <= (TOLERANCE * expected).max(under_way)
    });
    let rates: Vec<f64> = done.iter().map(|(n, ns)| n * 1e9 / ns).collect();
    Some(Load { offered, achieved: median(&rates)?, held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::ParamValue;
    use crate::store::fixture::{Contender, run};
    use crate::store::{CellStatus, Run};

    /// A run of the dummy, whose sink is asked for 1,000 messages a second on 2 streams.
    fn loads(rates: &[u64], offered: i64) -> Option<Load> {
        let mut workload = crate::doctor::self_test::workload();
        workload.offered = Some(crate::manifest::Offered {
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
    fn held_is_within_a_thousandth_or_what_is_under_way() {
        for (rates, offered, held) in [
            (&[10_000u64, 10_010, 9_990][..], 10_000, true),
            (&[10_000, 9_988][..], 10_000, false),
            (&[10_000, 10_012][..], 10_000, false),
            (&[10, 7, 13][..], 10, true),
            (&[10, 6][..], 10, false),
        ] {
            assert_eq!(loads(rates, offered).map(|l| l.held), Some(held), "{rates:?} of {offered}");
        }
        let load = loads(&[400, 500, 600], 1000).unwrap();
        assert_eq!((load.offered, load.achieved, load.held), (1000.0, 500.0, false));
    }

    #[test]
    fn flat_out_asks_for_nothing() {
        assert_eq!(loads(&[1000], 0), None);
        assert_eq!(loads(&[], 1000), None);
    }
}
