//! JPEG files on a disk: one picture a file, or many one after the other in it.
//!
//! | does | does not |
//! |---|---|
//! | read picture by picture, by one system call each as a rule, into the caller's buffer | hold files in memory, or map them: that would count as the process' |
//! | begin again at the end, if that is wanted | follow a file that grows, or see files that come into a folder later |
//! | take what is in a folder by its name: `.jpg`, `.jpeg`, `.mjpg`, `.mjpeg` | go into folders within it |

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::split::{Front, Walk};
use super::{Next, Source, SourceError, Timing};
use crate::limits::MAX_FILES;

/// Pictures of files, in the order of the files.
#[derive(Debug)]
pub struct Files {
    files: Vec<PathBuf>,
    /// Which file comes next, and the one that is being read.
    next: usize,
    open: Option<Open>,
    repeat: bool,
    /// Pictures since the first file was begun with: to begin again with none would have no end.
    since_begin: u64,
    /// How much to read at once: a little more than a picture had so far.
    read_bytes: usize,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Where the next picture begins.
    at: u64,
}

/// What is read at once before it is known how long pictures are.
const FIRST_READ_BYTES: usize = 64 << 10;
/// What is read at once at the most, and beyond the length of the longest picture so far.
const MOST_READ_BYTES: usize = 4 << 20;
const READ_BEYOND_BYTES: usize = 4 << 10;

impl Files {
    /// Files and folders of them, in this order. `repeat`: the first comes again after the last.
    ///
    /// # Errors
    /// What is not there, or a folder without a JPEG file.
    pub fn open(paths: &[PathBuf], repeat: bool) -> Result<Self, SourceError> {
        let mut files = Vec::new();
        for path in paths {
            let metadata = path.metadata().map_err(|error| SourceError::io(path.display(), error))?;
            if metadata.is_dir() {
                list(path, &mut files)?;
            } else {
                files.push(path.clone());
            }
            if files.len() > MAX_FILES {
                let reason =
                    format!("more than {MAX_FILES} files: put pictures one after the other into one file");
                return Err(SourceError::unusable(path.display(), reason));
            }
        }
        Ok(Self { files, next: 0, open: None, repeat, since_begin: 0, read_bytes: FIRST_READ_BYTES })
    }

    /// The file being read, or the next one; none after the last.
    fn current(&mut self) -> Result<Option<&mut Open>, SourceError> {
        if self.open.is_none() {
            if self.next == self.files.len() {
                if !self.repeat || self.since_begin == 0 {
                    return Ok(None);
                }
                (self.next, self.since_begin) = (0, 0);
            }
            let Some(path) = self.files.get(self.next) else { return Ok(None) };
            // One that cannot be opened is passed over when the source is asked again.
            self.next += 1;
            let file = File::open(path).map_err(|error| SourceError::io(path.display(), error))?;
            self.open = Some(Open { file, at: 0 });
        }
        Ok(self.open.as_mut())
    }

    /// The file at its end is closed, but the only one of a loop, which is read again.
    fn end_of_file(&mut self) {
        match &mut self.open {
            Some(open) if self.files.len() == 1 && self.repeat && self.since_begin > 0 => {
                (open.at, self.since_begin) = (0, 0);
            }
            open => *open = None,
        }
    }

    fn named(&self, error: io::Error) -> SourceError {
        SourceError::io(self.files[self.next - 1].display(), error)
    }
}

impl Source for Files {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        let (mut walk, mut want) = (Walk::default(), self.read_bytes);
        loop {
            let Some(open) = self.current()? else { return Ok(Next::End) };
            let end = match read_at(&open.file, into, open.at + into.len() as u64, want) {
                Ok(0) => true,
                Ok(_) => false,
                Err(error) => {
                    let error = self.named(error);
                    self.open = None;
                    return Err(error);
                }
            };
            let length = match walk.look(into) {
                Front::Picture(length) => length,
                // The end of the last picture may be missing.
                Front::Part if end && into.len() > 2 => into.len(),
                Front::Other(0) | Front::Part if end => {
                    into.clear();
                    walk = Walk::default();
                    self.end_of_file();
                    continue;
                }
                Front::Other(length) => {
                    open.at += length as u64;
                    into.clear();
                    continue;
                }
                Front::Part => {
                    want = into.len().clamp(FIRST_READ_BYTES, MOST_READ_BYTES);
                    continue;
                }
                Front::TooLong => {
                    self.open = None;
                    let path = self.files[self.next - 1].display();
                    let rule = "a picture of more than 32 MiB: leave the file out";
                    return Err(SourceError::unusable(path, rule.to_owned()));
                }
            };
            open.at += length as u64;
            into.truncate(length);
            self.since_begin += 1;
            self.read_bytes = self.read_bytes.max(length + READ_BEYOND_BYTES).min(MOST_READ_BYTES);
            return Ok(Next::Picture);
        }
    }

    fn timing(&self) -> Timing {
        Timing::OnDemand
    }
}

/// Reads up to `want` bytes that lie at `offset` to the end of `into`, and gives how many there were.
fn read_at(file: &File, into: &mut Vec<u8>, offset: u64, want: usize) -> io::Result<usize> {
    let before = into.len();
    into.resize(before + want, 0);
    let read = loop {
        match file.read_at(&mut into[before..], offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other,
        }
    };
    into.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

/// The JPEG files of a folder, by name.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let failed = |error| SourceError::io(folder.display(), error);
    let before = files.len();
    for entry in folder.read_dir().map_err(failed)?.take(MAX_FILES + 1) {
        let path = entry.map_err(failed)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if ["jpg", "jpeg", "mjpg", "mjpeg"].iter().any(|known| extension.eq_ignore_ascii_case(known))
            && path.is_file()
        {
            files.push(path);
        }
    }
    if files.len() == before {
        let reason = "a folder without a file named .jpg, .jpeg, .mjpg or .mjpeg: name another one";
        return Err(SourceError::unusable(folder.display(), reason.to_owned()));
    }
    files[before..].sort_unstable();
    Ok(())
}
