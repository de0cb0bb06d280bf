//! Duels of a stored run: which cells they compare, the ratios of their sessions, and contenders that freezing disturbs.
//!
//! A duel compares one contender with the baseline in sessions. Each session yields one log ratio, computed from sums over
//! its turns. Values within a session are correlated and two processes of one program differ, so that a session is one
//! observation. Several contenders may share a session and its baseline. Their ratios are then correlated, which the
//! corrections for multiple comparisons (Holm, Bonferroni) allow.
//!
//! Contenders that freezing disturbs are compared in long turns, as long as the stretches that measure their undisturbed rate.

use std::collections::BTreeMap;

use crate::metrics;
use netdyno_lab_manifest::{Metric, Net, Params, Source, TurnsSpec, Workload};
use netdyno_lab_store::{Outcome, Run, Settings, TrialRecord, Turns};
use netdyno_stats::{Interval, Unit, confidence_sequence};

/// An estimated disturbance of this size is measured until it is significant ...
const DOUBT_FROM: f64 = 0.1;
/// ... or for this number of stretches, so that a contender with noisy rates does not delay the run.
const DOUBT_STRETCHES: usize = 6;

/// Reason for blocks if the workload does not support turns.
pub const NO_TURNS: &str = "the workload does not support turns";

/// The turns of a workload with these parameters, or the reason why contenders are compared in blocks instead.
pub fn turns<'a>(
    settings: &Settings,
    workload: &'a Workload,
    params: &Params,
) -> Result<&'a TurnsSpec, String> {
    let Some(turns) = &workload.turns else {
        return Err(NO_TURNS.to_owned());
    };
    if settings.blocks {
        return Err("requested by --blocks".to_owned());
    }
    if let Net::Veth(link) = &settings.net
        && (link.is_emulated() || link.rate_bits_per_s.is_some())
    {
        return Err("packets on an emulated link keep moving while both ends are frozen".to_owned());
    }
    turns.refuses(params).map_or(Ok(turns), Err)
}

/// Effect of freezing on a contender: its rate in turns relative to its undisturbed rate in the same sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    /// Log ratio. Unbounded if there are too few stretches.
    pub interval: Interval,
    /// Sessions with a stretch.
    pub sessions: usize,
    /// Whether the whole interval is beyond the margin. The rate in turns is then not representative.
    pub beyond_margin: bool,
}

impl Disturbance {
    /// Whether the estimate is large but not yet significant. Each session then has a stretch, and the cell is not settled.
    pub fn is_in_doubt(&self) -> bool {
        let looks_large = self.interval.estimate.abs() > DOUBT_FROM.ln_1p();
        looks_large && !self.beyond_margin && self.sessions < DOUBT_STRETCHES
    }
}

/// Disturbance of a cell; `None` without a stretch, and if a stall was injected.
pub fn disturbance(run: &Run, workload: &Workload, cell: usize) -> Option<Disturbance> {
    let metric = rate_metric(workload).filter(|_| run.cells[cell].stalled == 0)?;
    let params = &run.cells[cell].params;
    let log = |t: &TrialRecord| {
        Some((metrics::of_trial(metric, params, t).value? / metrics::undisturbed(metric, t)?).ln())
    };
    let good = run.trials.iter().filter(|t| t.cell == cell && t.outcome == Outcome::Ok);
    let logs: Vec<f64> = good.filter_map(log).collect();
    let settings = &run.header.settings;
    let first = *logs.first()?;
    // From the third stretch on, as for blocks, and without correction for other cells: relevant effects are large, stretches
    // are few, and a false positive costs time but no accuracy.
    let interval =
        confidence_sequence(&logs, Unit::Block, settings.alpha).unwrap_or(Interval::unbounded(first));
    let margin = settings.margin.ln_1p();
    let beyond_margin = interval.low > margin || interval.high < -margin;
    Some(Disturbance { interval, sessions: logs.len(), beyond_margin })
}

/// The metric that compares turns with stretches: the primary metric if it is a rate, else the first rate.
fn rate_metric(workload: &Workload) -> Option<&Metric> {
    let is_rate = |m: &&Metric| matches!(m.from, Source::Rate { .. });
    workload.primary().filter(is_rate).or_else(|| workload.metrics.iter().find(is_rate))
}

/// Length of the turns in which two contenders are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pace {
    /// The length that the workload specifies.
    Short,
    /// The length of a stretch, because shorter turns disturb one of the two.
    Long,
}

impl Pace {
    /// Pace of the trials of a session.
    pub fn new(turns: &Turns, spec: &TurnsSpec) -> Pace {
        let stretch_ns = u64::from(spec.stretch_ms) * 1_000_000;
        if turns.turn_ns < stretch_ns { Pace::Short } else { Pace::Long }
    }
}

/// Values of a metric by block and position; trials outside of sessions have position 0.
pub(crate) type Values = BTreeMap<(u32, u32), f64>;

