//! Whether a contender can be built here, determined before any build starts.

use std::collections::BTreeSet;

use super::ecosystem::{Missing, Probe};
use super::{Builder, ecosystem};
use netdyno_lab_manifest::{Contender, Need};

/// Whether a contender can be built here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants describe the fields")]
pub enum Availability {
    /// All prerequisites are installed.
    Available,
    /// Prerequisites are missing; the remedy is the command or page that installs them.
    Unavailable { reason: String, remedy: String },
}

impl Builder {
    /// Checks the toolchain and the contender's other prerequisites.
    pub fn availability(&self, contender: &Contender) -> Availability {
        let probe = self.probe(contender);
        let own = (ecosystem(contender.build.tool).missing)(&probe);
        let needed = contender.build.needs.iter().filter_map(|need| unmet(need, &probe));
        let missing: Vec<Missing> = own.into_iter().chain(needed).collect();
        if missing.is_empty() {
            return Availability::Available;
        }
        let reasons: Vec<&str> = missing.iter().map(|m| m.reason.as_str()).collect();
        let remedy = combined(missing.iter().map(|m| m.remedy.as_str()));
        Availability::Unavailable { reason: reasons.join("; "), remedy }
    }
}

fn unmet(need: &Need, probe: &Probe<'_>) -> Option<Missing> {
    match need {
        Need::Program { program, apt } => Missing::programs(&[program], format!("{APT}{apt}")),
        Need::PkgConfig { pkg_config, apt } => {
            Missing::programs(&["pkg-config"], format!("{APT}pkg-config {apt}")).or_else(|| {
                let absent = probe.denies("pkg-config", &["--exists", pkg_config]);
                let reason = format!("library {pkg_config} not found by pkg-config");
                absent.then(|| Missing { reason, remedy: format!("{APT}{apt}") })
            })
        }
    }
}

const APT: &str = "apt-get install ";

/// One command that installs the packages of several remedies, followed by their web pages; none if there is only one
/// remedy.
pub fn install_all<'a>(remedies: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let installs = |remedy: &&str| remedy.starts_with(APT) || remedy.starts_with("https://");
    let remedies: BTreeSet<&str> = remedies.into_iter().filter(installs).collect();
    (remedies.len() > 1).then(|| combined(remedies.into_iter()))
}

fn combined<'a>(remedies: impl Iterator<Item = &'a str>) -> String {
    let (mut packages, mut others) = (BTreeSet::new(), BTreeSet::new());
    for part in remedies.flat_map(|remedy| remedy.split("; ")) {
        match part.strip_prefix(APT) {
            Some(names) => packages.extend(names.split(' ')),
            None => drop(others.insert(part.to_owned())),
        }
    }
    let packages: Vec<&str> = packages.into_iter().collect();
    let command = (!packages.is_empty()).then(|| format!("{APT}{}", packages.join(" ")));
    command.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_installs_what_all_remedies_name() {
        let all = [
            "apt-get install clang libssl-dev",
            "apt-get install libjansson-dev libssl-dev; https://go.dev/dl",
        ];
        let others = ["", "give it a second CPU", "apt-get install clang libssl-dev"];
        assert_eq!(
            install_all(all.into_iter().chain(others)).as_deref(),
            Some("apt-get install clang libjansson-dev libssl-dev; https://go.dev/dl")
        );
        assert_eq!(install_all(others), None);
    }
}
