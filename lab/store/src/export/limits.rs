//! What is read of a file that somebody else may have written.

/// The most bytes of a file once decompressed. A run of twelve contenders, 40 sessions and 6 sweeps has about 150 MB.
pub const TEXT_BYTES_MAX: u64 = 512 << 20;
/// The longest line: a trial with its samples has some 100 KB.
pub const LINE_BYTES_MAX: u64 = 32 << 20;
/// The most samples of a run.
pub const SAMPLES_MAX: usize = 4_000_000;
/// The most trials of a run.
pub const TRIALS_MAX: usize = 200_000;
/// The longest id of a run, in bytes: it names a lock file.
pub const ID_BYTES_MAX: usize = 64;
