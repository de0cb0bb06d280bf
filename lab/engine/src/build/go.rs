//! Go: `go build -trimpath`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe, Remedy};
use super::job::Job;
use super::limits::BUILT_PACKAGES_MAX;
use super::package::{Package, owner_of_module};

pub(super) struct Go;

/// The query for settings that affect the build. Go itself is queried, since settings may be in its own file, and
/// since the default of cgo depends on the C compiler.
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

/// The template for a package's module; empty for the standard library.
const MODULE: &str = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}";

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
        // The state of the enclosing repository must not be part of the program.
        &["-trimpath", "-buildvcs=false"]
    }

    fn environment(&self) -> &'static [&'static str] {
        &["CGO_*", "PKG_CONFIG_PATH"]
    }

    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("go.sum", None)
    }

    /// The folders in `replace` lines of go.mod.
    fn local_folders(&self, probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        let local = replaced(probe)?.into_iter().filter(Replace::is_local);
        Ok(local.map(|replace| probe.contender.dir.join(replace.new.path)).collect())
    }

    /// The modules that replace others.
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
            .arg(&package)
            .current_dir(&job.contender.dir);
        job.run("go build", &mut command)?;
        job.packages = modules(job, &package);
        Ok(())
    }
}

/// The modules with packages in the program, which excludes those that only their tests need.
fn modules(job: &mut Job<'_>, package: &str) -> Result<Vec<Package>, String> {
    let mut command = Command::new("go");
    command.args(["list", "-deps", "-f", MODULE, package]).current_dir(&job.contender.dir);
    let mut modules: BTreeSet<String> = BTreeSet::new();
    let listed = job.run_reading("go list", &mut command, &mut |line| {
        if modules.len() < BUILT_PACKAGES_MAX {
            modules.insert(line.to_owned());
        }
        true
    });
    listed.map_err(|e| e.to_string())?;
    Ok(modules.iter().filter_map(|line| module(line)).collect())
}

/// Parses a line of the reply to [`MODULE`].
fn module(line: &str) -> Option<Package> {
    let [path, version, folder] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
    Some(Package {
        name: path.to_owned(),
        version: version.trim_start_matches('v').to_owned(),
        owners: vec![owner_of_module(path)],
        folder: PathBuf::from(folder),
        is_local: version.is_empty(),
        ..Package::default()
    })
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

/// The used part of `go mod edit -json`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_told_by_its_line() {
        for (line, expected) in [
            (
                "example.org/a/b/v4\tv4.2.0\t/m/b@v4.2.0",
                Some(("example.org/a/b/v4", "4.2.0", "example.org/a", false)),
            ),
            ("example.org/main\t\t/here", Some(("example.org/main", "", "example.org/main", true))),
            ("", None),
        ] {
            let found = module(line);
            let actual = found.as_ref().map(|p| (&*p.name, &*p.version, &*p.owners[0], p.is_local));
            assert_eq!(actual, expected, "{line}");
        }
    }
}
