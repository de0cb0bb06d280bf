//! Storage for payload from `send` until it is acknowledged: messages are contiguous in blocks, and a block
//! is reused once all its messages are released. A steady flow of messages of up to 32 KiB allocates nothing.
//!
//! A chunk refers to a plain range of a block, and a block counts the bytes still needed. Within one thread
//! this needs no atomic operations, which would cost as much as the copy, because each of them waits until
//! the copy has reached the cache. The most recently freed block is filled next, while it is still in the
//! cache.

use crate::block_length::{MAX_SHARED_BYTES, next_block_bytes};

/// A message, part of one, or several. It must be returned to its store.
///
/// A message has less than 4 GiB (`Config::max_send_message_bytes`): with many short messages waiting, the
/// overhead per message matters.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Stored {
    block: u32,
    start: u32,
    length: u32,
}

impl Stored {
    pub(super) fn len(&self) -> usize {
        self.length as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Block and start; with the length they identify the range.
    pub(super) fn place(&self) -> (u32, u32) {
        (self.block, self.start)
    }

    /// A range of this length: part of what was stored, or several contiguous messages. Each byte must be
    /// released once.
    pub(super) fn at((block, start): (u32, u32), length: usize) -> Self {
        Self { block, start, length: length as u32 }
    }
}

/// How long a message may have to be kept. Messages of one kind are stored together: one that stays occupies
/// a whole block, and among others that leave early it would occupy many times its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Until it is acknowledged.
    UntilAcked,
    /// Until it is abandoned at the latest.
    Limited,
}

/// The store.
#[derive(Debug, Default)]
pub(super) struct Store {
    blocks: Vec<Block>,
    /// The blocks being filled, by [`Keep`].
    open: [Option<u32>; 2],
    /// Free blocks with memory, the last used on top.
    free: Vec<u32>,
    /// Blocks without memory.
    vacant: Vec<u32>,
    /// Memory of all blocks.
    bytes: usize,
}

/// A range of memory, or none.
#[derive(Debug, Default)]
struct Block {
    bytes: Vec<u8>,
    /// Bytes that are still needed.
    live: usize,
    /// Allocated for one long message.
    is_own: bool,
}

impl Block {
    fn has_room(&self, length: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= length
    }
}

impl Store {
    /// Copies a message into the store.
    #[inline]
    pub(super) fn store(&mut self, message: &[u8], keep: Keep) -> Stored {
        let index = match self.open[keep as usize] {
            Some(open) if self.blocks[open as usize].has_room(message.len()) => open,
            _ => self.turn(message.len(), keep),
        };
        let block = &mut self.blocks[index as usize];
        let start = block.bytes.len() as u32;
        block.bytes.extend_from_slice(message);
        block.live += message.len();
        Stored { block: index, start, length: message.len() as u32 }
    }

    /// The bytes.
    #[inline]
    pub(super) fn get(&self, stored: &Stored) -> &[u8] {
        &self.blocks[stored.block as usize].bytes[stored.start as usize..][..stored.len()]
    }

    /// Releases bytes.
    #[inline]
    pub(super) fn release(&mut self, stored: Stored) {
        if stored.is_empty() {
            return;
        }
        let block = &mut self.blocks[stored.block as usize];
        block.live -= stored.len();
        if block.live == 0 {
            self.reuse(stored.block);
        }
    }

    /// Releases the memory of all empty blocks.
    pub(super) fn shrink(&mut self) {
        self.close_if_empty(Keep::UntilAcked);
        self.close_if_empty(Keep::Limited);
        while let Some(index) = self.free.pop() {
            self.vacate(index);
        }
        if self.vacant.len() == self.blocks.len() {
            *self = Self::default();
        }
    }

