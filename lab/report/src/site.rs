//! The pages of a store as a static site, identical to those of the server except for live runs.
//!
//! A list with hashes records the files written. Other files are never overwritten. A listed file that no
//! longer has a page is removed unless it was modified.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::pages::{Address, PageError, Pages, Studies, is_name};
use netdyno_lab_manifest::hex;
use netdyno_lab_store::{Listing, RunStatus, Store};

/// Name of the list of written files.
const LIST: &str = ".netdyno-site.json";
/// A longer file is rejected as not being a list.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// A site could not be written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum SiteError {
    #[error(transparent)]
    Page(#[from] PageError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} exists and is not an unmodified file of netdyno site: move it away, or choose another folder", .0.display())]
    NotOurs(PathBuf),
    #[error("{} is not a valid file list of netdyno site: move it away, or choose another folder", .0.display())]
    NotAList(PathBuf),
}

/// Summary of a call to [`write`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Pages of the site.
    pub pages: usize,
    /// Pages that are new or changed.
    pub changed: usize,
    /// Obsolete pages that were removed.
    pub removed: usize,
}

/// Written files, each with its SHA-256 in hexadecimal.
#[derive(Debug, Default, Serialize, Deserialize)]
struct FileList {
    files: BTreeMap<String, String>,
}

/// Writes the site of a store into a folder, with a page for each of the newest `runs` that have ended. Files
/// from other sources are never overwritten, even on failure.
pub fn write(
    store: &Store,
    studies: Option<&Studies>,
    folder: &Path,
    runs: usize,
) -> Result<Written, SiteError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let before = FileList::read(folder)?;
    let mut after = FileList::default();
    let mut written = Written::default();
    let mut make = |pages: &Pages<'_>, address: &Address| -> Result<bool, SiteError> {
        let Some(text) = pages.page(address)? else { return Ok(false) };
        let (name, hash) = (address.path(), hash(text.as_bytes()));
        let path = folder.join(&name);
        let recorded = before.files.get(&name);
        match fs::read(&path) {
            Ok(current) if recorded == Some(&self::hash(&current)) || hash == self::hash(&current) => {}
            Ok(_) => return Err(SiteError::NotOurs(path)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failed(&path)(e)),
        }
        if recorded != Some(&hash) || !path.exists() {
            replace(&path, text.as_bytes()).map_err(failed(&path))?;
            written.changed += 1;
        }
        written.pages += 1;
        after.files.insert(name, hash);
        Ok(true)
    };

    let listed = store.list(Listing::newest(runs)).map_err(PageError::from)?;
    let ended = listed.iter().filter(|run| run.status != RunStatus::Running && is_name(&run.id));
    let with_page: BTreeSet<String> = ended.map(|run| run.id.clone()).collect();
    let pages = Pages { store, studies, with_page: Some(&with_page), is_served: false };
    let mut result = Ok(());
    let workloads = store.workloads().map_err(PageError::from)?;
    let names = workloads.into_iter().map(|(name, _)| name).filter(|name| is_name(name));
    // Histories first: they store the outcomes that the lists of runs show.
    let fixed = names
        .map(Address::History)
        .chain(with_page.iter().cloned().map(Address::Run))
        .chain(studies.map_or_else(Vec::new, Studies::names).into_iter().map(Address::Study))
        .chain([Address::Index]);
    for address in fixed.chain((1..).map(Address::Runs)) {
        match make(&pages, &address) {
            Ok(false) if matches!(address, Address::Runs(_)) => break,
            Ok(_) => {}
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    if result.is_ok() {
        written.removed = remove_stale(folder, &before, &after)?;
    } else {
        // Pages that were not reached stay listed.
        for (name, hash) in before.files {
            after.files.entry(name).or_insert(hash);
        }
    }
    after.write(folder)?;
    result.map(|()| written)
}

/// Removes unmodified files of an earlier call that are no longer part of the site.
fn remove_stale(folder: &Path, before: &FileList, after: &FileList) -> Result<usize, SiteError> {
    let mut removed = 0;
    for (name, hash) in before.files.iter().filter(|(name, _)| !after.files.contains_key(*name)) {
        // The list is not trusted: only files with the address of a page are removed.
        let path = folder.join(name);
        let is_page = Address::parse(name).is_some_and(|address| address.path() == *name);
        if is_page && fs::read(&path).is_ok_and(|current| self::hash(&current) == *hash) {
            fs::remove_file(&path).map_err(failed(&path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Adds the path to an error of the system.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> SiteError {
    let path = path.to_owned();
    |source| SiteError::File { path, source }
}

impl FileList {
    fn read(folder: &Path) -> Result<FileList, SiteError> {
        let path = folder.join(LIST);
        match fs::metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(FileList::default()),
            Ok(m) if m.len() > LIST_BYTES_MAX => return Err(SiteError::NotAList(path)),
            _ => {}
        }
        let text = fs::read(&path).map_err(failed(&path))?;
        serde_json::from_slice(&text).map_err(|_| SiteError::NotAList(path))
    }

    fn write(&self, folder: &Path) -> Result<(), SiteError> {
        let path = folder.join(LIST);
        let text = serde_json::to_vec_pretty(self).expect("a map of strings is serialisable");
        replace(&path, &text).map_err(failed(&path))
    }
}

/// Writes a file atomically.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = fs::File::create_new(&new)?;
    let written = file.write_all(content).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // Best effort: a leftover temporary file does no harm.
        let _ = fs::remove_file(&new);
    }
    written
}

fn hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

#[cfg(test)]
mod tests;
