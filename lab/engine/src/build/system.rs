//! System: programs of the distribution, which are not built. Their files are hashed, so that they are part of the
//! key.

use std::path::PathBuf;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;
use netdyno_lab_manifest::Need;

pub(super) struct System;

impl System {
    /// The paths of the required programs.
    fn programs(probe: &Probe<'_>) -> Vec<PathBuf> {
        let program = |need: &Need| match need {
            Need::Program { program, .. } => which::which(program).ok(),
            Need::PkgConfig { .. } => None,
        };
        probe.contender.build.needs.iter().filter_map(program).collect()
    }
}

impl Ecosystem for System {
    /// The programs are listed in `needs`, which is checked separately.
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

    /// The distribution pins its packages; the manifest's version is checked against `ready`.
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
