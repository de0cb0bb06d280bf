//! Whether a contender can be built here: asked before any build begins.

use std::sync::atomic::AtomicBool;

use super::ecosystem::{Missing, Probe, Remedy, ecosystem};
use super::limits::PROBE_LIMIT;
use super::process::Watch;
use crate::manifest::{Contender, Need};

/// Whether a contender can be built here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// Everything that it needs is there.
    Available,
    /// Something is missing.
    Unavailable {
        /// What is missing.
        reason: String,
        /// The command or page that installs it.
        remedy: String,
    },
}

/// Looks for the toolchain and for everything that the contender needs beside it.
pub(super) fn availability(contender: &Contender, cancel: &AtomicBool) -> Availability {
    let probe = Probe { contender, watch: Watch::new(cancel, PROBE_LIMIT) };
    let mut missing: Vec<Missing> = ecosystem(contender.build.tool).missing(&probe).into_iter().collect();
    missing.extend(contender.build.needs.iter().filter_map(|need| unmet(need, &probe)));
    if missing.is_empty() {
        return Availability::Available;
    }
    let reasons: Vec<String> = missing.iter().map(|m| m.reason.clone()).collect();
    Availability::Unavailable { reason: reasons.join("; "), remedy: remedy(missing) }
}

fn unmet(need: &Need, probe: &Probe<'_>) -> Option<Missing> {
    match need {
        Need::Program { program, apt } => Missing::programs(&[program], || Missing::apt(&[apt])),
        Need::PkgConfig { pkg_config, apt } => {
            Missing::programs(&["pkg-config"], || Missing::apt(&["pkg-config", apt])).or_else(|| {
                let absent = probe.denies("pkg-config", &["--exists", pkg_config]);
                let reason = format!("library {pkg_config} not found by pkg-config");
                absent.then(|| Missing { reason, remedy: Missing::apt(&[apt]) })
            })
        }
    }
}

/// One command for all packages, and what is not a package after it.
fn remedy(missing: Vec<Missing>) -> String {
    let (mut packages, mut others) = (Vec::new(), Vec::new());
    for m in missing {
        match m.remedy {
            Remedy::Apt(names) => packages.extend(names),
            Remedy::Other(other) => others.push(other.to_owned()),
        }
    }
    packages.sort();
    packages.dedup();
    let mut parts = Vec::new();
    if !packages.is_empty() {
        parts.push(format!("apt-get install {}", packages.join(" ")));
    }
    parts.extend(others);
    parts.join("; ")
}
