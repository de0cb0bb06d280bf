//! Node: a copy of the contender with `npm ci`, and the SDK as the package `netdyno-contender`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::Result;
use super::ecosystem::{Ecosystem, Missing, Probe, none};
use super::job::Job;
use super::limits::BUILT_PACKAGES_MAX;
use super::package::{self, owner};

pub(super) static NPM: Ecosystem = Ecosystem {
    missing: |_| Missing::programs(&["node", "npm"], "apt-get install nodejs npm"),
    toolchain: |probe| {
        Ok(format!("node {}\nnpm {}", probe.ask("node", &["-v"])?, probe.ask("npm", &["-v"])?))
    },
    flags: FLAGS,
    environment: "NODE_OPTIONS CC CXX CFLAGS CXXFLAGS",
    lock_file: ("package-lock.json", Some("npm install --package-lock-only")),
    local_folders: none,
    unreleased,
    build,
};

const FLAGS: &[&str] = &["--omit=dev"];
const PACKAGE: &str = "package.json";
const MODULES: &str = "node_modules";

/// Dependencies on files in package.json. Folders outside the contender are rejected: npm would create a link that is
/// broken in the copy.
fn unreleased(probe: &Probe<'_>) -> Result<Vec<String>> {
    let text = probe.file(PACKAGE)?;
    let package: Package = serde_json::from_str(&text).map_err(|e| probe.source_error(PACKAGE, e))?;
    let all = package.dependencies.into_iter().chain(package.optional_dependencies);
    let local = all.filter_map(|(name, version)| Some((name, local_path(&version)?.to_owned())));
    local
        .map(|(name, path)| match Path::new(&path).components().any(|c| !is_below(c)) {
            false => Ok(format!("{name} from {path}")),
            true => Err(probe.source_error(
                PACKAGE,
                format!(
                    "dependency {name} is {path}, outside this folder: run `npm pack` there, put the archive here, and \
                     depend on it as file:./{name}-VERSION.tgz"
                ),
            )),
        })
        .collect()
}

fn build(job: &mut Job<'_>) -> Result<()> {
    let files = job.files();
    job.copy(&job.contender.dir, &files)?;
    let mut command = Command::new("npm");
    command.arg("ci").args(FLAGS).args(["--no-audit", "--no-fund", "--no-update-notifier", "--no-progress"]);
    job.run("npm ci", command.current_dir(&files))?;
    // Before the SDK is added.
    job.packages = installed(&files.join(MODULES));
    match job.sdk {
        // After npm, which removes packages that the lock file does not name.
        Some(sdk) => job.copy(sdk, &files.join(MODULES).join("netdyno-contender")),
        None => Ok(()),
    }
}

/// The packages in the top folder; those of a scope are one folder deeper.
fn installed(modules: &Path) -> Result<Vec<package::Package>, String> {
    let mut packages = Vec::new();
    let mut folders = folders(modules);
    while let Some(folder) = folders.pop() {
        if folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('@')) {
            folders.extend(self::folders(&folder));
        } else if let Ok(text) = fs::read_to_string(folder.join(PACKAGE)) {
            let read = serde_json::from_str::<Installed>(&text);
            packages.push(read.map_err(|e| format!("{}: {e}", folder.display()))?.package(folder));
        }
        if packages.len() > BUILT_PACKAGES_MAX {
            return Err(format!("more than {BUILT_PACKAGES_MAX} packages"));
        }
    }
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// The used part of an installed package's package.json.
#[derive(Deserialize)]
struct Installed {
    name: String,
    version: String,
    /// An address, or an object with its `url`.
    #[serde(default)]
    repository: serde_json::Value,
}

impl Installed {
    fn package(self, folder: PathBuf) -> package::Package {
        let address = self.repository.as_str().or_else(|| self.repository["url"].as_str());
        // `owner/name` without host is on GitHub.
        let owned = address.and_then(|address| match address.contains(':') {
            true => owner(address),
            false => owner(&format!("github:{address}")),
        });
        package::Package {
            name: self.name,
            version: self.version,
            owners: owned.into_iter().collect(),
            folder,
            ..package::Package::default()
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Package {
    dependencies: BTreeMap<String, String>,
    optional_dependencies: BTreeMap<String, String>,
}

/// The path of a version that is a file or folder.
fn local_path(version: &str) -> Option<&str> {
    let path = version.strip_prefix("file:").or_else(|| version.strip_prefix("link:"));
    path.or_else(|| version.starts_with(['.', '/', '~']).then_some(version))
}

/// Whether a path component stays inside.
pub(super) fn is_below(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_) | Component::CurDir)
}

/// The Node program itself: that on the PATH may be a wrapper script.
pub(super) fn node(probe: &Probe<'_>) -> Result<String> {
    probe.ask("node", &["-p", "process.execPath"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installed_packages_are_told_by_their_own_files() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            fs::create_dir_all(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join(PACKAGE), text).unwrap();
        };
        let package =
            |name: &str, more: &str| write(name, &format!(r#"{{"name":"{name}","version":"1.0.0"{more}}}"#));
        package("a", r#","repository":{"type":"git","url":"git+https://example.org/me/a.git"}"#);
        package("@scope/b", r#","repository":"me/b""#);
        package("c", "");
        fs::create_dir_all(dir.path().join(".bin")).unwrap();
        let found = installed(dir.path()).unwrap();
        let actual: Vec<_> = found.iter().map(|p| (&*p.name, p.owners.concat())).collect();
        let expected = [("@scope/b", "github.com/me"), ("a", "example.org/me"), ("c", "")];
        assert_eq!(actual, expected.map(|(name, owner)| (name, owner.to_owned())));
        assert_eq!(installed(&dir.path().join("gone")).unwrap(), []);
        write("d", "no JSON");
        assert!(installed(dir.path()).unwrap_err().contains("/d: "));
    }
}
