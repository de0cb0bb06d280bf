//! Files that only this user can read, and that no other user can redirect.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Permissions of new files: read and write for the owner.
const MODE: u32 = 0o600;

/// Attempts to find an unused name.
const ATTEMPTS: u32 = 16;

/// The end of the names of files that are not complete yet.
const SUFFIX: &str = ".tmp";

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // Opening fails if the last component of the path is a symbolic link, and does not wait if it is a pipe.
    let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK);
    options.mode(MODE).custom_flags(flags.bits().cast_signed());
    options
}

/// Opens a file for reading and appending, and creates it if it does not exist.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    options().read(true).append(true).create(true).open(path).map_err(explain)
}

/// Opens a file for reading.
pub(crate) fn read(path: &Path) -> io::Result<File> {
    options().read(true).open(path).map_err(explain)
}

/// Creates a file with an unpredictable name next to `path`, for appending. Files of the same kind that a crash
/// left behind are removed.
pub(crate) fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    remove_abandoned(path);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{:016x}{SUFFIX}", crate::entropy::number()?));
        let new = PathBuf::from(name);
        match options().read(true).append(true).create_new(true).open(&new) {
            Ok(file) => {
                file.try_lock().map_err(io::Error::from)?;
                return Ok((file, new));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists && attempts < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes files that [`create_beside`] created and that no running server has locked.
pub(crate) fn remove_abandoned(path: &Path) {
    let (Some(base), Ok(entries)) = (path.file_name(), fs::read_dir(directory(path))) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let token = name.as_bytes().strip_prefix(base.as_bytes()).and_then(|rest| rest.strip_prefix(b"."));
        let token = token.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
        let is_ours = token.is_some_and(|token| token.len() == 16 && token.iter().all(u8::is_ascii_hexdigit));
        if is_ours && read(&entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Makes the directory entry of a file durable.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Names the cause where the kernel reports a symbolic link as a loop.
fn explain(error: io::Error) -> io::Error {
    let is_link = error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
    if is_link { io::Error::other("it is a symbolic link, and links are not followed") } else { error }
}
