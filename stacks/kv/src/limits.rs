//! Every resource has a named limit.

/// Default number of databases.
pub(crate) const DATABASES: usize = 16;
/// Maximum number of databases.
pub(crate) const DATABASES_MAX: usize = 1024;
/// Bytes of a string value (`proto-max-bulk-len`).
pub(crate) const STRING_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Entries of a table's segment before it is split; an insertion moves at most half of them.
pub(crate) const SEGMENT_ENTRIES_MAX: u32 = 1024;
/// Keys from which prefetching pays off; smaller keyspaces fit into a core's cache.
pub(crate) const PREFETCH_KEYS_MIN: usize = 64 * 1024;
/// Hash bits that a directory uses; beyond that, segments grow instead of splitting.
pub(crate) const DIRECTORY_BITS_MAX: u32 = 22;
/// Slots probed for a random element before the nearest one is taken.
pub(crate) const RANDOM_TRIES: usize = 256;
/// Elements of a sequence's chunk, and chunks of a block.
pub(crate) const CHUNK_MAX: usize = 128;
/// Bytes of a chunk of strings; an insertion at its front moves them.
pub(crate) const CHUNK_BYTES: usize = 4 << 10;
/// Upper bound of the configured limits of small hashes, sets and sorted sets, which are searched linearly.
pub(crate) const SMALL_ENTRIES_MAX: usize = 4096;
/// Members of a small set of texts, and bytes of its longest member.
pub(crate) const SET_SMALL_MEMBERS: usize = 128;
pub(crate) const SET_SMALL_BYTES: usize = 64;
/// Bytes of a command's name.
pub(crate) const COMMAND_NAME_MAX: usize = 32;
/// Bytes of an unknown command's name, and of its arguments, that an error repeats.
pub(crate) const ERROR_ECHO_BYTES: usize = 128;
/// Bytes queued for a subscriber before it is disconnected (`client-output-buffer-limit pubsub`).
pub(crate) const PUSH_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Sessions of an engine.
pub(crate) const SESSIONS_MAX: usize = 1 << 20;
/// Commands queued in a transaction.
pub(crate) const TRANSACTION_COMMANDS_MAX: usize = 1 << 20;
/// Bytes of a transaction's queued arguments (`client-query-buffer-limit`).
pub(crate) const TRANSACTION_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// Estimated overhead of an allocation, and of a name in a collection, in the memory that clients hold.
pub(crate) const ALLOCATION_BYTES: usize = 16;
pub(crate) const ENTRY_BYTES: usize = 128;
/// Bytes of the address that a replica reports about itself.
pub(crate) const REPLICA_ADDRESS_BYTES: usize = 256;
/// Save points (`save`).
pub(crate) const SAVE_POINTS_MAX: usize = 64;
/// Delay before the next automatic snapshot after a failure.
pub(crate) const SAVE_AGAIN_MS: u64 = 5000;
/// Keys that one `tick` expires.
pub(crate) const EXPIRED_PER_TICK: usize = 2048;
/// Keys that are evicted for one command.
pub(crate) const EVICTED_PER_COMMAND: usize = 1024;
/// Candidates compared per eviction (`maxmemory-samples`).
pub(crate) const EVICTION_SAMPLES: usize = 5;
/// Rounds of serving blocked sessions after one command; each can make another key ready.
pub(crate) const SERVE_ROUNDS_MAX: usize = 10_000;
/// Elements that HRANDFIELD and similar commands draw with repetition.
pub(crate) const DRAWN_MAX: i64 = 4 * 1024 * 1024;
/// Slots that SCAN visits for each requested element.
pub(crate) const SCAN_SLOTS_PER_ELEMENT: usize = 10;
/// Cells of the table of LCS.
pub(crate) const LCS_CELLS_MAX: usize = 64 * 1024 * 1024;
/// ACL users.
pub(crate) const USERS_MAX: usize = 10_000;
/// Rules of one user.
pub(crate) const USER_RULES_MAX: usize = 10_000;
/// Steps of a glob match per byte of text, and in total, before it is treated as a mismatch. One pass over pattern
/// and text comes on top.
pub(crate) const GLOB_STEPS_PER_BYTE: usize = 4096;
pub(crate) const GLOB_STEPS_MAX: usize = 1 << 26;

/// Bytes of the text of DEBUG STRINGMATCH-LEN.
pub(crate) const STRINGMATCH_BYTES_MAX: usize = 1 << 20;
/// Entries of SLOWLOG, regardless of `slowlog-max-len`.
pub(crate) const SLOWLOG_MAX: usize = 10_000;
/// Arguments of a SLOWLOG entry; the last one gives the number of omitted arguments.
pub(crate) const SLOWLOG_ARGUMENTS: usize = 32;
/// Bytes of an argument in SLOWLOG.
pub(crate) const SLOWLOG_ARGUMENT_BYTES: usize = 128;
/// Samples of one event of LATENCY.
pub(crate) const LATENCY_SAMPLES: usize = 160;
/// Below this threshold all commands are timed; from it on only those that can take that long.
pub(crate) const TIMED_ALL_BELOW_US: u64 = 1000;

/// Bytes from a primary that are applied at once; the last command may exceed this.
pub(crate) const LINK_PART_BYTES: usize = 1 << 20;

/// Bytes of the longest line that a primary may send as a reply.
pub(crate) const LINK_LINE_BYTES: usize = 16 << 10;

/// Interval between a replica's acknowledgements, in microseconds.
pub(crate) const ACKNOWLEDGEMENT_INTERVAL_US: u64 = 1_000_000;

/// Interval between connection attempts to a primary, in microseconds.
pub(crate) const LINK_RETRY_US: u64 = 1_000_000;
