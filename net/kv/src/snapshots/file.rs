//! The file of a snapshot, and the new file that replaces it.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use netdyno_kv_core::{Engine, Loaded, Loader, Timestamp};

use crate::limits::REPLAY_READ_BYTES;
use crate::{SnapshotError, files};

/// A file written next to its final path. Dropping this value removes the file unless it was moved there.
#[derive(Debug)]
pub(super) struct NewFile {
    file: File,
    path: PathBuf,
    place: PathBuf,
    is_there: bool,
}

impl NewFile {
    /// Errors start with a lower-case letter and end with a remedy.
    pub(super) fn create(place: PathBuf) -> Result<Self, String> {
        let (file, path) = files::create_beside(&place).map_err(|error| failed(&place, &error))?;
        Ok(Self { file, path, place, is_there: true })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.file.write_all(bytes).map_err(|error| failed(&self.path, &error))
    }

    /// Syncs the file and moves it to its final path.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.file.sync_all().map_err(|error| failed(&self.path, &error))?;
        fs::rename(&self.path, &self.place).map_err(|error| failed(&self.place, &error))?;
        self.is_there = false;
        files::sync_directory(&self.place).map_err(|error| failed(&self.place, &error))
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.is_there {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> String {
    format!(
        "cannot write the snapshot: {error} ({}): its directory must exist, be writable and have free space",
        path.display()
    )
}

/// Loads the snapshot if there is one.
pub(crate) fn load(
    path: &Path,
    engine: &mut Engine,
    now: Timestamp,
) -> Result<Option<Loaded>, SnapshotError> {
    let failed = |action, source| SnapshotError::Io { action, path: path.to_owned(), source };
    let damaged = |source| SnapshotError::Damaged { path: path.to_owned(), source };
    let mut file = match files::read(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("open", error)),
    };
    let mut loader = Loader::new();
    let mut part = Vec::new();
    while !loader.is_done() {
        part.clear();
        let read = (&mut file).take(REPLAY_READ_BYTES).read_to_end(&mut part);
        if read.map_err(|error| failed("read", error))? == 0 {
            break;
        }
        loader.feed(engine, now, &part).map_err(damaged)?;
    }
    loader.finish(engine).map(Some).map_err(damaged)
}
