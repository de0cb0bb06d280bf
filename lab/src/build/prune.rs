//! Builds of another state than the current one of this checkout: what they take, and their removal.
//!
//! Does not touch what tools share between builds (`work`): the next build would begin from nothing.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::built::Record;
use super::limits::RECORD_BYTES_MAX;
use super::{Availability, BuildError, Builder, job, lock_path};
use crate::manifest::Contender;

/// A build that no contender of this checkout would use.
#[derive(Debug)]
pub struct Stale {
    /// Name of its folder: `<contender>-<16 hex>`.
    pub name: String,
    /// What its files take.
    pub bytes: u64,
    folder: PathBuf,
}

impl Builder {
    /// The builds that none of these contenders would use as it stands now. Those of a contender whose state cannot be
    /// told, since a tool is missing, are not among them.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn stale<'a>(
        &self,
        contenders: impl Iterator<Item = &'a Contender>,
    ) -> Result<Vec<Stale>, BuildError> {
        let (mut current, mut unknown) = (BTreeSet::new(), BTreeSet::new());
        for contender in contenders {
            let is_available = matches!(self.availability(contender), Availability::Available);
            match self.inputs(contender) {
                Ok(inputs) if is_available => {
                    current.insert(format!("{}-{}", contender.name, &inputs.key[..16]))
                }
                _ => unknown.insert(contender.id()),
            };
        }
        let builds = self.cache.join("builds");
        let entries = match fs::read_dir(&builds) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(BuildError::cache(&builds, e)),
        };
        let mut stale = Vec::new();
        for folder in entries.flatten().map(|e| e.path()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let is_unknown = contender_of(&folder).is_none_or(|id| unknown.contains(&id));
            if !current.contains(&name) && !is_unknown {
                stale.push(Stale { bytes: bytes_below(&folder), name, folder });
            }
        }
        stale.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(stale)
    }

    /// Removes a build and its log, unless somebody builds it just now; whether it was removed.
    ///
    /// # Errors
    /// When the cache does not let it be removed.
    pub fn remove(&self, stale: &Stale) -> Result<bool, BuildError> {
        let error = |e| BuildError::cache(&stale.folder, e);
        let lock = job::open_lock(&lock_path(&self.cache.join("work"), &stale.name)).map_err(error)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        // The record first: what is left of an interrupted removal is no finished build.
        for gone in [fs::remove_file(stale.folder.join("build.json")), fs::remove_dir_all(&stale.folder)] {
            match gone {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(error(e)),
                _ => {}
            }
        }
        let log = self.cache.join("logs").join(format!("{}.log", stale.name));
        // A log without its build is small, and in nobody's way.
        let _ = fs::remove_file(log);
        Ok(true)
    }
}

/// Whose build this is; none of one that is not finished: the next build of that contender sweeps it.
fn contender_of(folder: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(folder.join("build.json")).ok()?.take(RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(serde_json::from_str::<Record>(&text).ok()?.contender)
}

/// What the files below a folder take; links are not followed.
fn bytes_below(folder: &Path) -> u64 {
    let (mut folders, mut bytes) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(m) if m.is_dir() => folders.push(entry.path()),
                Ok(m) => bytes += m.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}
