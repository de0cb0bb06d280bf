//! Everything has a limit, and every limit a name.

/// Databases that `SELECT` can choose from, unless the configuration says another number.
pub(crate) const DATABASES: usize = 16;
/// Most databases that a configuration can ask for.
pub(crate) const DATABASES_MAX: usize = 1024;
/// Longest string value, bytes (`proto-max-bulk-len`).
pub(crate) const STRING_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Entries of a table's segment before it is split: what one insertion moves at the most, twice over.
pub(crate) const SEGMENT_ENTRIES_MAX: u32 = 1024;
/// Keys from which on it pays to fetch memory for commands that come: fewer are in the cache of a core.
pub(crate) const WARM_KEYS_MIN: usize = 64 * 1024;
/// Bits of a hash that a directory uses at the most; segments grow instead of splitting from there on.
pub(crate) const DIRECTORY_BITS_MAX: u32 = 22;
/// Slots looked at in search of a random element, before the nearest one is taken instead.
pub(crate) const RANDOM_TRIES: usize = 256;
/// Elements of a sequence's chunk, and chunks of its block.
pub(crate) const CHUNK_MAX: usize = 128;
/// Bytes of a chunk of strings: what is moved to insert at its front.
pub(crate) const CHUNK_BYTES: usize = 4 << 10;
/// Entries of a small hash, set or sorted set, whatever the configuration says: they are looked through one after the other.
pub(crate) const SMALL_ENTRIES_MAX: usize = 4096;
/// Members of a set, not all integers, that keep their order, and bytes of the longest of them.
pub(crate) const SET_SMALL_MEMBERS: usize = 128;
pub(crate) const SET_SMALL_BYTES: usize = 64;
/// Longest name of a command, bytes.
pub(crate) const COMMAND_NAME_MAX: usize = 32;
/// Bytes of an unknown command's name, and of all its arguments, that an error repeats.
pub(crate) const ERROR_ECHO_BYTES: usize = 128;
/// Bytes queued for a session that only listens, before it is closed (`client-output-buffer-limit pubsub`).
pub(crate) const PUSH_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Sessions of an engine.
pub(crate) const SESSIONS_MAX: usize = 1 << 20;
/// Commands queued in one transaction.
pub(crate) const TRANSACTION_COMMANDS_MAX: usize = 1 << 20;
/// Bytes of one transaction's queued arguments (`client-query-buffer-limit`).
pub(crate) const TRANSACTION_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Points at which snapshots are made by themselves (`save`).
pub(crate) const SAVE_POINTS_MAX: usize = 64;
/// After a snapshot that failed, none is made by itself for so long.
pub(crate) const SAVE_AGAIN_MS: u64 = 5000;
/// Keys that expire in one `tick`.
pub(crate) const EXPIRED_PER_TICK: usize = 2048;
/// Keys that are evicted for the sake of one command.
pub(crate) const EVICTED_PER_COMMAND: usize = 1024;
/// Candidates that an eviction compares (`maxmemory-samples`).
pub(crate) const EVICTION_SAMPLES: usize = 5;
/// Rounds of serving blocked sessions after one command: each can make another key ready.
pub(crate) const SERVE_ROUNDS_MAX: usize = 10_000;
/// Elements that HRANDFIELD and its kin draw with repetition, in one command.
pub(crate) const DRAWN_MAX: i64 = 4 * 1024 * 1024;
/// Slots of a table that one SCAN looks at for each element asked for.
pub(crate) const SCAN_SLOTS_PER_ELEMENT: usize = 10;
/// Cells of the table that LCS computes with.
pub(crate) const LCS_CELLS_MAX: usize = 64 * 1024 * 1024;
/// Users of the access control list, and rules that one of them can have.
pub(crate) const USERS_MAX: usize = 10_000;
/// Rules of one user's list.
pub(crate) const USER_RULES_MAX: usize = 10_000;
/// Steps that a glob match takes for each byte of its text before it counts as no match.
pub(crate) const GLOB_STEPS_PER_BYTE: usize = 4096;
/// Commands that SLOWLOG keeps, whatever `slowlog-max-len` says; arguments of each, and bytes of one of those.
pub(crate) const SLOWLOG_MAX: usize = 10_000;
/// The last one says how many there were besides.
pub(crate) const SLOWLOG_ARGUMENTS: usize = 32;
/// Of one argument.
pub(crate) const SLOWLOG_ARGUMENT_BYTES: usize = 128;
/// Samples of one of LATENCY's events.
pub(crate) const LATENCY_SAMPLES: usize = 160;
/// With a threshold below this every command is timed; from it on only those that can take so long.
pub(crate) const TIMED_ALL_BELOW_US: u64 = 1000;
