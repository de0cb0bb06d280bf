//! Python: a copy of the contender, a virtual environment next to it, and the SDK on the PYTHONPATH. Python packages
//! of the repository among its sources are built with the build tools of the lock file, and installed into the
//! environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::cargo;
use super::ecosystem::{Ecosystem, Missing, Probe};
use super::job::Job;
use super::limits::BUILT_PACKAGES_MAX;
use super::npm::is_below;
use super::package::{Package, owner};
use super::remove_folder;
use super::{BuildError, Result};
use netdyno_lab_manifest::Contender;

pub(super) const REQUIREMENTS: &str = "requirements.txt";
/// Options of every installation from it.
const FLAGS: &[&str] = &["--require-hashes"];

const PACKAGES: &str = include_str!("packages.py");

pub(super) static PIP: Ecosystem = Ecosystem {
    missing,
    toolchain: |probe| {
        let mut text = probe.ask("python3", &["-VV"])?;
        if of_the_repository(probe.contender).any(|package| package.join("Cargo.toml").is_file()) {
            text.push_str(&format!("\n{}", probe.ask("rustc", &["-vV"])?));
        }
        Ok(text)
    },
    flags: FLAGS,
    environment: "PIP_NO_BINARY PIP_ONLY_BINARY PIP_PREFER_BINARY RUSTFLAGS CC CXX CFLAGS CXXFLAGS",
    lock_file: (REQUIREMENTS, Some("pip-compile --generate-hashes")),
    local_folders,
    unreleased: |probe| {
        let text = probe.file(REQUIREMENTS)?;
        let archive = |path| archive(probe, path).map_err(|rule| probe.source_error(REQUIREMENTS, rule));
        text.lines().filter_map(local_path).map(archive).collect()
    },
    build,
};

/// The Rust sources of the repository's packages.
fn local_folders(probe: &Probe<'_>) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for package in of_the_repository(probe.contender).filter(|package| package.join("Cargo.toml").is_file()) {
        let found = cargo::path_dependencies(probe, package, Vec::new())?;
        let workspaces = found.iter().filter(|path| path.ends_with("Cargo.toml"));
        let locks = workspaces.map(|path| path.with_file_name("Cargo.lock"));
        folders.extend(locks.filter(|path| path.is_file()));
        folders.extend(found);
    }
    Ok(folders)
}

/// A virtual environment cannot be moved, so it is created in its final folder.
fn build(job: &mut Job<'_>) -> Result<()> {
    job.copy(&job.contender.dir, &job.files())?;
    if let Some(sdk) = job.sdk {
        job.copy(sdk, &sdk_folder(job.entry))?;
    }
    environment(job)?;
    for package in of_the_repository(job.contender) {
        install(job, &package)?;
    }
    job.packages = installed(job);
    Ok(())
}

/// The Python packages of the repository among a contender's sources.
fn of_the_repository(contender: &Contender) -> impl Iterator<Item = PathBuf> {
    // contenders/WORKLOAD/NAME
    let root = contender.dir.ancestors().nth(3);
    let folders =
        contender.build.sources.iter().filter_map(move |folder| root?.join(folder).canonicalize().ok());
    folders.filter(|folder| folder.join("pyproject.toml").is_file())
}

