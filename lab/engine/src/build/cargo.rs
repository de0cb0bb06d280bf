//! Rust: `cargo build --release --locked`, fat LTO, one codegen unit.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;
use super::limits::{BUILT_PACKAGES_MAX, LOCAL_PACKAGES_MAX};
use super::package::{Package, owner};
use super::{BuildError, Result};
use netdyno_lab_manifest::hex;

pub(super) static CARGO: Ecosystem = Ecosystem {
    missing: |_| Missing::programs(&["cargo", "rustc"], "https://rustup.rs"),
    toolchain: |probe| Ok(format!("{}\n{}", probe.ask("cargo", &["-V"])?, probe.ask("rustc", &["-vV"])?)),
    flags: FLAGS,
    environment: "RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_* CARGO_PROFILE_* CARGO_TARGET_* RUSTC RUSTC_WRAPPER \
                  CC CXX CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH OPENSSL_*",
    lock_file: ("Cargo.lock", Some("cargo generate-lockfile")),
    local_folders,
    unreleased,
    build,
};

const FLAGS: &[&str] = &[
    "--release",
    "--locked",
    "--config",
    "profile.release.lto=\"fat\"",
    "--config",
    "profile.release.codegen-units=1",
];

/// The packages on which it depends by path, recursively, and the workspaces they inherit from.
fn local_folders(probe: &Probe<'_>) -> Result<Vec<PathBuf>> {
    let patches = patches(probe).map_err(|e| probe.source_error("Cargo.toml", e))?;
    let own = fs::canonicalize(&probe.contender.dir).map_err(|e| probe.source_error("Cargo.toml", e))?;
    path_dependencies(probe, own, patches)
}

fn unreleased(probe: &Probe<'_>) -> Result<Vec<String>> {
    let lock = probe.file("Cargo.lock")?;
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = \"git+")?.strip_suffix('"'));
    Ok(sources.map(commit).collect::<BTreeSet<String>>().into_iter().collect())
}

/// Contenders of one toolchain share target folders, and thus their common dependencies. Cargo locks the one it uses, so
/// a second build at the same time needs a second one.
fn build(job: &mut Job<'_>) -> Result<()> {
    let id = &hex(&Sha256::digest(job.toolchain))[..8];
    let targets = [format!("cargo-{id}"), format!("cargo-{id}-2")].map(|name| job.work.join(name));
    // Binaries of two contenders may have the same name: the lock is held until ours is copied.
    let (index, _lock) = job.lock_one_of(&targets.each_ref().map(|folder| folder.with_extension("lock")))?;
    let target = &targets[index];
    let mut command = Command::new("cargo");
    command
        .arg("build")
        .args(FLAGS)
        .arg("--message-format=json-render-diagnostics")
        .current_dir(&job.contender.dir)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never");
    if let Some(bin) = &job.contender.build.bin {
        command.args(["--bin", bin]);
    }
    let mut built: Vec<PathBuf> = Vec::new();
    let mut packages: BTreeMap<String, Package> = BTreeMap::new();
    job.run_reading("cargo build", &mut command, &mut |line| {
        // Cargo reports the path of the binary, which depends on target and profile.
        if let Ok(message) = serde_json::from_str::<Message>(line) {
            built.extend(message.executable.clone());
            note(&mut packages, message);
        }
        line.starts_with('{')
    })?;
    job.packages = Ok(packages.into_iter().map(described).collect());
    let [binary] = built.as_slice() else {
        let rule = format!("builds {} binaries; name one in contender.toml as build.bin", built.len());
        return Err(job.source_error(&job.contender.dir, rule));
    };
    let to = job.files().join(&job.contender.name);
    fs::copy(binary, &to).map(drop).map_err(|e| BuildError::cache(&to, e))
}

/// The packages on which `folder` and `patches` depend by path, recursively, and the workspaces they inherit from.
pub(super) fn path_dependencies(
    probe: &Probe<'_>,
    folder: PathBuf,
    patches: Vec<PathBuf>,
) -> Result<Vec<PathBuf>> {
    let args = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let bad = |reason: String| probe.error("cargo metadata", reason);
    let mut found: BTreeSet<PathBuf> = patches.into_iter().chain(configurations(&folder)).collect();
    let mut queue = vec![folder];
    queue.extend(found.iter().filter(|path| path.is_dir()).cloned());
    while let Some(folder) = queue.pop() {
        let metadata: Metadata =
            serde_json::from_str(&probe.ask_in(&folder, "cargo", &args)?).map_err(|e| bad(e.to_string()))?;
        let manifest = fs::canonicalize(folder.join("Cargo.toml")).map_err(|e| bad(e.to_string()))?;
        let packages = metadata.packages.into_iter().filter(|p| p.manifest_path == manifest);
        for path in packages
            .flat_map(|p| p.dependencies)
            .filter(|d| d.kind.as_deref() != Some("dev"))
            .filter_map(|d| d.path)
        {
            if found.insert(path.clone()) {
                queue.push(path);
            }
        }
        if metadata.workspace_root != folder {
            found.insert(metadata.workspace_root.join("Cargo.toml"));
        }
        if found.len() > LOCAL_PACKAGES_MAX {
            return Err(bad(format!("more than {LOCAL_PACKAGES_MAX} local packages")));
        }
    }
    Ok(found.into_iter().collect())
}

