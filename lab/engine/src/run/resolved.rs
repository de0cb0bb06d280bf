//! A run to start: its cells and settings, and the network of its trials.

use netdyno_lab_analysis::claims::keep_asked;
use netdyno_lab_analysis::duels;
use netdyno_lab_manifest::{Link, ManifestError, Net, Workload};
use netdyno_lab_store::{CellRecord, Question, Settings};

/// A run to start.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names of the fields say it")]
pub struct Resolved {
    pub workload: Workload,
    pub cells: Vec<CellRecord>,
    pub settings: Settings,
    /// Rounds for now; none: as many as the settings permit.
    pub rounds: Option<u32>,
    pub warnings: Vec<String>,
    pub command: Vec<String>,
}

impl Resolved {
    /// Sets the questions, and drops cells that they do not need.
    pub fn ask(&mut self, questions: Vec<Question>) {
        let Self { workload, settings, .. } = self;
        let in_duels = |cell: &CellRecord| duels::turns(settings, workload, &cell.params).is_ok();
        keep_asked(&mut self.cells, &questions, settings.baseline.as_deref(), in_duels);
        self.settings.questions = questions;
    }
}

/// The requested network or the workload's default: a shared loopback, or a link if each role needs its own network.
/// A request for a shared network is an error if the workload needs separate ones.
pub fn network_of(workload: &Workload, asked: Option<Net>) -> Result<Net, ManifestError> {
    let Some(why) = &workload.networks_apart else { return Ok(asked.unwrap_or_default()) };
    match asked.unwrap_or_else(|| Net::Veth(Link::default())) {
        net @ Net::Veth(_) => Ok(net),
        net @ (Net::Loopback | Net::Host) => {
            let rule = format!(
                "a {net} is one network for all roles, and in {} each needs its own: {why}; leave it out, or use veth",
                workload.name
            );
            Err(ManifestError::Value { name: "net".to_owned(), rule })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_networks_apart_has_a_link_or_nothing() {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        let veth = || Net::Veth(Link { mtu: 9000, ..Link::default() });
        for asked in [Net::Loopback, Net::Host, veth()] {
            assert_eq!(network_of(&workload, Some(asked.clone())), Ok(asked));
        }
        assert_eq!(network_of(&workload, None), Ok(Net::Loopback));
        workload.networks_apart = Some("both are at one port".to_owned());
        assert_eq!(network_of(&workload, None), Ok(Net::Veth(Link::default())));
        assert_eq!(network_of(&workload, Some(veth())), Ok(veth()));
        for (asked, told) in [(Net::Loopback, "loopback namespace"), (Net::Host, "host loopback")] {
            let refused = network_of(&workload, Some(asked)).unwrap_err().to_string();
            assert!(refused.contains(told) && refused.contains("both are at one port"), "{refused}");
        }
    }
}