    /// Memory of all blocks.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes still needed.
    #[cfg(test)]
    pub(super) fn live_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.live).sum()
    }

    /// Provides a block with space for a message of `length` bytes, open from now on if others may share it.
    #[cold]
    fn turn(&mut self, length: usize, keep: Keep) -> u32 {
        if length > MAX_SHARED_BYTES {
            return self.add(length, true);
        }
        let wanted = next_block_bytes(self.bytes, length);
        // An open block that is empty is too short. Blocks that have become too short leave the store.
        self.close_if_empty(keep);
        while let Some(index) = self.free.pop() {
            if self.blocks[index as usize].bytes.capacity() >= wanted {
                self.open[keep as usize] = Some(index);
                return index;
            }
            self.vacate(index);
        }
        let index = self.add(wanted, false);
        self.open[keep as usize] = Some(index);
        index
    }

    /// Adds a block.
    fn add(&mut self, length: usize, is_own: bool) -> u32 {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.blocks.push(Block::default());
            // Lossless: each block contains at least a byte of payload, or is reused.
            (self.blocks.len() - 1) as u32
        });
        let bytes = Vec::with_capacity(length);
        self.bytes += bytes.capacity();
        self.blocks[index as usize] = Block { bytes, live: 0, is_own };
        index
    }

    /// An open block that is empty is as free as any other.
    fn close_if_empty(&mut self, keep: Keep) {
        let open = &mut self.open[keep as usize];
        self.free.extend(open.take_if(|open| self.blocks[*open as usize].live == 0));
    }

    /// Nothing of a block is needed any more.
    fn reuse(&mut self, index: u32) {
        let block = &mut self.blocks[index as usize];
        block.bytes.clear();
        if block.is_own {
            self.vacate(index);
        } else if !self.open.contains(&Some(index)) {
            self.free.push(index);
        }
    }

    /// Releases the memory of a block.
    fn vacate(&mut self, index: u32) {
        let memory = std::mem::take(&mut self.blocks[index as usize].bytes);
        self.bytes -= memory.capacity();
        self.vacant.push(index);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::block_length::{MAX_BLOCK_BYTES, MIN_BLOCK_BYTES};

    /// Messages with recognisable content.
    fn message(number: usize, length: usize) -> Vec<u8> {
        (0..length).map(|at| (number * 31 + at) as u8).collect()
    }

    #[test]
    fn messages_come_out_as_they_went_in_whatever_left_before() {
        let mut store = Store::default();
        let mut held = VecDeque::new();
        for number in 0..2000 {
            let bytes = message(number, 1 + (number * 379) % (2 * MAX_SHARED_BYTES));
            let whole = store.store(&bytes, Keep::UntilAcked);
            let (cut, (block, start)) = (number % whole.len(), whole.place());
            let front = Stored::at((block, start), cut);
            let rest = Stored::at((block, start + cut as u32), whole.len() - cut);
            held.push_back((front, rest, bytes));
            // Released in another order than stored.
            while held.len() > number % 50 {
                let at = (number * 7) % held.len();
                let Some((front, rest, bytes)) = held.remove(at) else { break };
                let found = [store.get(&front), store.get(&rest)].concat();
                assert_eq!(found, bytes, "{number}");
                store.release(front);
                store.release(rest);
            }
        }
        let live: usize = held.iter().map(|(.., bytes)| bytes.len()).sum();
        assert_eq!(store.live_bytes(), live);
        held.drain(..).for_each(|(front, rest, _)| {
            store.release(front);
            store.release(rest);
        });
        store.shrink();
        assert_eq!((store.live_bytes(), store.bytes()), (0, 0));
    }

    #[test]
    fn a_steady_flow_reuses_its_blocks() {
        for (length, window) in [(1, 1), (100, 7), (1024, 64), (1024, 1000), (20_000, 30), (40_000, 10)] {
            let mut store = Store::default();
            let mut held = VecDeque::new();
            let mut most = 0;
            for round in 0..20_000 {
                held.push_back(store.store(&vec![7; length], Keep::UntilAcked));
                if held.len() > window {
                    let oldest = held.pop_front().unwrap();
                    store.release(oldest);
                }
                if round == 10_000 {
                    most = store.bytes();
                }
            }
            assert_eq!(store.bytes(), most, "{length} x {window} kept growing");
            let needed = length * window;
            assert!(most <= 4 * needed + 2 * MAX_BLOCK_BYTES, "{length} x {window} takes {most}");
        }
    }

    #[test]
    fn slow_messages_hold_their_own_blocks_only() {
        let mut store = Store::default();
        let mut pass = |count| {
            for _ in 0..count {
                let fast = store.store(&[2; 1000], Keep::UntilAcked);
                store.release(fast);
            }
            store.bytes()
        };
        let before = pass(1000);
        assert_eq!(pass(10_000), before);
        let slow: Vec<Stored> = (0..3).map(|_| store.store(&[1; 1000], Keep::UntilAcked)).collect();
        for _ in 0..10_000 {
            let fast = store.store(&[3; 1000], Keep::UntilAcked);
            store.release(fast);
        }
        assert!(store.bytes() <= 2 * MAX_BLOCK_BYTES, "{}", store.bytes());
        store.shrink();
        assert!(slow.iter().all(|slow| store.get(slow) == [1; 1000]));
    }

    #[test]
    fn messages_that_leave_early_leave_no_holes() {
        let mut store = Store::default();
        let mut slow = Vec::new();
        for _ in 0..1000 {
            slow.push(store.store(&[1; 100], Keep::UntilAcked));
            let fast: Vec<Stored> = (0..50).map(|_| store.store(&[2; 1000], Keep::Limited)).collect();
            fast.into_iter().for_each(|fast| store.release(fast));
        }
        assert!(store.bytes() <= slow.len() * 100 + 4 * MAX_BLOCK_BYTES, "{}", store.bytes());
    }

    #[test]
    fn an_idle_store_holds_nothing() {
        let mut store = Store::default();
        let kept = store.store(b"kept", Keep::UntilAcked);
        assert_eq!(store.bytes(), MIN_BLOCK_BYTES);
        store.shrink();
        assert_eq!(store.get(&kept), b"kept");
        store.release(kept);
        store.shrink();
        assert_eq!((store.bytes(), store.blocks.len()), (0, 0));
        // An open block that has become empty is replaced by a longer one.
        for length in [100, 5000] {
            let stored = store.store(&vec![1; length], Keep::UntilAcked);
            store.release(stored);
        }
        store.shrink();
        assert_eq!((store.bytes(), store.blocks.len()), (0, 0));
        let long = store.store(&vec![9; 1 << 20], Keep::UntilAcked);
        assert_eq!(store.bytes(), 1 << 20);
        store.release(long);
        assert_eq!(store.bytes(), 0);
    }
}