/// Cargo's configuration files for a build in `folder`: those of its parents and of the user, which may change flags and
/// profiles (The Cargo Book, "Configuration").
fn configurations(folder: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| etcetera::home_dir().ok().map(|home| home.join(".cargo")));
    let folders = folder.ancestors().map(|parent| parent.join(".cargo")).chain(home);
    // Cargo prefers the name without extension.
    let file = |folder: PathBuf| {
        ["config", "config.toml"].map(|name| folder.join(name)).into_iter().find(|f| f.is_file())
    };
    folders.filter_map(file).collect()
}

/// Records the package of a message: every package is reported, compiled or fresh.
fn note(packages: &mut BTreeMap<String, Package>, message: Message) {
    let Some(id) = message.package_id.filter(|_| packages.len() < BUILT_PACKAGES_MAX) else { return };
    let package = packages.entry(id).or_default();
    package.made.extend(message.out_dir);
    if let Some(folder) = message.manifest_path.as_deref().and_then(Path::parent) {
        package.folder = folder.to_owned();
    }
}

/// Completes a package from its id (`cargo help pkgid`) and, for its owner, from its manifest.
fn described((id, package): (String, Package)) -> Package {
    let (place, of_it) = id.split_once('#').unwrap_or((&id, ""));
    let path = place.split('?').next().unwrap_or(place);
    let (name, version) = of_it.split_once('@').unwrap_or((path.rsplit('/').next().unwrap_or(path), of_it));
    let text = fs::read_to_string(package.folder.join("Cargo.toml")).unwrap_or_default();
    let manifest = text.parse::<toml::Table>().unwrap_or_default();
    let repository = manifest.get("package").and_then(|package| package.get("repository")?.as_str());
    Package {
        name: name.to_owned(),
        version: version.to_owned(),
        owners: repository.and_then(owner).into_iter().collect(),
        is_local: id.starts_with("path+"),
        ..package
    }
}

/// The folders of `[patch]` tables, which `cargo metadata` does not report.
fn patches(probe: &Probe<'_>) -> Result<Vec<PathBuf>, String> {
    let text = probe.file("Cargo.toml").map_err(|e| e.to_string())?;
    let manifest: toml::Table = text.parse().map_err(|e: toml::de::Error| e.message().to_owned())?;
    let sources = manifest.get("patch").and_then(toml::Value::as_table).into_iter().flat_map(|t| t.values());
    let packages = sources.filter_map(toml::Value::as_table).flat_map(|t| t.values());
    let paths = packages.filter_map(|package| package.get("path")?.as_str());
    paths
        .map(|path| fs::canonicalize(probe.contender.dir.join(path)).map_err(|e| format!("{path}: {e}")))
        .collect()
}

/// Formats `https://example.org/lib?branch=main#0123..`.
fn commit(source: &str) -> String {
    let (place, revision) = source.split_once('#').unwrap_or((source, ""));
    let place = place.split('?').next().unwrap_or(place);
    format!("{place} (git {})", revision.get(..12).unwrap_or(revision))
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Member>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Member {
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    kind: Option<String>,
    path: Option<PathBuf>,
}

/// The used part of a line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    out_dir: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_told_by_its_id() {
        for (id, name, version, is_local) in [
            ("registry+https://example.org/index#lib@1.2.0+3.4", "lib", "1.2.0+3.4", false),
            ("git+https://example.org/a/lib?branch=main#1.2.0", "lib", "1.2.0", false),
            ("path+file:///home/me/lib#1.2.0", "lib", "1.2.0", true),
            ("path+file:///home/me/folder#lib@1.2.0", "lib", "1.2.0", true),
        ] {
            let package = described((id.to_owned(), Package::default()));
            assert_eq!(
                (&*package.name, &*package.version, package.is_local),
                (name, version, is_local),
                "{id}"
            );
        }
    }

    #[test]
    fn a_message_names_a_package_its_folder_and_what_its_build_script_made() {
        let mut packages = BTreeMap::new();
        for line in [
            r#"{"reason":"compiler-artifact","package_id":"r#a@1.0.0","manifest_path":"/r/a/Cargo.toml","executable":null}"#,
            r#"{"reason":"build-script-executed","package_id":"r#a@1.0.0","out_dir":"/t/out"}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ] {
            note(&mut packages, serde_json::from_str(line).unwrap());
        }
        let package = described(packages.pop_first().unwrap());
        assert_eq!(
            (&*package.name, package.folder, package.made),
            ("a", "/r/a".into(), vec!["/t/out".into()])
        );
        assert!(packages.is_empty());
    }
}
