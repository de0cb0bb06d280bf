//! The append-only file as a storage, and the rewritten file that replaces it.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::PathBuf;

use super::{AofSettings, Fsync, replay};
use crate::storage::{Background, Loader, Occasion, Rewrite, Storage, StorageError};
use crate::{AofError, files};

#[derive(Debug)]
pub(crate) struct LogFile {
    settings: AofSettings,
    pub(crate) file: File,
    path: PathBuf,
    /// Length of the complete commands. Bytes beyond it belong to a failed write.
    length: u64,
    /// Length after the last rewrite.
    base: u64,
    /// Data was written and is not synced yet.
    pub(crate) unsynced: bool,
    /// The background sync is of the rewritten file.
    syncs_new: bool,
    /// The file may extend beyond `length`.
    torn: bool,
    /// A sync failed, so the contents of the file on disk are unknown.
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
    pub(crate) fn open(settings: AofSettings) -> Result<Self, AofError> {
        let path = settings.directory.join(&settings.file_name);
        let failed = |action, source| AofError::Io { action, path: path.clone(), source };
        let file = files::append(&path).map_err(|source| failed("open", source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AofError::InUse { path }),
            Err(TryLockError::Error(source)) => return Err(failed("lock", source)),
        }
        files::remove_abandoned(&path);
        let length = file.metadata().map_err(|source| failed("determine the length of", source))?.len();
        files::sync_directory(&path).map_err(|source| failed("sync the directory of", source))?;
        Ok(Self {
            settings,
            file,
            path,
            length,
            base: length,
            unsynced: false,
            syncs_new: false,
            torn: false,
            unknown: false,
            error: None,
            new: None,
        })
    }

    /// Truncates the file after the last complete command.
    fn cut(&mut self, length: u64) -> Result<(), AofError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.sync_all());
        cut.map_err(|source| AofError::Io { action: "truncate", path: self.path.clone(), source })?;
        (self.length, self.base) = (length, length);
        Ok(())
    }

    /// Writes all bytes or none.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.unknown {
            return Err(self.error.as_ref().map_or(io::ErrorKind::Other.into(), copy));
        }
        if let Err(error) = self.try_write(bytes) {
            // If this fails too, the next write retries it.
            self.torn = self.file.set_len(self.length).is_err();
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        self.file.write_all(bytes)
    }

    /// Syncs if the policy is `always`.
    fn sync(&mut self) -> io::Result<()> {
        if self.settings.fsync != Fsync::Always {
            self.unsynced = true;
            return Ok(());
        }
        self.file.sync_data().inspect_err(|error| self.sync_failed(error))
    }

    /// The kernel may have dropped the pages it could not write, and would report success on a retry.
    pub(crate) fn sync_failed(&mut self, error: &io::Error) {
        self.unknown = true;
        self.error = Some(copy(error));
    }

    /// The error, with its remedy.
    fn trouble(&self, error: &io::Error) -> StorageError {
        let remedy = if self.unknown {
            "restart the server"
        } else {
            "free disk space; the write is retried every second"
        };
        format!("{error} ({}): {remedy}", self.path.display()).into()
    }

    fn begin_new(&mut self) -> io::Result<()> {
        if self.new.is_none() {
            let (file, path) = files::create_beside(&self.path)?;
            self.new = Some(NewFile { file, path, length: 0 });
        }
        Ok(())
    }
}

impl Storage for LogFile {
    fn load(&mut self, loader: &mut Loader<'_>) -> Result<(), StorageError> {
        let whole = replay::replay(&self.file, &self.path, loader)?;
        loader.found.bytes = whole;
        loader.found.cut_bytes = self.length - whole;
        if whole < self.length {
            self.cut(whole)?;
        }
        Ok(())
    }

    fn commit(&mut self, changes: &[u8]) -> Result<(), StorageError> {
        self.write(changes).and_then(|()| self.sync()).map_err(|error| self.trouble(&error))
    }

    /// On shutdown everything is synced, whatever the policy.
    fn background(&mut self, occasion: Occasion) -> Option<Background> {
        let file = match occasion {
            Occasion::BeforeFinish => self.new.as_ref()?.file.try_clone(),
            Occasion::EverySecond if self.settings.fsync != Fsync::EverySecond => return None,
            _ if !std::mem::take(&mut self.unsynced) => return None,
            _ => self.file.try_clone(),
        };
        self.syncs_new = occasion == Occasion::BeforeFinish;
        Some(Box::new(move || file?.sync_data()))
    }

    fn background_done(&mut self, result: io::Result<()>) -> Result<(), StorageError> {
        let Err(error) = result else { return Ok(()) };
        // A failed sync of the rewritten file does not affect the current one.
        if !self.syncs_new {
            self.sync_failed(&error);
        }
        Err(self.trouble(&error))
    }

    fn rewrite(&mut self) -> Option<&mut dyn Rewrite> {
        Some(self)
    }

    /// A sync covers the whole file, so earlier guarantees still hold.
    fn set(&mut self, parameter: &str, value: &str) {
        self.settings.fsync = match (parameter, value) {
            ("appendfsync", "always") => Fsync::Always,
            ("appendfsync", "everysec") => Fsync::EverySecond,
            ("appendfsync", "no") => Fsync::No,
            _ => return,
        };
    }

    fn name(&self) -> &'static str {
        "AOF file"
    }
}

impl Rewrite for LogFile {
    fn is_due(&self) -> bool {
        let percent = self.settings.rewrite_percent;
        let enough = self.base.saturating_add(self.base / 100 * percent);
        percent > 0 && self.length >= self.settings.rewrite_min_bytes && self.length > enough
    }

    fn write(&mut self, part: &[u8]) -> Result<(), StorageError> {
        self.begin_new()?;
        let Some(new) = &mut self.new else { return Ok(()) };
        new.file.write_all(part)?;
        new.length += part.len() as u64;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), StorageError> {
        let Some(new) = &self.new else { return Ok(()) };
        new.file.sync_all()?;
        fs::rename(&new.path, &self.path)?;
        if let Some(new) = self.new.take() {
            (self.file, self.length, self.base) = (new.file, new.length, new.length);
            (self.torn, self.unknown, self.unsynced, self.error) = (false, false, false, None);
        }
        // The file has its new name, but the rename may not survive a power failure.
        if let Err(error) = files::sync_directory(&self.path) {
            self.sync_failed(&error);
        }
        Ok(())
    }

    fn cancel(&mut self) {
        if let Some(new) = self.new.take() {
            let _ = fs::remove_file(new.path);
        }
    }
}

impl Drop for LogFile {
    fn drop(&mut self) {
        // Without an explicit unlock, a child process that was just forked would keep the lock.
        let _ = self.file.unlock();
    }
}

fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}
