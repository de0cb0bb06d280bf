//! The source files of a folder: listed, hashed, copied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use walkdir::{DirEntry, WalkDir};

use super::limits::{SOURCE_BYTES_MAX, SOURCE_DEPTH_MAX, SOURCE_FILES_MAX};

/// Folders that tools generate and git does not track.
pub const SKIPPED: &[&str] = &["target", "node_modules", "__pycache__", ".venv", ".git"];

/// Why a folder cannot be a source.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) path: PathBuf,
    pub(super) rule: String,
}

/// A folder's source files, sorted by path.
#[derive(Debug)]
pub(super) struct Tree {
    root: PathBuf,
    /// Paths relative to the root, with `/`.
    files: Vec<String>,
}

impl Tree {
    /// Lists a folder. Links are rejected, since their targets would not be hashed.
    pub(super) fn list(root: &Path) -> Result<Self, Refused> {
        let (mut files, mut bytes) = (Vec::new(), 0);
        let is_kept = |entry: &DirEntry| !SKIPPED.iter().any(|name| entry.file_name() == *name);
        for entry in WalkDir::new(root).min_depth(1).into_iter().filter_entry(is_kept) {
            let entry = entry.map_err(no_entry)?;
            let Some(name) = entry.path().strip_prefix(root).ok().and_then(Path::to_str) else {
                return Err(refused(entry.path(), "a name that is not UTF-8"));
            };
            if entry.file_type().is_file() {
                bytes += entry.metadata().map_err(no_entry)?.len();
                files.push(name.to_owned());
            } else if !entry.file_type().is_dir() {
                return Err(refused(
                    entry.path(),
                    "neither a file nor a folder; use a copy instead of a link",
                ));
            } else if entry.depth() > SOURCE_DEPTH_MAX {
                return Err(refused(entry.path(), format!("deeper than {SOURCE_DEPTH_MAX} folders")));
            }
            if files.len() > SOURCE_FILES_MAX || bytes > SOURCE_BYTES_MAX {
                let rule =
                    format!("more than {SOURCE_FILES_MAX} files or {SOURCE_BYTES_MAX} bytes of sources");
                return Err(refused(root, rule));
            }
        }
        files.sort();
        Ok(Self { root: root.to_owned(), files })
    }

    pub(super) fn without(mut self, file: &str) -> Self {
        self.files.retain(|f| f != file);
        self
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Hashes every path and content, each with its length first.
    pub(super) fn hash(&self, hash: &mut Sha256) -> Result<(), Refused> {
        hash.update((self.files.len() as u64).to_be_bytes());
        for file in &self.files {
            let path = self.root.join(file);
            let content = fs::read(&path).map_err(|e| unreadable(&path, &e))?;
            for part in [file.as_bytes(), &content] {
                hash.update((part.len() as u64).to_be_bytes());
                hash.update(part);
            }
        }
        Ok(())
    }

    pub(super) fn copy_to(&self, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for file in &self.files {
            let target = to.join(file);
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(self.root.join(file), target)?;
        }
        Ok(())
    }
}

pub(super) fn no_entry(error: walkdir::Error) -> Refused {
    let path = error.path().unwrap_or(Path::new("")).to_owned();
    // Without an I/O error it would be a loop of links, which are not followed.
    unreadable(&path, &error.into_io_error().unwrap_or_else(|| io::ErrorKind::Other.into()))
}

fn refused(path: &Path, rule: impl Into<String>) -> Refused {
    Refused { path: path.to_owned(), rule: rule.into() }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Refused {
    refused(path, format!("cannot be read: {error}"))
}
