//! Memory for payload: messages are stored contiguously in blocks, and a block is reused once all its
//! messages have been dropped. A steady flow allocates nothing.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::block_length::{MAX_SHARED_BYTES, next_block_bytes};

/// Blocks checked for reuse before a new one is allocated. They become free roughly in the order in which
/// they were filled; a few checks skip those that one slow message still occupies.
const LOOKS: usize = 4;

/// A pool of blocks. [`store`](Self::store) copies a message into a block; the block is free again when the
/// last [`Bytes`] into it is dropped, on any thread.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    /// The block being filled.
    open: Block,
    /// Full blocks, in the order in which they were last checked.
    full: VecDeque<Block>,
    /// Total length of all blocks.
    bytes: usize,
}

/// One block.
#[derive(Debug, Default)]
struct Block {
    /// Its unused rest.
    rest: BytesMut,
    /// Its total length.
    bytes: usize,
}

impl BlockPool {
    /// Creates an empty pool without memory.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Copies a message into the pool.
    #[inline]
    pub(super) fn store(&mut self, message: &[u8]) -> Bytes {
        if message.len() > MAX_SHARED_BYTES {
            return Bytes::copy_from_slice(message);
        }
        if self.open.rest.capacity() < message.len() {
            self.turn(message.len());
        }
        self.open.rest.extend_from_slice(message);
        self.open.rest.split().freeze()
    }

    /// Total length of the reusable blocks. Excludes messages with their own allocation.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Releases all blocks. Those that still contain messages live until these are dropped.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Opens a block with space for a message of `length` bytes.
    #[cold]
    fn turn(&mut self, length: usize) {
        let spent = std::mem::take(&mut self.open);
        if spent.bytes > 0 {
            self.full.push_back(spent);
        }
        let wanted = next_block_bytes(self.bytes, length);
        self.open = self.reclaim(wanted).unwrap_or_else(|| {
            self.bytes += wanted;
            Block { rest: BytesMut::with_capacity(wanted), bytes: wanted }
        });
    }

    /// Returns a full block that has become free. Blocks that have become too short leave the pool.
    fn reclaim(&mut self, wanted: usize) -> Option<Block> {
        let mut looks = LOOKS;
        while looks > 0 {
            let mut block = self.full.pop_front()?;
            if block.bytes < wanted {
                self.bytes -= block.bytes;
            } else if block.rest.try_reclaim(block.bytes) {
                return Some(block);
            } else {
                self.full.push_back(block);
                looks -= 1;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_length::{MAX_BLOCK_BYTES, MIN_BLOCK_BYTES};

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut pool = BlockPool::new();
        let messages: Vec<Vec<u8>> =
            (0..200).map(|i| vec![i as u8; (i * 379) % (MAX_SHARED_BYTES + 999)]).collect();
        let stored: Vec<Bytes> = messages.iter().map(|message| pool.store(message)).collect();
        assert!(messages.iter().zip(&stored).all(|(message, stored)| message == stored));
    }

    #[test]
    fn a_steady_flow_reuses_its_blocks() {
        for (length, window) in [(1, 1), (100, 7), (1024, 64), (1024, 1000), (20_000, 30)] {
            let mut pool = BlockPool::new();
            let mut held = VecDeque::new();
            let mut most = 0;
            for round in 0..20_000 {
                held.push_back(pool.store(&vec![7; length]));
                if held.len() > window {
                    held.pop_front();
                }
                if round == 10_000 {
                    most = pool.bytes();
                }
            }
            assert_eq!(pool.bytes(), most, "{length} x {window} kept growing");
            let needed = length * window;
            assert!(most <= 4 * needed + 2 * MAX_BLOCK_BYTES, "{length} x {window} takes {most}");
        }
    }

    #[test]
    fn one_slow_message_does_not_stop_reuse() {
        let mut pool = BlockPool::new();
        let slow: Vec<Bytes> = (0..3)
            .map(|_| {
                let kept = pool.store(&[1; 1000]);
                (0..1000).for_each(|_| drop(pool.store(&[2; 1000])));
                kept
            })
            .collect();
        let before = pool.bytes();
        (0..10_000).for_each(|_| drop(pool.store(&[3; 1000])));
        assert_eq!(pool.bytes(), before);
        drop(slow);
    }

    #[test]
    fn an_idle_pool_holds_nothing() {
        let mut pool = BlockPool::new();
        let kept = pool.store(b"kept");
        assert_eq!(pool.bytes(), MIN_BLOCK_BYTES);
        pool.clear();
        assert_eq!((pool.bytes(), &kept[..]), (0, &b"kept"[..]));
        assert_eq!(pool.store(b"again"), b"again"[..]);
    }

    #[test]
    fn a_long_message_has_its_own_allocation() {
        let mut pool = BlockPool::new();
        assert_eq!(pool.store(&vec![9; MAX_SHARED_BYTES + 1]).len(), MAX_SHARED_BYTES + 1);
        assert_eq!(pool.bytes(), 0);
    }
}
