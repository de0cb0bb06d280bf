//! Node: a copy of the contender with `npm ci`, and the SDK as the package `netdyno-contender`.

use std::process::Command;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;

pub(super) struct Npm;

impl Ecosystem for Npm {
    fn missing(&self, _probe: &Probe<'_>) -> Option<Missing> {
        Missing::programs(&["node", "npm"], || Missing::apt(&["nodejs", "npm"]))
    }

    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError> {
        Ok(format!("node {}\nnpm {}", probe.ask("node", &["-v"])?, probe.ask("npm", &["-v"])?))
    }

    fn flags(&self) -> &'static [&'static str] {
        &["--omit=dev"]
    }

    fn environment(&self) -> &'static [&'static str] {
        &["NODE_OPTIONS", "CC", "CXX", "CFLAGS", "CXXFLAGS"]
    }

    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("package-lock.json", Some("npm install --package-lock-only"))
    }

    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError> {
        let files = job.files();
        job.copy(&job.contender.dir, &files)?;
        let mut command = Command::new("npm");
        command
            .arg("ci")
            .args(self.flags())
            .args(["--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"])
            .current_dir(&files);
        job.run("npm ci", &mut command)?;
        match job.sdk {
            // After npm, which removes what the lock file does not name.
            Some(sdk) => job.copy(sdk, &files.join("node_modules/netdyno-contender")),
            None => Ok(()),
        }
    }
}

/// The Node program itself: what is on the PATH may be a script that chooses one.
pub(super) fn node(probe: &Probe<'_>) -> Result<String, BuildError> {
    probe.ask("node", &["-p", "process.execPath"])
}
