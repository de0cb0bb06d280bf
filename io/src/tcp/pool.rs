//! A pool of free buffers. The last buffer returned is the next one taken, because it is still in the cache.

use super::limits::{POOL_BUFFERS, POOL_BYTES};

/// Capacity of a new buffer.
const NEW_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Vec<u8>>,
    /// Total capacity of the pooled buffers.
    bytes: usize,
}

impl Pool {
    /// Takes an empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let Some(buffer) = self.free.pop() else { return Vec::with_capacity(NEW_BYTES) };
        self.bytes -= buffer.capacity();
        buffer
    }

    /// Returns a buffer to the pool, unless the pool is full. Large buffers are pooled too: for a 64 KiB
    /// value, fresh memory mappings would cost more than all other work.
    pub(super) fn put(&mut self, mut buffer: Vec<u8>) {
        let room = buffer.capacity();
        if room > 0 && room <= POOL_BYTES - self.bytes && self.free.len() < POOL_BUFFERS {
            buffer.clear();
            self.bytes += room;
            self.free.push(buffer);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_few() {
        let mut pool = Pool::default();
        pool.put(Vec::new());
        assert_eq!(pool.len(), 0);
        for _ in 0..2 * POOL_BUFFERS {
            pool.put(vec![1; 10]);
        }
        assert_eq!(pool.len(), POOL_BUFFERS);
        assert!(pool.take().is_empty());
    }

    #[test]
    fn keeps_large_ones_as_far_as_they_hold_little_together() {
        let mut pool = Pool::default();
        pool.put(Vec::with_capacity(POOL_BYTES + 1));
        assert_eq!(pool.len(), 0);
        let large = POOL_BYTES / 4;
        for _ in 0..8 {
            pool.put(Vec::with_capacity(large));
        }
        assert_eq!(pool.len(), 4);
        assert_eq!(pool.take().capacity(), large);
        pool.put(Vec::with_capacity(large + 1));
        pool.put(Vec::with_capacity(large));
        assert_eq!((pool.len(), pool.bytes), (4, POOL_BYTES));
    }
}