/// Builds a package of the repository and installs it. Its build tools are already installed, by their hashes; all
/// Rust code shares one target folder.
fn install(job: &mut Job<'_>, package: &Path) -> Result<()> {
    // Backends such as setuptools write into the folder of the package. Rust packages are built in place, because their path
    // dependencies may be outside of it; Cargo writes into the target folder only.
    let copy = job.entry.join("package");
    let package = if package.join("Cargo.toml").is_file() {
        package
    } else {
        remove_folder(&copy).map_err(|e| BuildError::cache(&copy, e))?;
        job.copy(package, &copy)?;
        &copy
    };
    let programs = job.entry.join("venv/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)));
    let mut install = pip_install(job);
    install
        .args(["--no-index", "--no-deps", "--no-build-isolation"])
        .arg(package)
        .env("CARGO_TARGET_DIR", job.work.join("cargo-python"))
        .env("PATH", path.unwrap_or_default());
    job.run("pip install", &mut install)
}

fn pip_install(job: &Job<'_>) -> Command {
    let mut install = Command::new(python(job.entry));
    install
        .args(["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"])
        .current_dir(job.files())
        .env_remove("PYTHONPATH");
    install
}

fn installed(job: &mut Job<'_>) -> Result<Vec<Package>, String> {
    let lines = run_script(job, "listing the packages", PACKAGES).map_err(|e| e.to_string())?;
    let parsed = lines.iter().filter_map(|line| serde_json::from_str::<Installed>(line).ok());
    Ok(parsed.map(Installed::package).take(BUILT_PACKAGES_MAX).collect())
}

/// Runs a Python script in a build's virtual environment. Returns the lines of its output.
pub(super) fn run_script(job: &mut Job<'_>, step: &str, script: &str) -> Result<Vec<String>> {
    let mut python = Command::new(python(job.entry));
    python.args(["-c", script]).current_dir(job.entry).env_remove("PYTHONPATH");
    job.ask(step, &mut python)
}

#[derive(Deserialize)]
struct Installed {
    name: String,
    version: String,
    addresses: Vec<String>,
    folder: PathBuf,
    files: Vec<PathBuf>,
}

impl Installed {
    fn package(self) -> Package {
        Package {
            name: self.name,
            version: self.version,
            owners: self.addresses.iter().filter_map(|address| owner(address)).collect(),
            folder: self.folder,
            // Files outside (`../`) are only start scripts.
            files: Some(self.files.into_iter().filter(|f| f.components().all(is_below)).collect()),
            ..Package::default()
        }
    }
}

/// The path of a requirement that is a local file or folder.
fn local_path(line: &str) -> Option<&str> {
    let line = line.trim();
    let editable = ["-e ", "--editable ", "--editable="].iter().find_map(|option| line.strip_prefix(option));
    let place = editable.or_else(|| line.split_once(" @ ").map(|(_, place)| place)).unwrap_or(line);
    let place = place.split_whitespace().next()?;
    let file = place.strip_prefix("file://").or_else(|| place.strip_prefix("file:"));
    file.or_else(|| place.starts_with(['.', '/', '~']).then_some(place))
}

/// Describes a local requirement. Only archives in the contender's own folder can be installed by hash.
fn archive(probe: &Probe<'_>, path: &str) -> Result<String, String> {
    let outside = Path::new(path).components().any(|part| !is_below(part));
    if outside || !probe.contender.dir.join(path).is_file() {
        return Err(format!(
            "{path} is not an archive in this folder, and pip installs only archives by hash: run \
             `pip wheel --no-deps --wheel-dir . {path}`, then name ./THE.whl with the hash that `pip hash` prints"
        ));
    }
    Ok(path.to_owned())
}

/// Creates the build's virtual environment and installs the requirements.
pub(super) fn environment(job: &mut Job<'_>) -> Result<()> {
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(job.entry.join("venv")).current_dir(&job.contender.dir);
    job.run("python3 -m venv", make.env_remove("PYTHONPATH"))?;
    let mut install = pip_install(job);
    job.run("pip install", install.args(FLAGS).args(["-r", REQUIREMENTS]))
}

/// A missing part of Python itself.
pub(super) fn missing(probe: &Probe<'_>) -> Option<Missing> {
    let remedy = "apt-get install python3 python3-venv";
    Missing::programs(&["python3"], remedy).or_else(|| {
        let absent = probe.denies("python3", &["-c", "import venv, ensurepip"]);
        absent.then(|| Missing { reason: "python3 has no venv".to_owned(), remedy: remedy.to_owned() })
    })
}

pub(super) fn python(entry: &Path) -> PathBuf {
    entry.join("venv/bin/python")
}

/// The SDK's copy on the PYTHONPATH.
pub(super) fn sdk_folder(entry: &Path) -> PathBuf {
    entry.join("sdk")
}
