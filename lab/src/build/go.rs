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
        let local = replaced(probe)?.into_iter().filter(Replace::is_local);
        Ok(local.map(|replace| probe.contender.dir.join(replace.new.path)).collect())
    }

    /// The modules that stand in for others.
    fn unreleased(&self, probe: &Probe<'_>) -> Result<Vec<String>, BuildError> {
        let forks = replaced(probe)?.into_iter().filter(|replace| !replace.is_local());
        Ok(forks
            .map(|Replace { old, new }| format!("{} {} for {}", new.path, new.version, old.path))
            .collect())
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

/// The `replace` lines of go.mod.
fn replaced(probe: &Probe<'_>) -> Result<Vec<Replace>, BuildError> {
    let answer = probe.ask("go", &["mod", "edit", "-json"])?;
    let module: Module = serde_json::from_str(&answer).map_err(|e| BuildError::Probe {
        contender: probe.contender.id(),
        step: "go mod edit".to_owned(),
        reason: e.to_string(),
    })?;
    Ok(module.replace.unwrap_or_default())
}

/// What is read of `go mod edit -json`.
#[derive(Deserialize)]
struct Module {
    #[serde(rename = "Replace")]
    replace: Option<Vec<Replace>>,
}

#[derive(Deserialize)]
struct Replace {
    #[serde(rename = "Old")]
    old: Target,
    #[serde(rename = "New")]
    new: Target,
}

impl Replace {
    fn is_local(&self) -> bool {
        ["./", "../", "/"].iter().any(|begin| self.new.path.starts_with(begin))
    }
}

#[derive(Deserialize)]
struct Target {
    #[serde(rename = "Path")]
    path: String,
    #[serde(rename = "Version", default)]
    version: String,
}
