//! Was a cell held back by who works the others, a load generator, rather than by those who are compared? From the store's rows
//! alone, as every other figure. The generators are the roles that standard partners play.

use crate::load::Load;
use crate::metrics::{self, median};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::TrialRecord;

/// A role whose CPUs are busy for at least this share of the window is what holds the others back.
pub const SATURATED: f64 = 0.9;

/// How busy each role was, of the CPUs that it may use: the median of the trials. One that was not measured is left out.
#[must_use]
pub fn busy(workload: &Workload, trials: &[&TrialRecord]) -> Vec<(String, f64)> {
    let share = |role: &String| {
        let shares: Vec<f64> = trials.iter().filter_map(|t| metrics::cpu_share(t, role)).collect();
        median(&shares).map(|s| (role.clone(), s))
    };
    workload.roles.iter().filter_map(share).collect()
}

/// `load 97 %, server 61 %`
#[must_use]
pub fn told(busy: &[(String, f64)]) -> String {
    let of = |(role, share): &(String, f64)| format!("{role} {:.0} %", 100.0 * share);
    busy.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// Why the figures of a cell are its generator's, where they are: that was busy all the time, and no role that is compared was. Where a
/// load was asked for, it may be busy with waiting for what is due: whether the load was held says more.
#[must_use]
pub fn limit(workload: &Workload, load: Option<&Load>, trials: &[&TrialRecord]) -> Option<String> {
    if workload.partners.is_empty() || load.is_some() {
        return None;
    }
    let busy = busy(workload, trials);
    let is_full = |(_, share): &&(String, f64)| *share >= SATURATED;
    let (generators, compared): (Vec<_>, Vec<_>) =
        busy.iter().partition(|(role, _)| workload.partners.contains_key(role));
    let full: Vec<&str> = generators.iter().copied().filter(is_full).map(|(role, _)| role.as_str()).collect();
    if full.is_empty() || compared.is_empty() || compared.iter().any(is_full) {
        return None;
    }
    Some(format!("the {} is the limit (CPU: {})", full.join(" and the "), told(&busy)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::CellStatus;
    use netdyno_lab_store::fixture::{Contender, run};

    /// The dummy's source uses half of its CPU, the sink what is asked for. `partner` is the role of the generator.
    fn limit_of(sink_cpu_percent: u64, partner: Option<&str>, load: Option<bool>) -> Option<String> {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.partners.extend(partner.map(|role| (role.to_owned(), "standard".to_owned())));
        let one = Contender { name: "base", status: CellStatus::Ok, rates: &[1000; 3], sink_cpu_percent };
        let run = run(&[one], None);
        let trials: Vec<&TrialRecord> = run.trials.iter().collect();
        let load = load.map(|held| Load { offered: 1.0, achieved: 1.0, held: Some(held) });
        limit(&workload, load.as_ref(), &trials)
    }

    #[test]
    fn a_full_generator_beside_one_that_waits_is_the_limit() {
        let why = "the sink is the limit (CPU: source 50 %, sink 97 %)";
        assert_eq!(limit_of(97, Some("sink"), None).as_deref(), Some(why));
        for held in [true, false] {
            assert_eq!(limit_of(97, Some("sink"), Some(held)), None, "a load was asked for");
        }
        assert_eq!(limit_of(80, Some("sink"), None), None, "neither is full");
        assert_eq!(limit_of(97, Some("source"), None), None, "who is compared is full");
        assert_eq!(limit_of(97, None, None), None, "nobody is a generator");
    }
}
