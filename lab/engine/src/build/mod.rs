//! Builds, named by a hash of their inputs.
//!
//! Does: determine whether a contender can be built here, build it once for each state of its sources, lock file,
//! toolchain and flags, and provide the commands of its roles. Does not: run roles, or know any contender by name.
//!
//! ```text
//! <cache>/builds/<contender>-<16 hex>/files/   the build: {dir}
//!                                   /build.json   the record, written last: marks a finished build
//! <cache>/inputs/                              inputs of trials: prepare.rs
//! <cache>/logs/<contender>-<16 hex>.log        output of the tools
//! <cache>/work/                                locks, and state that tools share between builds
//! <cache>/revisions/, <cache>/catalogues/       sources of builds: revisions.rs, embedded.rs
//! ```
//!
//! A build is made in its final folder, because a virtual environment cannot be moved. It is finished once its record
//! has been moved into place; a folder without record is left over from an interrupted build, and is removed.

mod availability;
mod built;
mod cargo;
mod cc;
#[cfg(feature = "lines")]
mod count;
mod ecosystem;
mod error;
mod expected;
mod go;
mod java;
mod job;
mod key;
pub mod limits;
mod local;
mod npm;
#[cfg_attr(not(feature = "lines"), allow(dead_code))]
mod package;
mod pip;
mod prepare;
mod process;
mod prune;
#[cfg(feature = "lines")]
mod source_lines;
#[cfg(all(test, feature = "lines"))]
mod source_lines_tests;
mod system;
#[cfg(test)]
mod tests;
mod tree;

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use etcetera::BaseStrategy;

pub use availability::{Availability, install_all};
pub use built::{Built, Record, RoleCommand};
use ecosystem::{Ecosystem, Probe};
pub use error::{BuildError, cache_remedy};
use error::{Result, remedy_for};
use job::Job;
use key::Inputs;
use limits::{BUILD_LIMIT, PROBE_LIMIT, RECORD_BYTES_MAX};
pub use prepare::{Prepared, PreparedInput};
use process::Watch;
pub(crate) use process::first_line;
pub(crate) use prune::REVISION_RECORD;
pub use prune::Stale;
#[cfg(feature = "lines")]
use source_lines::count as count_lines;
pub use tree::SKIPPED;

use netdyno_lab_manifest::{Contender, Tool};
#[cfg(not(feature = "lines"))]
use netdyno_lab_store::code_lines::CodeLines;

/// An event of a build.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants describe the fields")]
pub enum BuildEvent {
    /// Tools are about to run.
    Started,
    /// A line of a tool's output, of limited length.
    Line(String),
    /// The build is finished, or was in the cache.
    Finished { cached: bool, seconds: f64 },
}

/// Builds contenders into a cache.
#[derive(Debug, Clone)]
pub struct Builder {
    cache: PathBuf,
    root: PathBuf,
    cancel: Arc<AtomicBool>,
}

