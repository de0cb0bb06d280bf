//! Node: a copy of the contender with `npm ci`, and the SDK as the package `netdyno-contender`.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::process::Command;

use serde::Deserialize;

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;

pub(super) struct Npm;

const PACKAGE: &str = "package.json";

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

    /// What package.json takes from a file. A folder elsewhere is refused: npm would make a link that leads nowhere from
    /// the copy that is built.
    fn unreleased(&self, probe: &Probe<'_>) -> Result<Vec<String>, BuildError> {
        let refused = |rule| probe.source_error(PACKAGE, rule);
        let text = probe.file(PACKAGE)?;
        let package: Package = serde_json::from_str(&text).map_err(|e| refused(e.to_string()))?;
        let all = package.dependencies.into_iter().chain(package.optional_dependencies);
        let local = all.filter_map(|(name, version)| Some((name, local_path(&version)?.to_owned())));
        local
            .map(|(name, path)| match Path::new(&path).components().any(|c| !is_below(c)) {
                false => Ok(format!("{name} from {path}")),
                true => Err(refused(format!(
                    "dependency {name} is {path}, outside this folder: run `npm pack` there, put the archive here, and \
                     depend on it as file:./{name}-VERSION.tgz"
                ))),
            })
            .collect()
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

/// What is read of package.json.
#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
    #[serde(default, rename = "optionalDependencies")]
    optional_dependencies: BTreeMap<String, String>,
}

/// The path of a version that is a file or folder.
fn local_path(version: &str) -> Option<&str> {
    let path = version.strip_prefix("file:").or_else(|| version.strip_prefix("link:"));
    path.or_else(|| version.starts_with(['.', '/', '~']).then_some(version))
}

/// Whether a part of a path leads no further up.
pub(super) fn is_below(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_) | Component::CurDir)
}

/// The Node program itself: what is on the PATH may be a script that chooses one.
pub(super) fn node(probe: &Probe<'_>) -> Result<String, BuildError> {
    probe.ask("node", &["-p", "process.execPath"])
}
