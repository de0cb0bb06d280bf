//! Python: a copy of the contender, a virtual environment of its own beside it, and the SDK on the PYTHONPATH.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;

pub(super) struct Pip;

impl Ecosystem for Pip {
    fn missing(&self, probe: &Probe<'_>) -> Option<Missing> {
        let packages = || Missing::apt(&["python3", "python3-venv"]);
        Missing::programs(&["python3"], packages).or_else(|| {
            let absent = probe.denies("python3", &["-c", "import venv, ensurepip"]);
            absent.then(|| Missing { reason: "python3 has no venv".to_owned(), remedy: packages() })
        })
    }

    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError> {
        probe.ask("python3", &["-VV"])
    }

    fn flags(&self) -> &'static [&'static str] {
        &["--require-hashes"]
    }

    fn environment(&self) -> &'static [&'static str] {
        &["PIP_NO_BINARY", "PIP_ONLY_BINARY", "PIP_PREFER_BINARY", "CC", "CXX", "CFLAGS", "CXXFLAGS"]
    }

    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("requirements.txt", Some("pip-compile --generate-hashes"))
    }

    /// A virtual environment cannot be moved, so it is made where it will stay.
    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError> {
        job.copy(&job.contender.dir, &job.files())?;
        if let Some(sdk) = job.sdk {
            job.copy(sdk, &sdk_folder(job.entry))?;
        }
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(job.entry.join("venv")).current_dir(&job.contender.dir);
        job.run("python3 -m venv", make.env_remove("PYTHONPATH"))?;
        let mut install = Command::new(python(job.entry));
        install
            .args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"])
            .args(self.flags())
            .args(["-r", self.lock_file().0])
            .current_dir(job.files())
            .env_remove("PYTHONPATH");
        job.run("pip install", &mut install)
    }
}

/// The Python of a build's virtual environment.
pub(super) fn python(entry: &Path) -> PathBuf {
    entry.join("venv/bin/python")
}

/// The SDK's copy, which goes on the PYTHONPATH.
pub(super) fn sdk_folder(entry: &Path) -> PathBuf {
    entry.join("sdk")
}
