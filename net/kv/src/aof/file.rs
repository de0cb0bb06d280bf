//! The file itself, as a storage, and the one that is to take its place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{AofSettings, Fsync, replay};
use crate::AofError;
use crate::storage::{Background, Loader, Occasion, Rewrite, Storage, StorageError};

#[derive(Debug)]
pub(crate) struct LogFile {
    settings: AofSettings,
    pub(crate) file: File,
    path: PathBuf,
    /// Bytes of whole commands. What stands behind them is of a write that failed.
    length: u64,
    /// The length after the last rewrite.
    base: u64,
    /// Something was written and not synced yet.
    pub(crate) unsynced: bool,
    /// What is synced in the background is the new file.
    syncs_new: bool,
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
    pub(crate) fn open(settings: AofSettings) -> Result<Self, AofError> {
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

    /// Cuts off what stands behind the whole commands.
    fn cut(&mut self, length: u64) -> Result<(), AofError> {
        let cut = self.file.set_len(length).and_then(|()| self.file.sync_all());
        cut.map_err(|source| AofError::Io { action: "cut off the end of", path: self.path.clone(), source })?;
        (self.length, self.base) = (length, length);
        Ok(())
    }

    /// Writes all of it, or nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.unknown {
            return Err(self.error.as_ref().map_or(io::ErrorKind::Other.into(), copy));
        }
        if let Err(error) = self.try_write(bytes) {
            // If even this fails, it is tried again before the next write.
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

    /// Where the policy says so.
    fn sync(&mut self) -> io::Result<()> {
        if self.settings.fsync != Fsync::Always {
            self.unsynced = true;
            return Ok(());
        }
        self.file.sync_data().inspect_err(|error| self.sync_failed(error))
    }

    /// The kernel may have thrown away what it could not write, and would call a second try a success.
    pub(crate) fn sync_failed(&mut self, error: &io::Error) {
        self.unknown = true;
        self.error = Some(copy(error));
    }

    /// What is wrong, and what helps.
    fn trouble(&self, error: &io::Error) -> StorageError {
        let remedy =
            if self.unknown { "restart the server" } else { "make room; it is tried again every second" };
        format!("{error} ({}): {remedy}", self.path.display()).into()
    }

    fn begin_new(&mut self) -> io::Result<()> {
        if self.new.is_none() {
            let path = new_path(&self.path);
            let file = options().truncate(false).open(&path)?;
            file.set_len(0)?;
            file.try_lock().map_err(io::Error::from)?;
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

    /// Whatever the policy, at the end all is synced.
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
        // What a new file lacks is not missing in the old one.
        if !self.syncs_new {
            self.sync_failed(&error);
        }
        Err(self.trouble(&error))
    }

    fn rewrite(&mut self) -> Option<&mut dyn Rewrite> {
        Some(self)
    }

    /// What was promised before is kept: a sync is of the whole file.
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
        // The file has its new name, but it is not known for how long.
        if let Err(error) = sync_directory(&self.path) {
            self.sync_failed(&error);
        }
        Ok(())
    }

    fn give_up(&mut self) {
        if let Some(new) = self.new.take() {
            let _ = fs::remove_file(new.path);
        }
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