impl Builder {
    /// A builder for the contenders of the repository `root`. Nothing is written before the first build. A running
    /// build ends soon after `cancel` becomes true.
    pub fn new(cache: &Path, root: &Path, cancel: Arc<AtomicBool>) -> Result<Self> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(|e| BuildError::cache(path, e));
        let cache = absolute(cache)?;
        if cache.to_str().is_none() {
            return Err(BuildError::cache(&cache, io::Error::other("the path is not UTF-8")));
        }
        Ok(Self { cache, root: absolute(root)?, cancel })
    }

    /// `NETDYNO_CACHE`, else `netdyno` in the user's cache folder.
    pub fn default_cache() -> Result<PathBuf> {
        if let Some(cache) = std::env::var_os("NETDYNO_CACHE").filter(|cache| !cache.is_empty()) {
            return Ok(PathBuf::from(cache));
        }
        let base = etcetera::choose_base_strategy();
        let base = base.map_err(|e| BuildError::cache(Path::new("~/.cache"), io::Error::other(e)))?;
        Ok(base.cache_dir().join("netdyno"))
    }

    /// The cache folder.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns a contender's build from the cache, or builds it.
    pub fn build(&self, contender: &Contender, events: &mut dyn FnMut(BuildEvent)) -> Result<Built> {
        if let Availability::Unavailable { reason, remedy } = self.availability(contender) {
            return Err(BuildError::Unavailable { contender: contender.id(), reason, remedy });
        }
        let Inputs { record, local } = self.inputs(contender)?;
        let node =
            (contender.build.tool == Tool::Npm).then(|| npm::node(&self.probe(contender))).transpose()?;
        let entry = self.entry(contender, &record.key);
        let local = contender.revision.clone().or(local);
        let (record, cached) = match built::read_record(&entry, &record.key, contender) {
            Some(record) => (record, true),
            None => self.make(contender, &entry, record, events)?,
        };
        events(BuildEvent::Finished { cached, seconds: record.seconds });
        Ok(Built { dir: entry.join("files"), record, cached, local, contender: contender.clone(), node })
    }

    fn entry(&self, contender: &Contender, key: &str) -> PathBuf {
        self.cache.join("builds").join(format!("{}-{}", contender.name, &key[..16]))
    }

    fn probe<'a>(&'a self, contender: &'a Contender) -> Probe<'a> {
        Probe { contender, watch: Watch::new(&self.cancel, PROBE_LIMIT) }
    }

    fn sdk(&self, contender: &Contender) -> Option<PathBuf> {
        let sdk = contender.build.sdk.as_ref()?;
        // In the same folder of contenders, as in another revision or a library's repository; else the catalogue's.
        let beside = contender.dir.ancestors().nth(2).map(|folder| folder.join("sdk").join(sdk));
        beside.filter(|folder| folder.is_dir()).or_else(|| Some(self.root.join("contenders/sdk").join(sdk)))
    }

    fn inputs(&self, contender: &Contender) -> Result<Inputs> {
        key::inputs(&self.probe(contender), &self.root, self.sdk(contender).as_deref())
    }

    /// Builds under the build's lock, unless another lab did so in the meantime.
    fn make(
        &self,
        contender: &Contender,
        entry: &Path,
        mut record: Record,
        events: &mut dyn FnMut(BuildEvent),
    ) -> Result<(Record, bool)> {
        let work = self.cache.join("work");
        for folder in [&self.cache.join("builds"), &self.cache.join("logs"), &work] {
            fs::create_dir_all(folder).map_err(|e| BuildError::cache(folder, e))?;
        }
        let sdk = self.sdk(contender);
        let mut job = Job {
            sdk: sdk.as_deref(),
            toolchain: &record.toolchain,
            ..Job::new(contender, entry, &work, Watch::new(&self.cancel, BUILD_LIMIT), events)
        };
        let _lock = job.lock(&lock_path(&work, &job.name()))?;
        if let Some(record) = built::read_record(entry, &record.key, contender) {
            return Ok((record, true));
        }
        let begun = job.begin(built::RECORD)?;
        fs::create_dir(job.files()).map_err(|e| BuildError::cache(entry, e))?;
        (ecosystem(contender.build.tool).build)(&mut job)?;
        if self.inputs(contender)?.record.key != record.key {
            return Err(job.source_error(&contender.dir, "changed while it was built; build again"));
        }
        let seconds = begun.elapsed().saturating_sub(job.waited).as_secs_f64();
        let (log, lines) = (job.log.path.clone(), count_lines(contender, &job.packages));
        record = Record { seconds, built_at: jiff::Timestamp::now().to_string(), log, lines, ..record };
        write_whole(entry, built::RECORD, &record).map_err(|e| BuildError::cache(entry, e))?;
        Ok((record, false))
    }
}

fn ecosystem(tool: Tool) -> &'static Ecosystem {
    match tool {
        Tool::Cargo => &cargo::CARGO,
        Tool::Cc => &cc::CC,
        Tool::Go => &go::GO,
        Tool::Java => &java::JAVA,
        Tool::Npm => &npm::NPM,
        Tool::Pip => &pip::PIP,
        Tool::System => &system::SYSTEM,
    }
}

#[cfg(not(feature = "lines"))]
fn count_lines(_: &Contender, _: &Result<Vec<package::Package>, String>) -> CodeLines {
    built::not_countable()
}

fn lock_path(work: &Path, name: &str) -> PathBuf {
    work.join("locks").join(format!("{name}.lock"))
}

/// Locks a folder of the cache until the file is dropped.
pub fn lock(cache: &Path, name: &str) -> io::Result<fs::File> {
    let file = job::open_lock(&lock_path(&cache.join("work"), name))?;
    file.lock()?;
    Ok(file)
}

/// Removes leftovers of this contender's interrupted builds that no other lab is building; `record` marks finished
/// ones. Failures only cost space.
fn sweep(builds: &Path, work: &Path, contender: &Contender, (ours, record): (&str, &str)) {
    let prefix = format!("{}-", contender.name);
    for entry in fs::read_dir(builds).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let state = name.strip_prefix(&prefix);
        let is_state = state.is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if !is_state || name == ours || entry.path().join(record).exists() {
            continue;
        }
        if let Ok(lock) = job::open_lock(&lock_path(work, &name))
            && lock.try_lock().is_ok()
        {
            let removed = fs::remove_dir_all(entry.path());
            tracing::debug!(name, ok = removed.is_ok(), "removed an interrupted build");
        }
    }
}

pub(crate) fn remove_folder(folder: &Path) -> io::Result<()> {
    unless_absent(fs::remove_dir_all(folder))
}

fn unless_absent(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
}

/// Reads a record, if it exists and is valid.
fn read_whole<T: serde::de::DeserializeOwned>(entry: &Path, name: &str) -> Option<T> {
    let mut text = String::new();
    fs::File::open(entry.join(name)).ok()?.take(RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Writes a record and moves it into place, which marks its folder as finished.
fn write_whole(entry: &Path, name: &str, record: &impl serde::Serialize) -> io::Result<()> {
    let partial = entry.join(format!("{name}.partial"));
    let mut file = fs::File::create(&partial)?;
    file.write_all(&serde_json::to_vec_pretty(record)?)?;
    file.sync_all()?;
    fs::rename(partial, entry.join(name))
}
