//! JPEG files on a disk: one picture a file, or many one after the other in it.
//!
//! | does | does not |
//! |---|---|
//! | read as pictures are asked for, 256 KiB at a time | hold files in memory, or map them: that would count as the process' |
//! | begin again at the end, if that is wanted | follow a file that grows, or see files that come into a folder later |
//! | take what is in a folder by its name: `.jpg`, `.jpeg`, `.mjpg`, `.mjpeg` | go into folders within it |

use std::fs::File;
use std::io::{ErrorKind, Seek};
use std::path::{Path, PathBuf};

use super::pictures::Pictures;
use super::{Next, Source, SourceError, Timing};
use crate::limits::MAX_FILES;

/// Pictures of files, in the order of the files.
#[derive(Debug)]
pub struct Files {
    files: Vec<PathBuf>,
    /// Which file comes next, behind the one that is being read.
    next: usize,
    open: Option<Open>,
    pictures: Pictures,
    repeat: bool,
    /// Whether there was a picture since the first file was begun with: to begin again without one would have no end.
    had_picture: bool,
}

#[derive(Debug)]
struct Open {
    file: File,
    name: String,
    had_picture: bool,
}

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
        Ok(Self { files, next: 0, open: None, pictures: Pictures::new(), repeat, had_picture: false })
    }

    /// Opens the next file, unless one is being read. False after the last.
    fn begin(&mut self) -> Result<bool, SourceError> {
        if self.open.is_none() {
            if self.next == self.files.len() && self.repeat && self.had_picture {
                (self.next, self.had_picture) = (0, false);
            }
            let Some(path) = self.files.get(self.next) else { return Ok(false) };
            // One that cannot be opened is passed over when the source is asked again.
            self.next += 1;
            let name = path.display().to_string();
            let file = File::open(path).map_err(|error| SourceError::io(&name, error))?;
            self.open = Some(Open { file, name, had_picture: false });
        }
        Ok(true)
    }

    /// The file at its end is closed, but the only one of a loop, which is read again.
    fn end_of_file(&mut self) -> Result<(), SourceError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        if !open.had_picture {
            let reason = "no JPEG picture is in it: leave it out";
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
        while self.begin()? {
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
