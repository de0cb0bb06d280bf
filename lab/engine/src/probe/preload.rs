//! Counting in a preloaded library (`preload.c`), which the C compiler builds once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::scratch::{Scratch, output, program};
use super::{Look, processes};
use crate::run::preload;
use netdyno_lab_manifest::hex;
use netdyno_lab_store::probe::{Allocations, Found};

const SOURCE: &str = include_str!("preload.c");
/// Numbers in the page of counters: 64 shards of 8.
const NUMBERS: usize = 64 * 8;
/// Largest executable that is searched for an allocator.
const EXECUTABLE_BYTES_MAX: u64 = 512 << 20;
/// Strings in executables with their own allocators, and the allocators' names. With `-` for `_`, so that this
/// program, which plays roles in tests, does not contain them.
const BROUGHT: [(&str, &str); 5] = [
    ("mi-malloc-aligned", "mimalloc"),
    ("-rjem-malloc", "jemalloc"),
    ("je-arena-malloc-hard", "jemalloc"),
    ("sn-rust-alloc", "snmalloc"),
    ("TCMALLOC-SAMPLE-PARAMETER", "tcmalloc"),
];

/// The path of the library, which is built on first use.
pub fn library(scratch: &Scratch) -> Result<PathBuf, String> {
    let hash = hex(&Sha256::digest(SOURCE));
    let built = scratch.kept().join(format!("preload-{}.so", &hash[..16]));
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

/// The page of counters of a role's processes.
#[derive(Debug)]
pub(super) struct Preload {
    page: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Number of processes that loaded the library.
    pub(super) loaded: u64,
    pub(super) of: Allocations,
    /// Number of calls that set a receive buffer.
    pub(super) buffers: u64,
}

impl Preload {
    /// Creates the page, and sets the environment variable that names it.
    pub(super) fn new(folder: &Path, env: &mut Vec<(String, String)>) -> Result<Preload, String> {
        let page = folder.join("page");
        fs::write(&page, vec![0; NUMBERS * 8]).map_err(|e| format!("{}: {e}", page.display()))?;
        env.push(("NETDYNO_PRELOAD".to_owned(), page.display().to_string()));
        Ok(Preload { page })
    }

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

/// The executable's own allocator, identified by strings in its file.
pub(super) fn allocator_of(executable: &Path) -> Option<&'static str> {
    let short = fs::metadata(executable).is_ok_and(|m| m.len() <= EXECUTABLE_BYTES_MAX);
    let bytes = short.then(|| fs::read(executable).ok()).flatten()?;
    let holds = |part: &str| memchr::memmem::find(&bytes, part.replace('-', "_").as_bytes()).is_some();
    BROUGHT.iter().find(|(part, _)| holds(part)).map(|(_, name)| *name)
}

pub(super) struct Allocator {
    preload: Preload,
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
            return Err("Go allocates with its own runtime, not with the C library".to_owned());
        }
        preload(env, &library(scratch)?);
        Ok(Self { preload: Preload::new(folder, env)?, begin: Counts::default(), end: Counts::default() })
    }
}

impl Look for Allocator {
    fn source(&self) -> String {
        "calls of the C library's allocator, counted by a preloaded library".to_owned()
    }

    fn attach(&mut self, root: i32) -> Result<(), String> {
        if self.preload.read()?.loaded == 0 {
            return Err("it does not load the counting library: it is linked statically".to_owned());
        }
        let executables = processes(root).into_iter().map(|pid| PathBuf::from(format!("/proc/{pid}/exe")));
        match executables.filter_map(|path| allocator_of(&path)).next() {
            Some(name) => Err(format!("it has its own allocator, {name}")),
            None => Ok(()),
        }
    }

    fn begin(&mut self, _root: i32) -> Result<(), String> {
        self.begin = self.preload.read()?;
        Ok(())
    }

    fn end(&mut self, _root: i32) -> Result<(), String> {
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
