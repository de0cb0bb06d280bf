//! A first look: a few rounds with the contenders built so far, if the remaining builds take long. Its trials are
//! part of the run. Its sessions are independent observations; the other contenders have theirs of the same rounds
//! later. A block compares trials that ran close together, so blocks of a first look have numbers that the run itself
//! does not use.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::cells::is_alive;
use super::engine::{Engine, Result};
use super::measure::Measuring;
use crate::build::{Built, Prepared};
use netdyno_lab_analysis::{duels, verdicts};
use netdyno_lab_arena::{CpuPlan, CpusBack};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellRecord, CellStatus, Run};
use netdyno_stats::Unit;

/// Longest first look, in seconds. Builds that take less are awaited.
const SECONDS_MAX: f64 = 30.0;
/// Largest share of the budget: other contenders cannot use most of the baseline's trials.
const BUDGET_SHARE: f64 = 1.0 / 8.0;

/// Whether to have a first look before the remaining builds, whose expected seconds are `to_come`: the next build is
/// not in the cache, no trial exists, the `wanted` contenders are built, and the built ones are comparable.
pub(super) fn is_due(run: &Run, is_built: impl Fn(&str) -> bool, to_come: &[f64], wanted: &[String]) -> bool {
    let takes_long = to_come.first().is_some_and(|next| *next > 0.0);
    takes_long
        && to_come.iter().sum::<f64>() >= SECONDS_MAX
        && run.trials.is_empty()
        // Questions need simultaneous rounds and consecutive block numbers.
        && run.header.settings.questions.is_empty()
        && wanted.iter().all(|name| is_built(name) || !is_in(run, name))
        && is_comparable(run, is_built)
}

/// Whether a cell that has not failed includes this contender.
fn is_in(run: &Run, contender: &str) -> bool {
    run.cells.iter().any(|cell| is_alive(cell) && cell.contenders.values().any(|name| name == contender))
}

/// Whether two contenders and the final baseline are built, at all parameters with built contenders: sessions with
/// another baseline would be useless.
fn is_comparable(run: &Run, is_built: impl Fn(&str) -> bool) -> bool {
    let built = |i: &usize| run.cells[*i].contenders.values().all(|name| is_built(name));
    let mut comparable = false;
    for (_, mut members) in verdicts::groups(run) {
        members.retain(|&i| is_alive(&run.cells[i]));
        let ready: Vec<usize> = members.iter().copied().filter(built).collect();
        if !ready.is_empty()
            && verdicts::baseline_among(run, &ready) != verdicts::baseline_among(run, &members)
        {
            return false;
        }
        comparable |= ready.iter().filter(|&&i| !run.cells[i].ceiling).count() > 1;
    }
    comparable
}

/// The rounds of a first look: until the first bounded interval.
fn rounds(run: &Run, workload: &Workload) -> Range<u32> {
    let settings = &run.header.settings;
    let in_duels = |cell: &CellRecord| duels::turns(settings, workload, &cell.params).is_ok();
    let count = |unit: Unit| settings.max_blocks.min(unit.first() as u32);
    if run.cells.iter().all(in_duels) {
        return 0..count(Unit::Session);
    }
    settings.max_blocks..settings.max_blocks.saturating_add(count(Unit::Block))
}

/// `2 of 11 contenders; 9 more are being built`.
fn how_far(run: &Run, builds: &BTreeMap<String, Built>) -> String {
    let names = |wanted: &dyn Fn(&CellRecord) -> bool| -> BTreeSet<&String> {
        let cells = run.cells.iter().filter(|c| !c.ceiling && wanted(c));
        cells.flat_map(|c| c.compared().map(|(_, name)| name)).collect()
    };
    let all = names(&|cell| cell.status != CellStatus::Skipped).len();
    let measured = names(&|cell| cell.status == CellStatus::Ok).len();
    let to_come = names(&is_alive).into_iter().filter(|name| !builds.contains_key(*name)).count();
    let are = if to_come == 1 { "is" } else { "are" };
    format!("{measured} of {all} contenders; {to_come} more {are} being built")
}

