//! Go: `go build -trimpath`.

use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe, Remedy};
use super::job::Job;

pub(super) struct Go;

/// The question for settings that decide what comes out; asked of Go itself, since they may also stand in its own file, and since
/// cgo is on or off by whether there is a C compiler.
const SETTINGS: &[&str] = &[
    "env",
    "-json",
    "GOOS",
    "GOARCH",
    "GOAMD64",
    "GOARM64",
    "GOFLAGS",
    "GOEXPERIMENT",
    "CGO_ENABLED",
    "CGO_CFLAGS",
    "CGO_LDFLAGS",
    "CC",
    "CXX",
];

impl Ecosystem for Go {
    fn missing(&self, _probe: &Probe<'_>) -> Option<Missing> {
        Missing::programs(&["go"], || Remedy::Other("https://go.dev/dl"))
    }

    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError> {
        let version = probe.ask("go", &["version"])?;
        let settings = probe.ask("go", SETTINGS)?;
        Ok(format!("{version}\n{settings}"))
    }

    fn flags(&self) -> &'static [&'static str] {
        // The state of the repository around it is not to be part of the program.
        &["-trimpath", "-buildvcs=false"]
    }

    fn environment(&self) -> &'static [&'static str] {
        &["CGO_*", "PKG_CONFIG_PATH"]
    }

    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("go.sum", None)
    }

    /// The folders that `replace` lines of go.mod name.
    fn local_folders(&self, probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        let answer = probe.ask("go", &["mod", "edit", "-json"])?;
        let module: Module = serde_json::from_str(&answer).map_err(|e| BuildError::Probe {
            contender: probe.contender.id(),
            step: "go mod edit".to_owned(),
            reason: e.to_string(),
        })?;
        let paths = module.replace.into_iter().flatten().map(|r| r.new.path);
        let local =
            paths.filter(|path| path.starts_with("./") || path.starts_with("../") || path.starts_with('/'));
        Ok(local.map(|path| probe.contender.dir.join(path)).collect())
    }

    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError> {
        let package = job.contender.build.bin.as_ref().map_or(".".to_owned(), |bin| format!("./cmd/{bin}"));
        let mut command = Command::new("go");
        command
            .args(["build", "-v"])
            .args(self.flags())
            .arg("-o")
            .arg(job.files().join(&job.contender.name))
            .arg(package)
            .current_dir(&job.contender.dir);
        job.run("go build", &mut command)
    }
}

/// What is read of `go mod edit -json`.
#[derive(Deserialize)]
struct Module {
    #[serde(rename = "Replace")]
    replace: Option<Vec<Replace>>,
}

#[derive(Deserialize)]
struct Replace {
    #[serde(rename = "New")]
    new: Target,
}

#[derive(Deserialize)]
struct Target {
    #[serde(rename = "Path")]
    path: String,
}
