//! C: one compiler call for the sources of the contender and the SDK, `-O2`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Result;
use super::ecosystem::{Ecosystem, Missing, Probe, none};
use super::job::Job;
use netdyno_lab_manifest::Need;

pub(super) static CC: Ecosystem = Ecosystem {
    missing: |_| Missing::programs(&["cc"], "apt-get install build-essential"),
    toolchain,
    flags: FLAGS,
    environment: "PKG_CONFIG_PATH PKG_CONFIG_LIBDIR CPATH C_INCLUDE_PATH LIBRARY_PATH",
    // The distribution pins its libraries; their versions are part of the toolchain.
    lock_file: ("contender.toml", None),
    local_folders: none,
    unreleased: none,
    build,
};

const FLAGS: &[&str] = &["-std=gnu17", "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-pthread"];

/// Library versions are included: headers and flags affect the build.
fn toolchain(probe: &Probe<'_>) -> Result<String> {
    let mut text = format!("{}\n{}", probe.ask("cc", &["--version"])?, probe.ask("cc", &["-dumpmachine"])?);
    for library in libraries(&probe.contender.build.needs) {
        let version = probe.ask("pkg-config", &["--modversion", library])?;
        let flags = probe.ask("pkg-config", &["--cflags", "--libs", library])?;
        text.push_str(&format!("\n{library} {version} {flags}"));
    }
    Ok(text)
}

fn build(job: &mut Job<'_>) -> Result<()> {
    let libraries = libraries(&job.contender.build.needs);
    let mut flags: Vec<String> = Vec::new();
    if !libraries.is_empty() {
        let mut ask = Command::new("pkg-config");
        ask.args(["--cflags", "--libs"]).args(&libraries).current_dir(&job.contender.dir);
        flags = job.ask("pkg-config", &mut ask)?;
    }
    let mut command = Command::new("cc");
    command.args(FLAGS).arg("-o").arg(job.files().join(&job.contender.name));
    for folder in [Some(job.contender.dir.as_path()), job.sdk].into_iter().flatten() {
        command.arg("-I").arg(folder);
        command.args(sources(folder).map_err(|e| job.source_error(folder, e.to_string()))?);
    }
    let flags = flags.iter().flat_map(|line| line.split_whitespace());
    command.args(flags).current_dir(&job.contender.dir);
    job.run("cc", &mut command)
}

fn libraries(needs: &[Need]) -> Vec<&str> {
    needs
        .iter()
        .filter_map(|need| match need {
            Need::PkgConfig { pkg_config, .. } => Some(pkg_config.as_str()),
            Need::Program { .. } => None,
        })
        .collect()
}

/// The sorted C files of a folder, without subfolders such as tests and templates.
fn sources(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "c") && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
