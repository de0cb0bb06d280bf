//! Load generators: detects cells that were limited by their generator rather than by the contenders.
//!
//! Generators are the roles of standard partners. All figures come from the store.

use crate::load::Load;
use crate::metrics::{self, median};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::TrialRecord;

/// CPU utilisation from which a role counts as the bottleneck.
pub const SATURATED: f64 = 0.9;

/// Median CPU utilisation of each role, relative to the CPUs that it may use. Roles without a measurement are omitted.
pub fn utilisation(workload: &Workload, trials: &[&TrialRecord]) -> Vec<(String, f64)> {
    let share = |role: &String| {
        let shares: Vec<f64> = trials.iter().filter_map(|t| metrics::cpu_share(t, role)).collect();
        median(&shares).map(|s| (role.clone(), s))
    };
    workload.roles.iter().filter_map(share).collect()
}

/// `load 97 %, server 61 %`
pub fn utilisation_text(utilisation: &[(String, f64)]) -> String {
    let texts = utilisation.iter().map(|(role, share)| format!("{role} {:.0} %", 100.0 * share));
    texts.collect::<Vec<_>>().join(", ")
}

/// Why a cell was limited by its generator: the generator was saturated and no compared role was. Not decided for an
/// offered load, where the generator may be busy waiting; [`Load::held`] is the better criterion.
pub fn limit(workload: &Workload, load: Option<&Load>, trials: &[&TrialRecord]) -> Option<String> {
    if workload.partners.is_empty() || load.is_some() {
        return None;
    }
    let utilisation = utilisation(workload, trials);
    let is_saturated = |(_, share): &&(String, f64)| *share >= SATURATED;
    let (generators, compared): (Vec<_>, Vec<_>) =
        utilisation.iter().partition(|(role, _)| workload.partners.contains_key(role));
    let saturated: Vec<&str> =
        generators.iter().copied().filter(is_saturated).map(|(role, _)| role.as_str()).collect();
    if saturated.is_empty() || compared.is_empty() || compared.iter().any(is_saturated) {
        return None;
    }
    Some(format!(
        "the {} is the bottleneck (CPU: {})",
        saturated.join(" and the "),
        utilisation_text(&utilisation)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::CellStatus;
    use netdyno_lab_store::fixture::{CannedContender, run};

    /// The dummy's source uses half of its CPU, the sink `sink_cpu_percent`. `partner` is the role of the generator.
    fn limit_of(sink_cpu_percent: u64, partner: Option<&str>, load: Option<bool>) -> Option<String> {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.partners.extend(partner.map(|role| (role.to_owned(), "standard".to_owned())));
        let one =
            CannedContender { name: "base", status: CellStatus::Ok, rates: &[1000; 3], sink_cpu_percent };
        let run = run(&[one], None);
        let trials: Vec<&TrialRecord> = run.trials.iter().collect();
        let load = load.map(|held| Load { offered: 1.0, achieved: 1.0, held: Some(held) });
        limit(&workload, load.as_ref(), &trials)
    }

    #[test]
    fn a_saturated_generator_next_to_a_waiting_contender_is_the_limit() {
        let why = "the sink is the bottleneck (CPU: source 50 %, sink 97 %)";
        assert_eq!(limit_of(97, Some("sink"), None).as_deref(), Some(why));
        for held in [true, false] {
            assert_eq!(limit_of(97, Some("sink"), Some(held)), None, "a load is offered");
        }
        assert_eq!(limit_of(80, Some("sink"), None), None, "neither is saturated");
        assert_eq!(limit_of(97, Some("source"), None), None, "a compared role is saturated");
        assert_eq!(limit_of(97, None, None), None, "there is no generator");
    }
}
