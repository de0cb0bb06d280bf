//! JPEG files on a disk: one picture a file, or many one after the other in it.
//!
//! | does | does not |
//! |---|---|
//! | read picture by picture into the caller's buffer | hold files in memory, or map them: that would count as the process' |
//! | begin again at the end, if that is wanted; of one file then remember where its pictures are | follow a file that grows, or see files that come into a folder later |
//! | take what is in a folder, by name: `.jpg`, `.jpeg`, `.mjpg`, `.mjpeg` | go into folders within it |

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use netdyno_mjpeg_core::{Split, Splitter};

use super::{Next, Source, SourceError, Timing};
use crate::limits::{MAX_FILES, MAX_PICTURE_BYTES, MAX_PLACES};

/// Pictures of files, in the order of the files.
#[derive(Debug)]
pub struct Files {
    files: Vec<PathBuf>,
    /// Which file comes next.
    next: usize,
    open: Option<Open>,
    repeat: bool,
    /// Pictures since the first file was begun with: to begin again with none would have no end.
    since_begin: u64,
    chunk: Box<[u8]>,
}

/// A file that is being read.
#[derive(Debug)]
struct Open {
    file: File,
    /// How far it was read.
    at: u64,
    splitter: Splitter,
    /// What was read, but not looked at: a part of the chunk.
    unseen: std::ops::Range<usize>,
    /// Where its pictures are, if they lie in it as they are given out.
    places: Option<Vec<Place>>,
    /// The place that comes next, once all are known.
    replay: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    bytes: usize,
}

/// What is read at once.
const CHUNK_BYTES: usize = 64 << 10;

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
        Ok(Self { files, next: 0, open: None, repeat, since_begin: 0, chunk: vec![0; CHUNK_BYTES].into() })
    }

    /// Sees that a file is open; false after the last.
    fn advance(&mut self) -> Result<bool, SourceError> {
        if self.open.is_some() {
            return Ok(true);
        }
        if self.next == self.files.len() && self.repeat && self.since_begin > 0 {
            (self.next, self.since_begin) = (0, 0);
        }
        let Some(path) = self.files.get(self.next) else { return Ok(false) };
        // One that cannot be opened is passed over when the source is asked again.
        self.next += 1;
        let file = File::open(path).map_err(|error| SourceError::io(path.display(), error))?;
        let places = (self.repeat && self.files.len() == 1).then(Vec::new);
        let splitter = Splitter::new(MAX_PICTURE_BYTES);
        self.open = Some(Open { file, at: 0, splitter, unseen: 0..0, places, replay: None });
        Ok(true)
    }
}

impl Source for Files {
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError> {
        into.clear();
        loop {
            if !self.advance()? {
                return Ok(Next::End);
            }
            let Some(open) = &mut self.open else { return Ok(Next::End) };
            match open.next(&mut self.chunk, into) {
                Ok(Split::Picture) => {
                    self.since_begin += 1;
                    return Ok(Next::Picture);
                }
                Ok(Split::More) if open.begin_again() => {}
                Ok(Split::More) => self.open = None,
                Ok(Split::TooLong) => {
                    let rule = format!("a picture of more than {MAX_PICTURE_BYTES} bytes: leave it out");
                    return Err(SourceError::unusable(self.files[self.next - 1].display(), rule));
                }
                Err(error) => {
                    self.open = None;
                    return Err(SourceError::io(self.files[self.next - 1].display(), error));
                }
            }
        }
    }

    fn timing(&self) -> Timing {
        Timing::OnDemand
    }
}

impl Open {
    /// The next picture of the file; `More` at its end.
    fn next(&mut self, chunk: &mut [u8], into: &mut Vec<u8>) -> io::Result<Split> {
        if let (Some(replay), Some(places)) = (&mut self.replay, &self.places) {
            let place = places[*replay];
            *replay = (*replay + 1) % places.len();
            into.resize(place.bytes, 0);
            self.file.read_exact_at(into, place.at)?;
            return Ok(Split::Picture);
        }
        loop {
            let mut unseen = &chunk[self.unseen.clone()];
            let split = self.splitter.split(&mut unseen, into);
            self.unseen.start = self.unseen.end - unseen.len();
            match split {
                Split::Picture => self.remember(into.len())?,
                Split::TooLong => self.places = None,
                Split::More => {
                    let read = read_at(&self.file, chunk, self.at)?;
                    self.at += read as u64;
                    self.unseen = 0..read;
                    if read > 0 {
                        continue;
                    }
                    if !self.splitter.finish(into) {
                        return Ok(Split::More);
                    }
                    self.places = None;
                    return Ok(Split::Picture);
                }
            }
            return Ok(split);
        }
    }

    /// The picture that was found has so many bytes. One without EOI, which the splitter made, does not lie there so.
    fn remember(&mut self, bytes: usize) -> io::Result<()> {
        let Some(places) = &mut self.places else { return Ok(()) };
        let end = self.at - self.unseen.len() as u64;
        let mut last = [0; 2];
        self.file.read_exact_at(&mut last, end - 2)?;
        match end.checked_sub(bytes as u64) {
            Some(at) if last == [0xff, 0xd9] && places.len() < MAX_PLACES => places.push(Place { at, bytes }),
            _ => self.places = None,
        }
        Ok(())
    }

    /// At the end of the file: whether it begins again by itself, since all places are known.
    fn begin_again(&mut self) -> bool {
        let is_known = self.places.as_ref().is_some_and(|places| !places.is_empty());
        self.replay = is_known.then_some(0);
        is_known
    }
}

fn read_at(file: &File, chunk: &mut [u8], offset: u64) -> io::Result<usize> {
    loop {
        match file.read_at(chunk, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The JPEG files of a folder, by name.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), SourceError> {
    let failed = |error| SourceError::io(folder.display(), error);
    let before = files.len();
    for entry in folder.read_dir().map_err(failed)?.take(MAX_FILES + 1) {
        let path = entry.map_err(failed)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_jpeg =
            ["jpg", "jpeg", "mjpg", "mjpeg"].iter().any(|known| extension.eq_ignore_ascii_case(known));
        if is_jpeg && path.is_file() {
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
