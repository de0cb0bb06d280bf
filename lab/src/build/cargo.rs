//! Rust: `cargo build --release --locked`, fat LTO, one codegen unit.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::BuildError;
use super::ecosystem::{Ecosystem, Missing, Probe, Remedy};
use super::job::Job;
use super::limits::LOCAL_PACKAGES_MAX;
use crate::manifest::hex;

pub(super) struct Cargo;

impl Ecosystem for Cargo {
    fn missing(&self, _probe: &Probe<'_>) -> Option<Missing> {
        Missing::programs(&["cargo", "rustc"], || Remedy::Other("https://rustup.rs"))
    }

    fn toolchain(&self, probe: &Probe<'_>) -> Result<String, BuildError> {
        Ok(format!("{}\n{}", probe.ask("cargo", &["-V"])?, probe.ask("rustc", &["-vV"])?))
    }

    fn flags(&self) -> &'static [&'static str] {
        &[
            "--release",
            "--locked",
            "--config",
            "profile.release.lto=\"fat\"",
            "--config",
            "profile.release.codegen-units=1",
        ]
    }

    fn environment(&self) -> &'static [&'static str] {
        &[
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_*",
            "CARGO_PROFILE_*",
            "CARGO_TARGET_*",
            "RUSTC",
            "RUSTC_WRAPPER",
            "CC",
            "CXX",
            "CFLAGS",
            "CXXFLAGS",
            "LDFLAGS",
            "PKG_CONFIG_PATH",
            "OPENSSL_*",
        ]
    }

    fn lock_file(&self) -> (&'static str, Option<&'static str>) {
        ("Cargo.lock", Some("cargo generate-lockfile"))
    }

    /// The packages that it depends on by path, and theirs, with the workspaces that they inherit from.
    fn local_folders(&self, probe: &Probe<'_>) -> Result<Vec<PathBuf>, BuildError> {
        let args = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
        let contender = probe.contender.id();
        let bad = |reason| BuildError::Probe {
            contender: contender.clone(),
            step: "cargo metadata".to_owned(),
            reason,
        };
        let patches = patches(probe).map_err(|e| probe.source_error("Cargo.toml", e))?;
        let mut found: BTreeSet<PathBuf> = patches.into_iter().collect();
        let mut queue = vec![fs::canonicalize(&probe.contender.dir).map_err(|e| bad(e.to_string()))?];
        queue.extend(found.iter().cloned());
        while let Some(folder) = queue.pop() {
            let metadata: Metadata = serde_json::from_str(&probe.ask_in(&folder, "cargo", &args)?)
                .map_err(|e| bad(e.to_string()))?;
            let manifest = fs::canonicalize(folder.join("Cargo.toml")).map_err(|e| bad(e.to_string()))?;
            let packages = metadata.packages.into_iter().filter(|p| p.manifest_path == manifest);
            for path in packages.flat_map(|p| p.dependencies).filter(|d| !d.is_dev()).filter_map(|d| d.path) {
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

    /// The commits that the lock file names.
    fn unreleased(&self, probe: &Probe<'_>) -> Result<Vec<String>, BuildError> {
        let lock = probe.file("Cargo.lock")?;
        let sources = lock.lines().filter_map(|line| line.strip_prefix("source = \"git+")?.strip_suffix('"'));
        let mut commits: Vec<String> = sources.map(commit).collect();
        commits.sort();
        commits.dedup();
        Ok(commits)
    }

    /// All contenders of one toolchain share a target folder, and so the dependencies that they have in common.
    fn build(&self, job: &mut Job<'_>) -> Result<(), BuildError> {
        let id = hex(&Sha256::digest(job.toolchain))[..8].to_owned();
        let target = job.work.join(format!("cargo-{id}"));
        // Two contenders may have a binary of the same name: the lock is held until ours is copied.
        let _lock = job.lock(&job.work.join(format!("cargo-{id}.lock")))?;
        let mut command = Command::new("cargo");
        command
            .arg("build")
            .args(self.flags())
            .arg("--message-format=json-render-diagnostics")
            .current_dir(&job.contender.dir)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_PROGRESS_WHEN", "never");
        if let Some(bin) = &job.contender.build.bin {
            command.args(["--bin", bin]);
        }
        let mut built: Vec<PathBuf> = Vec::new();
        job.run_reading("cargo build", &mut command, &mut |line| {
            // Cargo says where the binary is: a configured target or profile moves it.
            let message = serde_json::from_str::<Message>(line);
            built.extend(message.ok().and_then(|m| m.executable));
            line.starts_with('{')
        })?;
        let [binary] = built.as_slice() else {
            let rule = format!("builds {} binaries; name one in contender.toml as build.bin", built.len());
            return Err(job.source_error(&job.contender.dir, rule));
        };
        let to = job.files().join(&job.contender.name);
        fs::copy(binary, &to).map(drop).map_err(|e| BuildError::cache(&to, e))
    }
}

/// The folders that `[patch]` puts in the place of packages: `cargo metadata` does not tell them.
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

/// `https://example.org/lib?branch=main#0123..` in words.
fn commit(source: &str) -> String {
    let (place, revision) = source.split_once('#').unwrap_or((source, ""));
    let place = place.split('?').next().unwrap_or(place);
    format!("{place} (git {})", revision.get(..12).unwrap_or(revision))
}

/// What is read of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    kind: Option<String>,
    path: Option<PathBuf>,
}

impl Dependency {
    fn is_dev(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

/// What is read of a line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
}
