//! The key of a build: a hash of all inputs that affect it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::built::{Record, not_countable};
use super::ecosystem::Probe;
use super::tree::{Refused, Tree, unreadable};
use super::{BuildError, Result, ecosystem, local};
use netdyno_lab_manifest::{Contender, hex};

/// Incremented if the layout of a build, its record or the meaning of its key changes.
const FORMAT: u32 = 4;
const MANIFEST: &str = "contender.toml";

#[derive(Debug)]
pub(super) struct Inputs {
    /// A record that only lacks the result of the build.
    pub(super) record: Record,
    /// Those that are not a release.
    pub(super) local: Option<String>,
}

/// Reads and hashes the inputs of a contender's build. `catalog` is the repository whose stacks and SDKs do not count
/// as local copies.
pub(super) fn inputs(probe: &Probe<'_>, catalog: &Path, sdk: Option<&Path>) -> Result<Inputs> {
    let contender = probe.contender;
    let root = contender.root();
    let tool = ecosystem(contender.build.tool);
    let refused = |refused: Refused| BuildError::invalid(contender, &refused.path, refused.rule);
    let lock_hash = lock_hash(tool.lock_file, contender)?;
    let toolchain = (tool.toolchain)(probe)?;
    let environment = environment(tool.environment);
    let mut named = vec![contender.dir.clone()];
    named.extend(sdk.map(Path::to_owned));
    named.extend(contender.build.sources.iter().map(|folder| root.join(folder)));
    let theirs = (tool.local_folders)(probe)?;
    let others = (tool.unreleased)(probe)?;
    named.extend(theirs.iter().cloned());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in named {
        let folder = fs::canonicalize(&folder).map_err(|e| refused(unreadable(&folder, &e)))?;
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let inputs: Vec<String> = folders.iter().map(|folder| relative(folder, root)).collect();

    let mut hash = Sha256::new();
    let (flags, variables) = (format!("{:?}", tool.flags), format!("{environment:?}"));
    let bin = contender.build.bin.as_deref().unwrap_or_default();
    let id = contender.id();
    let format = FORMAT.to_string();
    let texts = [&*format, contender.build.tool.name(), &id, &toolchain, &flags, bin, &variables];
    for text in texts.into_iter().chain(inputs.iter().map(String::as_str)) {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    let mut files = 0;
    for folder in &folders {
        files += hash_input(folder, &mut hash).map_err(refused)?;
    }
    let catalog = fs::canonicalize(catalog).unwrap_or_else(|_| catalog.to_owned());
    let local = local::describe(probe, &catalog, &theirs, others);
    let record = Record {
        key: hex(&hash.finalize()),
        contender: id,
        tool: contender.build.tool,
        inputs,
        files,
        toolchain,
        flags: tool.flags.iter().map(|flag| (*flag).to_owned()).collect(),
        environment,
        lock_hash,
        seconds: 0.0,
        built_at: String::new(),
        log: PathBuf::new(),
        lines: not_countable(),
    };
    Ok(Inputs { record, local })
}

/// Hashes the files of a folder, or a single file. Returns their number.
fn hash_input(path: &Path, hash: &mut Sha256) -> Result<usize, Refused> {
    if path.is_file() {
        let content = fs::read(path).map_err(|e| Refused { path: path.to_owned(), rule: e.to_string() })?;
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

fn lock_hash((name, maker): (&str, Option<&str>), contender: &Contender) -> Result<Option<String>> {
    let path = contender.dir.join(name);
    let rule = match (fs::read(&path), maker) {
        (Ok(content), _) => return Ok(Some(hex(&Sha256::digest(content)))),
        (Err(e), None) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        (Err(e), Some(maker)) if e.kind() == std::io::ErrorKind::NotFound => {
            format!("missing; every build requires a lock file: {maker}")
        }
        (Err(e), _) => format!("cannot be read: {e}"),
    };
    Err(BuildError::invalid(contender, &path, rule))
}

/// The matching environment variables, by name.
fn environment(names: &str) -> BTreeMap<String, String> {
    let wanted = |key: &str| {
        names.split(' ').any(|name| match name.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == name,
        })
    };
    // The target folder is set by the lab.
    let ours = ["CARGO_TARGET_DIR", "CARGO_BUILD_JOBS", "CARGO_BUILD_TARGET_DIR"];
    let all = std::env::vars_os()
        .map(|(k, v)| (k.to_string_lossy().into_owned(), v.to_string_lossy().into_owned()));
    all.filter(|(key, _)| wanted(key) && !ours.contains(&key.as_str())).collect()
}
