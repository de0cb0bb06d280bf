//! System: programs of the distribution, started as they are. Nothing is built; what they are is in the key, since their
//! files are hashed.

use std::path::PathBuf;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;
use netdyno_lab_manifest::Need;

pub(super) struct System;

impl System {
    /// Where the programs that the contender needs are.
    fn programs(probe: &Probe<'_>) -> Vec<PathBuf> {
        let program = |need: &Need| match need {
            Need::Program { program, .. } => which::which(program).ok(),
            Need::PkgConfig { .. } => None,
        };
        probe.contender.build.needs.iter().filter_map(program).collect()
    }
}

impl Ecosystem for System {
    /// The programs are `needs`, which are looked for anyway.
    fn missing(&self, _probe: &Probe<'_>) -> Option<Missing> {
        None
    }

    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError> {
        let paths: Vec<String> = Self::programs(probe).iter().map(|p| p.display().to_string()).collect();
        Ok(format!("installed: {}", paths.join(", ")))
    }

    fn flags(&self) -> &'static [&'static str] {
        &[]
    }

    fn environment(&self) -> &'static [&'static str] {
        &[]
    }

    /// A distribution pins its packages itself; the version that the manifest names is checked against `ready`.
    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("contender.toml", None)
    }

    fn local_folders(&self, probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        Ok(Self::programs(probe))
    }

    fn build(&self, _job: &mut Job<'_>) -> Result<(), BuildError> {
        Ok(())
    }
}
