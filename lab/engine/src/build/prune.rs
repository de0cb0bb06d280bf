//! Outdated builds of this checkout, inputs of outdated programs, compared revisions, and catalogues of other
//! versions: their sizes and their removal.
//!
//! The state that tools share between builds (`work`) is kept, since it makes later builds faster.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::{
    Availability, BuildError, Builder, Result, built, job, lock_path, prepare, remove_folder, unless_absent,
};
use netdyno_lab_manifest::Contender;

/// The file that marks a complete revision.
pub(crate) const REVISION_RECORD: &str = "whole";

/// A folder of the cache that this checkout does not use.
#[derive(Debug)]
pub struct Stale {
    /// `build`, `input`, `revision` or `catalogue`.
    pub kind: &'static str,
    /// Its folder's name: `<contender>-<16 hex>`.
    pub name: String,
    /// The size of its files.
    pub bytes: u64,
    folder: PathBuf,
}

impl Builder {
    /// The builds that none of these contenders uses in its current state, and inputs from other builds; the programs
    /// of inputs are among the contenders. If a contender's state is unknown because a tool is missing, its builds
    /// are kept. `carried` names the program's own catalogue.
    pub fn stale<'a>(
        &self,
        contenders: impl Iterator<Item = &'a Contender>,
        carried: &str,
    ) -> Result<Vec<Stale>> {
        let (mut current, mut keys, mut unknown) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for contender in contenders {
            let is_available = matches!(self.availability(contender), Availability::Available);
            match self.inputs(contender) {
                Ok(inputs) if is_available => {
                    current.insert(format!("{}-{}", contender.name, &inputs.record.key[..16]));
                    keys.insert(inputs.record.key)
                }
                _ => unknown.insert(contender.id()),
            };
        }
        // An unfinished build is removed by the contender's next one.
        let is_stale_build = |folder: &Path, name: &str| {
            let record = built::read_any_record(folder);
            !current.contains(name) && record.is_some_and(|record| !unknown.contains(&record.contender))
        };
        let is_stale_input = |folder: &Path, _: &str| {
            let made = |(maker, key)| !keys.contains(&key) && !unknown.contains(&maker);
            prepare::program_of(folder).is_none_or(made)
        };
        let mut stale = self.stale_in("build", &is_stale_build)?;
        stale.extend(self.stale_in("input", &is_stale_input)?);
        // A revision is written again when needed.
        stale.extend(self.stale_in("revision", &|_, _| true)?);
        stale.extend(self.stale_in("catalogue", &|_, name| name != carried)?);
        Ok(stale)
    }

    fn stale_in(&self, kind: &'static str, is_stale: &dyn Fn(&Path, &str) -> bool) -> Result<Vec<Stale>> {
        let all = self.cache.join(format!("{kind}s"));
        let entries = match fs::read_dir(&all) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(BuildError::cache(&all, e)),
        };
        let mut stale = Vec::new();
        for folder in entries.flatten().map(|e| e.path()).filter(|path| path.is_dir()) {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_stale(&folder, &name) {
                stale.push(Stale { kind, bytes: bytes_below(&folder), name, folder });
            }
        }
        stale.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(stale)
    }

    /// Removes a folder and its log, unless another lab is building it. Returns whether it was removed.
    pub fn remove(&self, stale: &Stale) -> Result<bool> {
        let error = |e| BuildError::cache(&stale.folder, e);
        let lock = job::open_lock(&lock_path(&self.cache.join("work"), &stale.name)).map_err(error)?;
        if lock.try_lock().is_err() {
            return Ok(false);
        }
        // The record first, so that an interrupted removal leaves no finished build.
        let record = stale.folder.join(match stale.kind {
            "build" => built::RECORD,
            "input" => prepare::RECORD,
            _ => REVISION_RECORD,
        });
        unless_absent(fs::remove_file(record)).map_err(error)?;
        remove_folder(&stale.folder).map_err(error)?;
        // A log without its build is small and harmless.
        let _ = fs::remove_file(self.cache.join("logs").join(format!("{}.log", stale.name)));
        Ok(true)
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let files = WalkDir::new(folder).into_iter().flatten().filter(|entry| !entry.file_type().is_dir());
    files.filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
}
