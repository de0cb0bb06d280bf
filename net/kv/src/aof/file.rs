//! The file itself, and the one that is to take its place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::AofSettings;
use crate::AofError;
use crate::limits::KEPT_LOG_BYTES;

#[derive(Debug)]
pub(super) struct LogFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    /// Bytes of whole commands. What stands behind them is of a write that failed.
    pub(super) length: u64,
    /// The length after the last rewrite.
    pub(super) base: u64,
    /// What was taken over and is not in the file yet.
    unwritten: Vec<u8>,
    /// There may be something behind `length`.
    torn: bool,
    /// A sync failed: what the file has is not known any more.
    unknown: bool,
    error: Option<io::Error>,
    new: Option<NewFile>,
}

#[derive(Debug)]
struct NewFile {
    file: File,
    path: PathBuf,
    length: u64,
}

impl LogFile {
    pub(super) fn open(settings: &AofSettings) -> Result<Self, AofError> {
        let path = settings.directory.join(&settings.file_name);
        let failed = |action, source| AofError::Io { action, path: path.clone(), source };
        let file = options().open(&path).map_err(|source| failed("open", source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AofError::InUse { path }),
            Err(TryLockError::Error(source)) => return Err(failed("lock", source)),
        }
        // Of a rewrite that did not come to its end.
        let _ = fs::remove_file(new_path(&path));
        let length = file.metadata().map_err(|source| failed("ask for the length of", source))?.len();
        sync_directory(&path).map_err(|source| failed("sync the directory of", source))?;
        Ok(Self {
            file,
            path,
            length,
            base: length,
            unwritten: Vec::new(),
            torn: false,
            unknown: false,
            error: None,
            new: None,
        })
    }

    /// Cuts off what stands behind the whole commands.
    pub(super) fn cut(&mut self, length: u64) -> Result<(), AofError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.sync_all());
        cut.map_err(|source| AofError::Io { action: "cut off the end of", path: self.path.clone(), source })?;
        (self.length, self.base) = (length, length);
        Ok(())
    }

    /// Takes bytes over, to be written.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        if self.unwritten.is_empty() {
            std::mem::swap(&mut self.unwritten, bytes);
        } else {
            self.unwritten.append(bytes);
        }
    }

    /// Writes what was taken over: all of it, or nothing.
    pub(super) fn write(&mut self) -> io::Result<()> {
        let written = self.try_write();
        if let Err(error) = &written {
            self.error = Some(copy(error));
            // If even this fails, it is tried again before the next write.
            self.torn = self.file.set_len(self.length).is_err();
        }
        written
    }

    fn try_write(&mut self) -> io::Result<()> {
        if self.unknown {
            return Err(self.error.as_ref().map_or(io::ErrorKind::Other.into(), copy));
        }
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        self.file.write_all(&self.unwritten)?;
        self.length += self.unwritten.len() as u64;
        self.unwritten.clear();
        self.unwritten.shrink_to(KEPT_LOG_BYTES);
        Ok(())
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data().inspect_err(|error| self.sync_failed(error))
    }

    /// The kernel may have thrown away what it could not write, and would call a second try a success.
    pub(super) fn sync_failed(&mut self, error: &io::Error) {
        self.unknown = true;
        self.error = Some(copy(error));
    }

    /// What is wrong, and what helps.
    pub(super) fn trouble(&self) -> String {
        let error = self.error.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
        let remedy =
            if self.unknown { "restart the server" } else { "make room; it is tried again every second" };
        format!("{error} ({}): {remedy}", self.path.display())
    }

    /// Writes to the file that is to take this one's place.
    pub(super) fn write_new(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.try_write_new(bytes);
        if written.is_err() {
            self.drop_new();
        }
        written
    }

    fn try_write_new(&mut self, bytes: &[u8]) -> io::Result<()> {
        let new = match &mut self.new {
            Some(new) => new,
            None => {
                let path = new_path(&self.path);
                let file = options().truncate(false).open(&path)?;
                file.set_len(0)?;
                file.try_lock().map_err(io::Error::from)?;
                self.new.insert(NewFile { file, path, length: 0 })
            }
        };
        new.file.write_all(bytes)?;
        new.length += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn drop_new(&mut self) {
        if let Some(new) = self.new.take() {
            let _ = fs::remove_file(new.path);
        }
    }

    /// The new file, to sync what it has so far without anybody waiting.
    pub(super) fn new_file(&self) -> Option<io::Result<File>> {
        self.new.as_ref().map(|new| new.file.try_clone())
    }

    /// The new file has all that this one has and is to get: it takes its place.
    pub(super) fn switch(&mut self) -> io::Result<()> {
        let Some(new) = &self.new else { return Ok(()) };
        let switched = new.file.sync_all().and_then(|()| fs::rename(&new.path, &self.path));
        if switched.is_err() {
            self.drop_new();
            return switched;
        }
        if let Some(new) = self.new.take() {
            (self.file, self.length, self.base) = (new.file, new.length, new.length);
            self.unwritten.clear();
            (self.torn, self.unknown, self.error) = (false, false, None);
        }
        sync_directory(&self.path)
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // By itself the lock would outlive the file in a child process that has just been forked.
        let _ = self.file.unlock();
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    options
}

fn new_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}

/// So that the file's name is on the disk, too.
fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}

fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}