impl Engine<'_> {
    /// Measures the built contenders and displays the result.
    pub(super) fn first_look(
        &mut self,
        run: &mut Run,
        workload: &Workload,
        plan: &CpuPlan,
        (builds, inputs): (&BTreeMap<String, Built>, &[Prepared]),
    ) -> Result<()> {
        // The table is made from the store, and includes failed builds.
        self.store_cells(run)?;
        // The remaining builds need the CPUs that the lab avoids while measuring.
        let _back = CpusBack::of_now();
        let rounds = rounds(run, workload);
        let budget_s = SECONDS_MAX.min(BUDGET_SHARE * run.header.settings.budget_seconds);
        let with = Measuring { workload, plan, builds, inputs, rounds, budget_s, ends_halfway: true };
        self.measure(run, &with)?;
        let measured = run.cells.iter().filter(|c| !c.ceiling && c.status == CellStatus::Ok).count();
        if measured > 1 {
            self.display.first_look(&self.store.load(&run.header.id)?, &how_far(run, builds));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::fixture::{CannedContender, run};

    /// Unmeasured: the baseline, the ceiling, and two others.
    fn planned() -> Run {
        let contender =
            |name| CannedContender { name, status: CellStatus::Ok, rates: &[], sink_cpu_percent: 50 };
        let mut run = run(&["base", "top", "quick", "slow"].map(contender), Some("top"));
        run.cells.iter_mut().for_each(|cell| cell.status = CellStatus::Planned);
        run
    }

    #[test]
    fn a_first_look_wants_the_baseline_a_rival_and_a_long_wait() {
        let run = planned();
        // (built, seconds of the remaining builds) -> due
        type Row<'a> = (&'a [&'a str], &'a [f64], bool);
        let rows: [Row<'_>; 8] = [
            (&["base", "top", "quick"], &[60.0], true),
            (&["base", "quick"], &[1.0, 60.0], true),
            (&["base", "top"], &[5.0, 60.0], false),
            (&["base"], &[60.0, 60.0], false),
            (&["quick", "slow"], &[60.0], false),
            (&["base", "quick"], &[0.0, 60.0], false),
            (&["base", "quick"], &[5.0], false),
            (&["base", "top", "quick", "slow"], &[], false),
        ];
        for (built, to_come, due) in rows {
            assert_eq!(
                is_due(&run, |name| built.contains(&name), to_come, &[]),
                due,
                "{built:?} {to_come:?}"
            );
        }
    }

    #[test]
    fn without_the_baseline_it_waits_for_the_one_that_will_be_instead() {
        let mut run = planned();
        run.cells[0].status = CellStatus::Failed;
        let is_due = |run: &Run| is_due(run, |name| name != "slow", &[60.0], &[]);
        assert!(!is_due(&run), "quick would be alone");
        run.cells[1].ceiling = false;
        assert!(is_due(&run), "quick is the first by name");
    }

    #[test]
    fn it_waits_for_the_contenders_that_the_workload_wants_in_it() {
        let wanted = ["quick", "slow", "elsewhere"].map(str::to_owned);
        let mut run = planned();
        let is_due = |run: &Run| is_due(run, |name| name == "base" || name == "quick", &[60.0], &wanted);
        assert!(!is_due(&run), "slow is not built");
        run.cells[3].status = CellStatus::Failed;
        assert!(is_due(&run), "slow failed to build");
    }

    #[test]
    fn what_is_measured_is_not_looked_at_first() {
        let mut run = planned();
        run.trials = netdyno_lab_store::fixture::run(
            &[CannedContender { name: "base", status: CellStatus::Ok, rates: &[1000], sink_cpu_percent: 50 }],
            None,
        )
        .trials;
        assert!(!is_due(&run, |name| name != "slow", &[60.0], &[]));
    }

    #[test]
    fn blocks_of_a_first_look_are_none_of_the_run() {
        let workload = netdyno_lab_manifest::dummy::workload();
        let mut run = planned();
        assert_eq!(rounds(&run, &workload), 10..13);
        run.header.settings.max_blocks = 2;
        assert_eq!(rounds(&run, &workload), 2..4);
    }
}
