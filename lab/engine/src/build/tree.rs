//! The source files of a folder: listed, hashed, copied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

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
        let mut tree = Self { root: root.to_owned(), files: Vec::new() };
        let mut bytes = 0;
        tree.list_folder(root, "", 0, &mut bytes)?;
        tree.files.sort();
        Ok(tree)
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

    fn list_folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        depth: usize,
        bytes: &mut u64,
    ) -> Result<(), Refused> {
        if depth > SOURCE_DEPTH_MAX {
            return Err(refused(folder, format!("deeper than {SOURCE_DEPTH_MAX} folders")));
        }
        for entry in fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
            let entry = entry.map_err(|e| unreadable(folder, &e))?;
            let path = entry.path();
            let name =
                entry.file_name().into_string().map_err(|_| refused(&path, "a name that is not UTF-8"))?;
            if SKIPPED.contains(&name.as_str()) {
                continue;
            }
            let relative = format!("{prefix}{name}");
            let meta = entry.metadata().map_err(|e| unreadable(&path, &e))?;
            if meta.is_dir() {
                self.list_folder(&path, &format!("{relative}/"), depth + 1, bytes)?;
            } else if meta.is_file() {
                *bytes += meta.len();
                self.files.push(relative);
            } else {
                return Err(refused(&path, "neither a file nor a folder; use a copy instead of a link"));
            }
            if self.files.len() > SOURCE_FILES_MAX || *bytes > SOURCE_BYTES_MAX {
                let rule =
                    format!("more than {SOURCE_FILES_MAX} files or {SOURCE_BYTES_MAX} bytes of sources");
                return Err(refused(&self.root, rule));
            }
        }
        Ok(())
    }
}

fn refused(path: &Path, rule: impl Into<String>) -> Refused {
    Refused { path: path.to_owned(), rule: rule.into() }
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Refused {
    refused(path, format!("cannot be read: {error}"))
}
