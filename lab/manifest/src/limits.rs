//! Limits of manifests and of computations based on them.

/// Longest manifest, in bytes.
pub const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
/// The longest name of a workload, contender, role, parameter, metric or preset, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Most entries of a list or table, such as parameters, metrics or command arguments.
pub const ENTRIES_MAX: usize = 256;
/// Most workloads of a repository, and most contenders of a workload.
pub const FOLDERS_MAX: usize = 512;
/// Most blocks of a preset.
pub const BLOCKS_MAX: u32 = 100_000;
/// Longest budget of a preset, in seconds: a week.
pub const BUDGET_SECONDS_MAX: f64 = 7.0 * 24.0 * 3600.0;
/// Longest expected duration of a build, in seconds.
pub const BUILD_SECONDS_MAX: u32 = 3600;
/// Default marks per second.
pub const MARKS_HZ_DEFAULT: u32 = 10;
/// Most marks per second.
pub const MARKS_HZ_MAX: u32 = 1000;
/// Most bytes hashed for the gate's expected digest, which takes a few seconds.
pub const GATE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Largest seed: every language's JSON numbers represent it exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;
/// Longest turn, lead or stretch of a duel, in ms. Beyond it, timers of the frozen sides expire.
pub const TURN_MS_MAX: u32 = 10_000;
/// Most turns of a side in a session: 1,000 of 100 ms are 100 s, and about 100,000 samples.
pub const TURNS_MAX: u32 = 1000;
/// Most trials that alternate in a session.
pub const TOGETHER_MAX: u32 = 16;