/// Values of a metric of the successful ones among these trials of a cell.
pub(crate) fn values<'t>(
    run: &Run,
    metric: &Metric,
    cell: usize,
    trials: impl IntoIterator<Item = &'t TrialRecord>,
) -> Values {
    let value = |t: &TrialRecord| {
        let position = if t.turns.is_some() { t.position } else { 0 };
        Some(((t.block, position), metrics::of_trial(metric, &run.cells[cell].params, t).value?))
    };
    let good = trials.into_iter().filter(|t| t.cell == cell && t.outcome == Outcome::Ok);
    good.filter_map(value).collect()
}

/// Log ratios of the blocks or sessions that have both values.
pub(crate) fn log_ratios<K: Ord + Copy>(a: &BTreeMap<K, f64>, b: &BTreeMap<K, f64>) -> BTreeMap<K, f64> {
    a.iter().filter_map(|(at, value)| Some((*at, (value / b.get(at)?).ln()))).collect()
}

/// The duels of a run so far.
#[derive(Debug)]
pub struct Duels<'a> {
    run: &'a Run,
    spec: Option<&'a TurnsSpec>,
    /// By index of the cell; `None`: the cell does not support turns.
    paces: Vec<Option<Pace>>,
}

impl<'a> Duels<'a> {
    /// The duels of a run.
    pub fn new(run: &'a Run, workload: &'a Workload) -> Duels<'a> {
        let pace = |cell: usize| {
            turns(&run.header.settings, workload, &run.cells[cell].params).ok()?;
            let disturbed = disturbance(run, workload, cell).is_some_and(|d| d.beyond_margin);
            Some(if disturbed { Pace::Long } else { Pace::Short })
        };
        let paces = (0..run.cells.len()).map(pace).collect();
        Duels { run, spec: workload.turns.as_ref(), paces }
    }

    /// The pace at which two cells are compared; `None`: in blocks.
    pub fn pace(&self, contender: usize, baseline: usize) -> Option<Pace> {
        let both = self.paces[contender]?.max(self.paces[baseline]?);
        (contender != baseline).then_some(both)
    }

    /// The pace of a trial; `None` if it was not part of a duel.
    pub fn pace_of(&self, trial: &TrialRecord) -> Option<Pace> {
        Some(Pace::new(trial.turns.as_ref()?, self.spec?))
    }

    /// Log ratios of a metric, contender / baseline, in order of the sessions; `None` without a duel.
    pub fn log_ratios(&self, metric: &Metric, contender: usize, baseline: usize) -> Option<Vec<f64>> {
        Some(self.by_session(metric, contender, baseline)?.into_values().collect())
    }

    /// Log ratios of a metric, contender / baseline, by round and position of the session; `None` without a duel.
    pub fn by_session(
        &self,
        metric: &Metric,
        contender: usize,
        baseline: usize,
    ) -> Option<BTreeMap<(u32, u32), f64>> {
        let pace = self.pace(contender, baseline)?;
        let trials = || self.run.trials.iter().filter(|t| self.pace_of(t) == Some(pace));
        let [a, b] = [contender, baseline].map(|cell| values(self.run, metric, cell, trials()));
        Some(log_ratios(&a, &b))
    }

    /// The trials that the figures of a cell are based on: those at its pace, or all if none of these was successful.
    pub fn counted(&self, cell: usize) -> Vec<&'a TrialRecord> {
        let all: Vec<&TrialRecord> = self.run.trials.iter().filter(|t| t.cell == cell).collect();
        let at_pace: Vec<&TrialRecord> =
            all.iter().copied().filter(|t| self.pace_of(t) == self.paces[cell]).collect();
        if at_pace.iter().any(|t| t.outcome == Outcome::Ok) { at_pace } else { all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::fixture::{self, CannedContender};
    use netdyno_lab_store::{CellStatus, Sample, SampleKind};

    const TURN_NS: u64 = 100_000_000;
    const STRETCH_NS: u64 = 500_000_000;

    fn workload() -> Workload {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.turns = Some(TurnsSpec {
            turn_ms: 100,
            lead_ms: 30,
            turns_max: 4,
            stretch_ms: 500,
            stretch_every: 4,
            together: 3,
            under_way: Vec::new(),
            only: indexmap::IndexMap::new(),
        });
        workload
    }

    /// A trial of a session with one turn at `rate` and a stretch at the rate `stretch`.
    fn trial(cell: usize, session: (u32, u32), turn_ns: u64, rate: u64, stretch: Option<u64>) -> TrialRecord {
        let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
        let mut trial = fixture::run(&[only], None).trials.remove(0);
        (trial.cell, trial.block, trial.position) = (cell, session.0, session.1);
        let (freezer, lead_ns, stretched) = ("synthetic".to_owned(), 1, stretch.is_some());
        trial.turns =
            Some(Turns { freezer, turn_ns, lead_ns, count: 1, stretch: stretched, under_way: None });
        let window = |at: u64, length: u64, rate: u64, mark: u64| {
            [(mark, at, 0), (mark + 1, at + length, rate * (length / 1_000_000))]
        };
        let turns = window(10, turn_ns, rate, 0).into_iter();
        let all = turns.chain(stretch.into_iter().flat_map(|rate| window(1 << 40, STRETCH_NS, rate, 2)));
        trial.samples = all
            .map(|(mark, at_ns, value)| Sample {
                role: "sink".to_owned(),
                kind: SampleKind::Counter,
                mark,
                at_ns,
                name: "messages".to_owned(),
                value: Some(value),
                source: "synthetic".to_owned(),
            })
            .collect();
        trial
    }

    /// Four sessions of three cells; the last cell is the baseline. Freezing halves the rate of the second cell.
    fn run() -> Run {
        let named = |name| CannedContender { name, status: CellStatus::Ok, rates: &[], sink_cpu_percent: 1 };
        let mut run = fixture::run(&[named("steady"), named("shy"), named("base")], None);
        for round in 0..4 {
            let wobble = u64::from(round);
            for (cell, rate, stretch) in [(0, 2000, 2000), (1, 500, 1000), (2, 1000, 1000)] {
                run.trials.push(trial(cell, (round, 7), TURN_NS, rate + wobble, Some(stretch)));
            }
        }
        run
    }

    #[test]
    fn disturbed_contenders_are_compared_in_long_turns() {
        let (mut run, workload) = (run(), workload());
        let metric = workload.primary().unwrap();
        run.trials.push(trial(1, (4, 0), STRETCH_NS, 1000, None));
        run.trials.push(trial(2, (4, 0), STRETCH_NS, 1000, None));
        let duels = Duels::new(&run, &workload);
        assert_eq!([0, 1, 2].map(|i| duels.pace(i, 2)), [Some(Pace::Short), Some(Pace::Long), None]);
        let shy = disturbance(&run, &workload, 1).unwrap();
        assert!(shy.beyond_margin && (shy.interval.estimate.exp() - 0.5).abs() < 0.01, "{shy:?}");
        assert_eq!(duels.log_ratios(metric, 1, 2).unwrap(), [0.0]);
        assert_eq!(duels.counted(1).len(), 1);
        let steady = duels.log_ratios(metric, 0, 2).unwrap();
        assert_eq!(steady.len(), 4, "the long session does not count");
        assert!(steady.iter().all(|log| (log - 2f64.ln()).abs() < 0.01), "{steady:?}");
    }

    #[test]
    fn an_injected_stall_is_not_a_disturbance() {
        let (mut run, workload) = (run(), workload());
        run.cells[1].stalled = 500;
        assert_eq!(disturbance(&run, &workload, 1), None);
        assert_eq!(Duels::new(&run, &workload).pace(1, 2), Some(Pace::Short));
    }

    #[test]
    fn a_large_disturbance_is_in_doubt_until_it_is_significant_or_measured_often() {
        let rows: [(f64, usize, bool, bool); 5] = [
            (0.5, 1, false, true),
            (1.5, 5, false, true),
            (0.5, 3, true, false),
            (0.5, 6, false, false),
            (0.95, 1, false, false),
        ];
        for (share, sessions, beyond_margin, in_doubt) in rows {
            let interval = Interval { estimate: f64::ln(share), low: f64::NEG_INFINITY, high: f64::INFINITY };
            let disturbance = Disturbance { interval, sessions, beyond_margin };
            assert_eq!(disturbance.is_in_doubt(), in_doubt, "{disturbance:?}");
        }
    }

    #[test]
    fn short_turns_are_shown_until_there_is_a_long_one() {
        let (run, workload) = (run(), workload());
        let duels = Duels::new(&run, &workload);
        assert_eq!(duels.log_ratios(workload.primary().unwrap(), 1, 2).unwrap(), [0.0; 0]);
        assert_eq!(duels.counted(1).len(), 4);
    }

    #[test]
    fn a_disturbed_baseline_is_compared_in_long_turns() {
        let (mut run, workload) = (run(), workload());
        run.header.settings.baseline = Some("shy".to_owned());
        let duels = Duels::new(&run, &workload);
        assert_eq!([0, 2].map(|i| duels.pace(i, 1)), [Some(Pace::Long); 2]);
    }

    #[test]
    fn sessions_are_identified_by_block_and_position() {
        let (mut run, workload) = (run(), workload());
        // Two sessions of one round, at machine speeds of 2 : 3.
        for (place, speed) in [(1, 2), (2, 3)] {
            run.trials.push(trial(0, (5, place), TURN_NS, 2000 * speed, None));
            run.trials.push(trial(2, (5, place), TURN_NS, 1000 * speed, None));
        }
        let logs = Duels::new(&run, &workload).log_ratios(workload.primary().unwrap(), 0, 2).unwrap();
        assert_eq!(logs.len(), 6);
        assert!(logs[4..].iter().all(|log| (log - 2f64.ln()).abs() < 1e-9), "{logs:?}");
    }
}
