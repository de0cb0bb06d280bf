//! How long the blocks are that messages stand in side by side, on their way out and on their way in.

/// Length of the first block of whoever had none. A connection that sends a little now and then has no more.
pub(crate) const MIN_BLOCK_BYTES: usize = 4 << 10;
/// Length of the blocks in full flow.
pub(crate) const MAX_BLOCK_BYTES: usize = 64 << 10;
/// A longer message stands alone: in a shared block it would waste too much of what is left of the one before.
pub(crate) const MAX_SHARED_BYTES: usize = MAX_BLOCK_BYTES / 2;

/// The length of the next block, for a message of `length` bytes, where there are blocks of `total` bytes together.
///
/// Two blocks should do: one that is being filled, one whose messages are on their way out. More of them call for longer
/// ones, up to the maximum.
pub(crate) fn next_block_bytes(total: usize, length: usize) -> usize {
    (total / 2).max(2 * length).next_power_of_two().clamp(MIN_BLOCK_BYTES, MAX_BLOCK_BYTES)
}
