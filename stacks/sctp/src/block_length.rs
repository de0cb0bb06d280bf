//! Lengths of the blocks in which messages are stored contiguously, for sending and receiving.

/// Length of the first block. A connection that sends little needs no more.
pub(crate) const MIN_BLOCK_BYTES: usize = 4 << 10;
/// Block length at full throughput.
pub(crate) const MAX_BLOCK_BYTES: usize = 64 << 10;
/// Longer messages get their own allocation: in a shared block they would waste too much of the rest of the
/// previous block.
pub(crate) const MAX_SHARED_BYTES: usize = MAX_BLOCK_BYTES / 2;

/// Length of the next block for a message of `length` bytes, given `total` bytes in existing blocks.
///
/// Two blocks should suffice: one being filled, and one whose messages are still needed. If there are more,
/// longer blocks are used, up to the maximum.
pub(crate) fn next_block_bytes(total: usize, length: usize) -> usize {
    (total / 2).max(2 * length).next_power_of_two().clamp(MIN_BLOCK_BYTES, MAX_BLOCK_BYTES)
}
