//! The network of a workload's trials.

use netdyno_lab_manifest::{Link, Net};
use netdyno_lab_manifest::{ManifestError, Workload};

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
