//! Go: `go build -trimpath`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::Result;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;
use super::limits::BUILT_PACKAGES_MAX;
use super::package::{Package, owner_of_module};

pub(super) static GO: Ecosystem = Ecosystem {
    missing: |_| Missing::programs(&["go"], "https://go.dev/dl"),
    toolchain: |probe| Ok(format!("{}\n{}", probe.ask("go", &["version"])?, probe.ask("go", SETTINGS)?)),
    flags: FLAGS,
    environment: "CGO_* PKG_CONFIG_PATH",
    lock_file: ("go.sum", None),
    local_folders,
    unreleased,
    build,
};

// The state of the enclosing repository must not be part of the program.
const FLAGS: &[&str] = &["-trimpath", "-buildvcs=false"];

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
    "CGO_CPPFLAGS",
    "CGO_CXXFLAGS",
    "CGO_LDFLAGS",
    "CC",
    "CXX",
];

/// The template for a package's module; empty for the standard library.
const MODULE: &str = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}";

fn local_folders(probe: &Probe<'_>) -> Result<Vec<PathBuf>> {
    let local = replaced(probe)?.into_iter().filter(Replace::is_local);
    Ok(local.map(|replace| probe.contender.dir.join(replace.new.path)).collect())
}

/// The modules that replace others.
fn unreleased(probe: &Probe<'_>) -> Result<Vec<String>> {
    let forks = replaced(probe)?.into_iter().filter(|replace| !replace.is_local());
    Ok(forks.map(|Replace { old, new }| format!("{} {} for {}", new.path, new.version, old.path)).collect())
}

fn build(job: &mut Job<'_>) -> Result<()> {
    let package = job.contender.build.bin.as_ref().map_or(".".to_owned(), |bin| format!("./cmd/{bin}"));
    let mut command = go();
    command.args(["build", "-v"]).args(FLAGS).arg("-o").arg(job.files().join(&job.contender.name));
    job.run("go build", command.arg(&package).current_dir(&job.contender.dir))?;
    job.packages = modules(job, &package);
    Ok(())
}

/// The go command without a workspace: a `go.work` in a parent folder would replace modules by folders that are not part of
/// the build's key.
fn go() -> Command {
    let mut command = Command::new("go");
    command.env("GOWORK", "off");
    command
}

/// The modules with packages in the program, which excludes those that only their tests need.
fn modules(job: &mut Job<'_>, package: &str) -> Result<Vec<Package>, String> {
    let mut command = go();
    command.args(["list", "-deps", "-f", MODULE, package]).current_dir(&job.contender.dir);
    let lines = job.ask("go list", &mut command).map_err(|e| e.to_string())?;
    let lines: BTreeSet<String> = lines.into_iter().collect();
    Ok(lines.iter().filter_map(|line| module(line)).take(BUILT_PACKAGES_MAX).collect())
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

fn replaced(probe: &Probe<'_>) -> Result<Vec<Replace>> {
    let answer = probe.ask("go", &["mod", "edit", "-json"])?;
    let module: Module = serde_json::from_str(&answer).map_err(|e| probe.error("go mod edit", e))?;
    Ok(module.replace.unwrap_or_default())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Module {
    replace: Option<Vec<Replace>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Replace {
    old: Target,
    new: Target,
}

impl Replace {
    fn is_local(&self) -> bool {
        ["./", "../", "/"].iter().any(|begin| self.new.path.starts_with(begin))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Target {
    path: String,
    #[serde(default)]
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
