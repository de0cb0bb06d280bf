//! Every limit on a manifest and on what is computed from one.

/// The longest manifest that is read, in bytes.
pub const MANIFEST_BYTES_MAX: u64 = 256 * 1024;
/// The longest name of a workload, contender, role, parameter, metric or preset, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The most entries of one list or table: parameters, metrics, arguments of a command.
pub const ENTRIES_MAX: usize = 256;
/// The most workloads of a repository, and the most contenders of one workload.
pub const FOLDERS_MAX: usize = 512;
/// The most blocks that a preset may ask for.
pub const BLOCKS_MAX: u32 = 100_000;
/// The longest budget of a preset, in seconds: a week.
pub const BUDGET_SECONDS_MAX: f64 = 7.0 * 24.0 * 3600.0;
/// The longest that a build may be expected to take, in seconds.
pub const BUILD_SECONDS_MAX: u32 = 3600;
/// Marks a second where nothing says otherwise.
pub const MARKS_HZ_DEFAULT: u32 = 10;
/// The most marks a second.
pub const MARKS_HZ_MAX: u32 = 1000;
/// The most bytes that the gate's expected digest may be computed over. At this much it takes some seconds.
pub const GATE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// The largest seed: what a JSON number holds in every language.
pub const SEED_MAX: u64 = (1 << 53) - 1;
/// The longest turn, lead or stretch of a duel, in ms: beyond it timers of the one that stands still run out.
pub const TURN_MS_MAX: u32 = 10_000;
/// The most turns that each has in a session: 1,000 of 100 ms are 100 s, and some 100,000 samples.
pub const TURNS_MAX: u32 = 1000;
/// Most trials that take turns in a session.
pub const TOGETHER_MAX: u32 = 16;
