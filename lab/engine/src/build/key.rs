//! The key of a build: a hash of all inputs that affect it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::ecosystem::{Ecosystem, Probe};
use super::tools::ecosystem;
use super::tree::{Refused, Tree};
use super::{BuildError, local};
use netdyno_lab_manifest::{Contender, hex};

/// Incremented if the layout of a build, its record or the meaning of its key changes.
const FORMAT: u32 = 4;
/// A contender's manifest.
const MANIFEST: &str = "contender.toml";

/// All inputs that affect a build.
#[derive(Debug)]
pub(super) struct Inputs {
    /// 64 hex digits.
    pub(super) key: String,
    pub(super) folders: Vec<String>,
    pub(super) files: usize,
    pub(super) toolchain: String,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) lock_hash: Option<String>,
    /// Those that are not a release.
    pub(super) local: Option<String>,
}

/// Reads and hashes the inputs of a contender's build. `catalog` is the repository whose stacks and SDKs do not count
/// as local copies.
pub(super) fn inputs(probe: &Probe<'_>, catalog: &Path, sdk: Option<&Path>) -> Result<Inputs, BuildError> {
    let contender = probe.contender;
    let root = contender.root();
    let tool = ecosystem(contender.build.tool);
    let refused = |refused: Refused| BuildError::Source {
        contender: contender.id(),
        path: refused.path,
        rule: refused.rule,
    };
    let lock_hash = lock_hash(tool, contender)?;
    let toolchain = tool.toolchain(probe)?;
    let environment = environment(tool.environment());
    let mut named = vec![contender.dir.clone()];
    named.extend(sdk.map(Path::to_owned));
    named.extend(contender.build.sources.iter().map(|folder| root.join(folder)));
    let theirs = tool.local_folders(probe)?;
    let others = tool.unreleased(probe)?;
    named.extend(theirs.iter().cloned());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in named {
        let unreadable =
            |e: std::io::Error| Refused { path: folder.clone(), rule: format!("cannot be read: {e}") };
        let folder = fs::canonicalize(&folder).map_err(unreadable).map_err(refused)?;
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }

    let mut hash = Sha256::new();
    let mut text = |part: &str| {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    };
    for part in [FORMAT.to_string().as_str(), contender.build.tool.name(), &contender.id(), &toolchain] {
        text(part);
    }
    text(&format!("{:?}", tool.flags()));
    text(contender.build.bin.as_deref().unwrap_or_default());
    text(&format!("{environment:?}"));
    let mut files = 0;
    let mut names = Vec::new();
    for folder in &folders {
        let name = relative(folder, root);
        text(&name);
        names.push(name);
    }
    for folder in &folders {
        files += hash_input(folder, &mut hash).map_err(refused)?;
    }
    let key = hex(&hash.finalize());
    let catalog = fs::canonicalize(catalog).unwrap_or_else(|_| catalog.to_owned());
    let local = local::describe(probe, &catalog, &theirs, others);
    Ok(Inputs { key, folders: names, files, toolchain, environment, lock_hash, local })
}

/// Hashes the files of a folder, or a single file. Returns their number.
fn hash_input(path: &Path, hash: &mut Sha256) -> Result<usize, Refused> {
    if path.is_file() {
        let refused = |e: std::io::Error| Refused { path: path.to_owned(), rule: e.to_string() };
        let content = fs::read(path).map_err(refused)?;
        hash.update((content.len() as u64).to_be_bytes());
        hash.update(content);
        return Ok(1);
    }
    // Manifest fields that affect the build are part of the key; a changed description does not cause a rebuild.
    let tree = Tree::list(path)?.without(MANIFEST);
    tree.hash(hash)?;
    Ok(tree.len())
}

/// A folder's path relative to the repository, so that the key does not depend on the checkout's location.
fn relative(folder: &Path, root: &Path) -> String {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    folder.strip_prefix(&root).unwrap_or(folder).to_string_lossy().into_owned()
}

fn lock_hash(tool: &dyn Ecosystem, contender: &Contender) -> Result<Option<String>, BuildError> {
    let (name, maker) = tool.lock_file();
    let path = contender.dir.join(name);
    let error = |rule: String| BuildError::Source { contender: contender.id(), path: path.clone(), rule };
    match (fs::read(&path), maker) {
        (Ok(content), _) => Ok(Some(hex(&Sha256::digest(content)))),
        (Err(e), None) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        (Err(e), Some(maker)) if e.kind() == std::io::ErrorKind::NotFound => {
            Err(error(format!("missing; every build requires a lock file: {maker}")))
        }
        (Err(e), _) => Err(error(format!("cannot be read: {e}"))),
    }
}

/// The matching environment variables, by name.
fn environment(names: &[&str]) -> BTreeMap<String, String> {
    let wanted = |key: &str| {
        names.iter().any(|name| match name.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == *name,
        })
    };
    // The target folder is set by the lab.
    let ours =
        |key: &str| key == "CARGO_TARGET_DIR" || key == "CARGO_BUILD_JOBS" || key == "CARGO_BUILD_TARGET_DIR";
    let all = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()));
    all.filter(|(key, _)| wanted(key) && !ours(key)).collect()
}
