//! Memory for payload: messages stand side by side in blocks, and a block is used again once all of its messages are
//! gone. In a steady flow nothing is allocated.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::block_length::{MAX_SHARED_BYTES, next_block_bytes};

/// Blocks that are looked at for reuse before a new one is made. They fall free about in the order that they were
/// filled in; a few looks get past those that one slow message holds.
const LOOKS: usize = 4;

/// A pool of blocks. [`store`](Self::store) copies a message in; the block is free again when the last [`Bytes`] into
/// it is dropped, wherever that happens.
#[derive(Debug, Default)]
pub(super) struct BlockPool {
    /// The block that is being filled.
    open: Block,
    /// Full blocks, in the order that they were last looked at.
    full: VecDeque<Block>,
    /// Length of all blocks together.
    bytes: usize,
}

/// One block.
#[derive(Debug, Default)]
struct Block {
    /// What is left of it.
    rest: BytesMut,
    /// Its whole length.
    bytes: usize,
}

impl BlockPool {
    /// An empty pool; it holds no memory.
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

    /// Bytes of the blocks that the pool can fill again. Does not count messages that have an allocation of their own.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lets go of all blocks. Those that still have messages in them live until these are gone.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Opens a block with room for a message of `length` bytes.
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

    /// A full block that has fallen free. Blocks that are too short by now leave the pool.
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
            assert_eq!(pool.bytes(), most, "{length} x {window} kept on growing");
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
