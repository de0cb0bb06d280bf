//! What a library of ours counts, or keeps, in a contender that loads it (`preload.c`); built once by the C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::scratch::{Scratch, output, program};
use super::{Look, processes};
use crate::run::preload;
use netdyno_lab_store::probe::{Allocations, Found};

/// The library.
const SOURCE: &str = include_str!("preload.c");
/// Numbers in the page that it counts in: 64 shards of 8.
const NUMBERS: usize = 64 * 8;
/// The largest executable that is searched for an allocator.
const EXECUTABLE_BYTES_MAX: u64 = 512 << 20;
/// What the executables of allocators that come with a program hold, and their names. With `-` for `_`, so that this program, which
/// plays roles in tests, does not hold it.
const BROUGHT: [(&str, &str); 5] = [
    ("mi-malloc-aligned", "mimalloc"),
    ("-rjem-malloc", "jemalloc"),
    ("je-arena-malloc-hard", "jemalloc"),
    ("sn-rust-alloc", "snmalloc"),
    ("TCMALLOC-SAMPLE-PARAMETER", "tcmalloc"),
];

/// The library built, in the folder that is kept.
///
/// # Errors
/// In words: why it cannot be built.
pub fn library(scratch: &Scratch) -> Result<PathBuf, String> {
    let hash: String = Sha256::digest(SOURCE).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let built = scratch.kept().join(format!("preload-{hash}.so"));
    if built.is_file() {
        return Ok(built);
    }
    let folder = scratch.folder("preload")?;
    let (source, made) = (folder.join("preload.c"), folder.join("preload.so"));
    fs::write(&source, SOURCE).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut cc = Command::new(program("cc", "build-essential")?);
    cc.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&made).arg(&source).arg("-ldl");
    output(cc, &folder)?;
    fs::rename(&made, &built).map_err(|e| format!("{}: {e}", built.display()))?;
    Ok(built)
}

/// The page that a role's processes count in.
#[derive(Debug)]
pub(super) struct Preload {
    page: PathBuf,
}

/// The sums of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Processes that have loaded it.
    pub(super) loaded: u64,
    /// The allocator's.
    pub(super) of: Allocations,
    /// Calls that set a receive buffer.
    pub(super) buffers: u64,
}

impl Preload {
    /// Makes the page, and tells a role that loads the library where it is.
    ///
    /// # Errors
    /// In words.
    pub(super) fn new(folder: &Path, env: &mut Vec<(String, String)>) -> Result<Preload, String> {
        let page = folder.join("page");
        fs::write(&page, vec![0; NUMBERS * 8]).map_err(|e| format!("{}: {e}", page.display()))?;
        env.push(("NETDYNO_PRELOAD".to_owned(), page.display().to_string()));
        Ok(Preload { page })
    }

    /// What stands in the page now.
    ///
    /// # Errors
    /// In words.
    pub(super) fn read(&self) -> Result<Counts, String> {
        let bytes = fs::read(&self.page).map_err(|e| format!("{}: {e}", self.page.display()))?;
        Ok(counts(&bytes))
    }
}

fn counts(page: &[u8]) -> Counts {
    let number = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
    let numbers: Vec<u64> = page.chunks_exact(8).map(number).collect();
    let mut sum = Counts::default();
    for shard in numbers.chunks_exact(8) {
        sum.loaded += shard[0];
        sum.of.allocations += shard[1];
        sum.of.bytes += shard[2];
        sum.of.frees += shard[3];
        sum.buffers += shard[4];
    }
    sum
}

/// The allocator that an executable brings along, by what stands in its file.
#[must_use]
pub(super) fn allocator_of(executable: &Path) -> Option<&'static str> {
    let short = fs::metadata(executable).is_ok_and(|m| m.len() <= EXECUTABLE_BYTES_MAX);
    let bytes = short.then(|| fs::read(executable).ok()).flatten()?;
    let holds = |part: &str| memchr::memmem::find(&bytes, part.replace('-', "_").as_bytes()).is_some();
    BROUGHT.iter().find(|(part, _)| holds(part)).map(|(_, name)| *name)
}

/// Counts allocations of one role.
pub(super) struct Allocator {
    preload: Preload,
    root: i32,
    begin: Counts,
    end: Counts,
}

impl Allocator {
    pub(super) fn new(
        language: &str,
        folder: &Path,
        scratch: &Scratch,
        env: &mut Vec<(String, String)>,
    ) -> Result<Self, String> {
        if language == "go" {
            return Err("Go allocates by its own runtime, not by the C library".to_owned());
        }
        preload(env, &library(scratch)?);
        let page = Preload::new(folder, env)?;
        Ok(Self { preload: page, root: 0, begin: Counts::default(), end: Counts::default() })
    }
}

impl Look for Allocator {
    fn source(&self) -> String {
        "calls of the C library's allocator, counted by a preloaded library".to_owned()
    }

    fn attach(&mut self, root: i32) -> Result<(), String> {
        self.root = root;
        if self.preload.read()?.loaded == 0 {
            return Err("it does not load the library that counts: it is linked statically".to_owned());
        }
        let executables = processes(root).into_iter().map(|pid| PathBuf::from(format!("/proc/{pid}/exe")));
        match executables.filter_map(|path| allocator_of(&path)).next() {
            Some(name) => Err(format!("it brings an allocator of its own along, {name}")),
            None => Ok(()),
        }
    }

    fn begin(&mut self) -> Result<(), String> {
        self.begin = self.preload.read()?;
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        self.end = self.preload.read()?;
        Ok(())
    }

    fn found(&mut self) -> Result<Found, String> {
        let (a, b) = (self.begin.of, self.end.of);
        Ok(Found::Allocations(Allocations {
            allocations: b.allocations.saturating_sub(a.allocations),
            bytes: b.bytes.saturating_sub(a.bytes),
            frees: b.frees.saturating_sub(a.frees),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_known_by_what_its_executable_holds() {
        assert_eq!(allocator_of(Path::new("/proc/self/exe")), None);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "ELF mi-malloc-aligned\0".replace('-', "_")).unwrap();
        assert_eq!(allocator_of(file.path()), Some("mimalloc"));
    }

    #[test]
    fn a_page_is_the_sum_of_its_shards() {
        let mut page = vec![0u8; NUMBERS * 8];
        for (index, value) in [(0, 1), (1, 10), (2, 640), (3, 9), (4, 2), (8 + 1, 5), (63 * 8 + 2, 60)] {
            page[index * 8..index * 8 + 8].copy_from_slice(&u64::to_ne_bytes(value));
        }
        let of = Allocations { allocations: 15, bytes: 700, frees: 9 };
        assert_eq!(counts(&page), Counts { loaded: 1, of, buffers: 2 });
        assert_eq!(counts(&page[..7]), Counts::default(), "a file that is cut short counts nothing");
    }
}
