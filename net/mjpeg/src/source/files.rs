//! JPEG files on disk, each with one or more concatenated pictures.
//!
//! | does | does not |
//! |---|---|
//! | read on demand, 256 KiB at a time | keep files in memory or map them |
//! | repeat the files if requested | follow growing files or notice new files in a folder |
//! | select files of a folder by extension: `.jpg`, `.jpeg`, `.mjpg`, `.mjpeg` | descend into subfolders |

use std::fs::File;
use std::io::{ErrorKind, Seek};
use std::path::{Path, PathBuf};

use super::pictures::Pictures;
use super::{Next, Source, SourceError, Timing};
use crate::limits::MAX_FILES;

/// A source that reads files in order.
#[derive(Debug)]
pub struct Files {
    files: Vec<PathBuf>,
    /// Index of the next file.
    next: usize,
    open: Option<Open>,
    pictures: Pictures,
    repeat: bool,
    /// Whether there was a picture since the first file; repeating without one would not terminate.
    had_picture: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    name: String,
    had_picture: bool,
}

impl Files {
    /// Opens files and folders in this order. `repeat` restarts with the first after the last.
    ///
    /// # Errors
    /// A path does not exist, or a folder has no JPEG file.
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
                let reason = format!("more than {MAX_FILES} files; concatenate pictures into fewer files");
                return Err(SourceError::unusable(path.display(), reason));
            }
        }
        Ok(Self { files, next: 0, open: None, pictures: Pictures::new(), repeat, had_picture: false })
    }

    /// Opens the next file unless one is open. Returns `false` after the last.
    fn open_next(&mut self) -> Result<bool, SourceError> {
        if self.open.is_none() {
            if self.next == self.files.len() && self.repeat && self.had_picture {
                (self.next, self.had_picture) = (0, false);
            }
            let Some(path) = self.files.get(self.next) else { return Ok(false) };
            // The next call skips a file that cannot be opened.
            self.next += 1;
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| SourceError::io(&name, error))?;
            self.open = Some(Open { file, name, had_picture: false });
        }
        Ok(true)
    }

    /// Closes the file at its end. The only file of a loop is rewound.
    fn end_of_file(&mut self) -> Result<(), SourceError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        if !open.had_picture {
            let reason = "contains no JPEG picture; remove it from the arguments";
            return Err(SourceError::unusable(open.name, reason.to_owned()));
        }
        if self.files.len() == 1 && self.repeat {
            open.had_picture = false;
            open.file.rewind().map_err(|error| SourceError::io(&open.name, error))?;
            self.open = Some(open);
        }
        Ok(())
    }
}

impl Source for Files {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        while self.open_next()? {
            let Self { open: Some(open), pictures, .. } = self else { break };
            let is_picture = pictures.next(&open.name, into)?
                || match pictures.read(&mut open.file) {
                    Ok(0) if pictures.finish(into) => true,
                    Ok(0) => {
                        self.end_of_file()?;
                        continue;
                    }
                    Err(error) if error.kind() != ErrorKind::Interrupted => {
                        let error = SourceError::io(&open.name, error);
                        pictures.finish(into);
                        self.open = None;
                        return Err(error);
                    }
                    _ => false,
                };
            if is_picture {
                open.had_picture = true;
                self.had_picture = true;
                return Ok(Next::Picture);
            }
        }
        Ok(Next::End)
    }

    fn timing(&self) -> Timing {
        Timing::OnDemand
    }
}

/// Appends the JPEG files of a folder, sorted by name.
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
        let reason = "the folder contains no .jpg, .jpeg, .mjpg or .mjpeg file; choose another folder";
        return Err(SourceError::unusable(folder.display(), reason.to_owned()));
    }
    files[before..].sort_unstable();
    Ok(())
}
