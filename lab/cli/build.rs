//! Packs the catalogue into the program: workloads, contenders, SDKs, and the crates of this repository that ours are made of, so
//! that an installed `netdyno` is a whole lab.
//!
//! It is packed as of the last commit: while a file is edited, the program works on the checkout that the file is in, and need
//! not be built again. A build for debugging packs when a manifest changes, so that what it carries is one state. Where this
//! package is built by itself, without its repository, there is no catalogue, and the program says so.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What is packed: `cargo` wants every member of the workspace.
const PACKED: [&str; 11] = [
    "Cargo.toml",
    "Cargo.lock",
    "claims",
    "workloads",
    "contenders",
    "stacks",
    "io",
    "net",
    "bindings",
    "sim",
    "lab",
];
/// What tools write there.
const SKIPPED: [&str; 4] = ["target", "node_modules", "__pycache__", "venv"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../..");
    if std::env::var("PROFILE")? == "release"
        && let Some(log) = reflog(&root)
    {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    let to = PathBuf::from(std::env::var("OUT_DIR")?).join("catalogue.tar.gz");
    let is_whole = PACKED.iter().all(|name| root.join(name).exists());
    if !is_whole {
        return Ok(fs::write(to, [])?);
    }
    let mut files = Vec::new();
    PACKED.iter().try_for_each(|name| list(&root, Path::new(name), &mut files))?;
    files.sort();
    let mut archive = tar::Builder::new(GzEncoder::new(File::create(to)?, Compression::best()));
    archive.mode(tar::HeaderMode::Deterministic);
    for file in files {
        if file.ends_with("contender.toml") || file.parent() == Some(Path::new("workloads")) {
            println!("cargo::rerun-if-changed={}", root.join(&file).display());
        }
        archive.append_path_with_name(root.join(&file), &file)?;
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// The file that git writes to with each commit, merge and checkout.
fn reflog(root: &Path) -> Option<PathBuf> {
    let asked =
        Command::new("git").arg("-C").arg(root).args(["rev-parse", "--git-path", "logs/HEAD"]).output();
    let path = String::from_utf8(asked.ok()?.stdout).ok()?;
    let path = root.join(path.trim_end());
    path.is_file().then_some(path)
}

fn list(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if root.join(path).is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(root.join(path))? {
        let name = entry?.file_name();
        let shown = name.to_string_lossy();
        if !shown.starts_with('.') && !SKIPPED.contains(&&*shown) {
            list(root, &path.join(&name), files)?;
        }
    }
    Ok(())
}
