//! System: programs of the distribution, which are not built. Their files are hashed, so that they are part of the
//! key.

use std::path::PathBuf;

use super::ecosystem::{Ecosystem, Probe, none};
use netdyno_lab_manifest::Need;

pub(super) static SYSTEM: Ecosystem = Ecosystem {
    // The programs are listed in `needs`, which is checked separately.
    missing: |_| None,
    toolchain: |probe| {
        let paths: Vec<String> = programs(probe).iter().map(|p| p.display().to_string()).collect();
        Ok(format!("installed: {}", paths.join(", ")))
    },
    flags: &[],
    environment: "",
    // The distribution pins its packages; the manifest's version is checked against `ready`.
    lock_file: ("contender.toml", None),
    local_folders: |probe| Ok(programs(probe)),
    unreleased: none,
    build: |_| Ok(()),
};

fn programs(probe: &Probe<'_>) -> Vec<PathBuf> {
    let program = |need: &Need| match need {
        Need::Program { program, .. } => which::which(program).ok(),
        Need::PkgConfig { .. } => None,
    };
    probe.contender.build.needs.iter().filter_map(program).collect()
}
