//! The pages of a store as files, for a project's public results: the same as a server would give.
//!
//! Files that are there and were not written by an earlier call are never touched: a list with hashes, beside them, says which were.
//! Of those, the ones that have no page any more are removed, unless somebody changed them since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::pages::{Address, PageError, Pages, Studies, is_name};
use netdyno_lab_store::{Listing, RunStatus, Store};

/// Beside the pages: what was written.
const LIST: &str = ".netdyno-site.json";
/// A longer list is none of ours.
const LIST_BYTES_MAX: u64 = 16 << 20;

/// Why a site cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A page.
    #[error(transparent)]
    Page(#[from] PageError),
    /// A file of the site.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that somebody else wrote.
    #[error("{} is there, and not as netdyno site left it: move it away, or name another folder", .0.display())]
    NotOurs(PathBuf),
    /// The list of files.
    #[error("{} is no list of netdyno site: move it away, or name another folder", .0.display())]
    NotAList(PathBuf),
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Pages of the site.
    pub pages: usize,
    /// Of these, the ones that are new, or other than before.
    pub changed: usize,
    /// Pages of an earlier call that were removed.
    pub removed: usize,
}

/// The files that were written, each with its SHA-256 in hexadecimal digits.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ours {
    files: BTreeMap<String, String>,
}

/// Writes the site of a store into a folder, with a page for each of the newest `runs` that have ended. Where it fails, nothing
/// was overwritten that somebody else wrote.
///
/// # Errors
/// When a page cannot be made, a file cannot be written, or one that is not ours is in the way.
pub fn write(
    store: &Store,
    studies: Option<&Studies>,
    folder: &Path,
    runs: usize,
) -> Result<Written, SiteError> {
    let error = |path: &Path| {
        let path = path.to_owned();
        move |source| SiteError::File { path, source }
    };
    fs::create_dir_all(folder).map_err(error(folder))?;
    let before = Ours::read(folder)?;
    let mut after = Ours::default();
    let mut written = Written::default();
    let mut make = |pages: &Pages<'_>, address: &Address| -> Result<bool, SiteError> {
        let Some(text) = pages.page(address)? else { return Ok(false) };
        let (name, hash) = (address.path(), hash(text.as_bytes()));
        let path = folder.join(&name);
        let known = before.files.get(&name);
        match fs::read(&path) {
            Ok(there) if known == Some(&self::hash(&there)) || hash == self::hash(&there) => {}
            Ok(_) => return Err(SiteError::NotOurs(path)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(error(&path)(e)),
        }
        if known != Some(&hash) || !path.exists() {
            replace(&path, text.as_bytes()).map_err(error(&path))?;
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
    // Histories first: they leave in the store what the lists tell of a run.
    let fixed = names
        .map(Address::History)
        .chain(with_page.iter().cloned().map(Address::Run))
        .chain(studies.map_or_else(Vec::new, Studies::names).into_iter().map(Address::Study))
        .chain([Address::Index]);
    for address in fixed.chain((1..).map(Address::Runs)) {
        match make(&pages, &address) {
            Ok(true) => {}
            Ok(false) if matches!(address, Address::Runs(_)) => break,
            Ok(false) => {}
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    if result.is_ok() {
        written.removed = remove_stale(folder, &before, &after)?;
    } else {
        // What was not come to is still ours.
        for (name, hash) in before.files {
            after.files.entry(name).or_insert(hash);
        }
    }
    after.write(folder)?;
    result.map(|()| written)
}

/// Removes what an earlier call wrote, this one did not, and nobody changed.
fn remove_stale(folder: &Path, before: &Ours, after: &Ours) -> Result<usize, SiteError> {
    let mut removed = 0;
    for (name, hash) in before.files.iter().filter(|(name, _)| !after.files.contains_key(*name)) {
        // The list may have been written by anybody: only what is a page of a site is removed.
        let path = folder.join(name);
        let is_page = Address::parse(name).is_some_and(|address| address.path() == *name);
        if is_page && fs::read(&path).is_ok_and(|there| self::hash(&there) == *hash) {
            fs::remove_file(&path).map_err(|source| SiteError::File { path, source })?;
            removed += 1;
        }
    }
    Ok(removed)
}

impl Ours {
    fn read(folder: &Path) -> Result<Ours, SiteError> {
        let path = folder.join(LIST);
        match fs::metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Ours::default()),
            Ok(m) if m.len() > LIST_BYTES_MAX => return Err(SiteError::NotAList(path)),
            _ => {}
        }
        let text = fs::read(&path).map_err(|source| SiteError::File { path: path.clone(), source })?;
        serde_json::from_slice(&text).map_err(|_| SiteError::NotAList(path))
    }

    fn write(&self, folder: &Path) -> Result<(), SiteError> {
        let path = folder.join(LIST);
        let text = serde_json::to_vec_pretty(self).expect("a list of texts is JSON");
        replace(&path, &text).map_err(|source| SiteError::File { path, source })
    }
}

/// Writes a file whole, or not at all.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = fs::File::create_new(&new)?;
    let written = file.write_all(content).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // Best effort: it is ours, and of no use.
        let _ = fs::remove_file(&new);
    }
    written
}

fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
