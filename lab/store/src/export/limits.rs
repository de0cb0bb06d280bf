//! Limits of imported files, which may come from untrusted sources.

/// Most bytes of a decompressed file. A run of twelve contenders, 40 sessions and 6 sweeps has about 150 MB.
pub const TEXT_BYTES_MAX: u64 = 512 << 20;
/// Longest line; a trial with its samples has about 100 KB.
pub const LINE_BYTES_MAX: u64 = 32 << 20;
/// Most samples of a run.
pub const SAMPLES_MAX: usize = 4_000_000;
/// Most trials of a run.
pub const TRIALS_MAX: usize = 200_000;
/// Longest id of a run, in bytes; it is part of the name of a lock file.
pub const ID_BYTES_MAX: usize = 64;
