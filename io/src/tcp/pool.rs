//! Buffers that nobody uses just now: the last one given back is the next one taken, as it still lies in the cache.

use super::limits::{POOL_BUFFER_BYTES, POOL_BUFFERS};

/// Room of a new buffer.
const NEW_BYTES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Pool {
    free: Vec<Vec<u8>>,
}

impl Pool {
    /// An empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.free.pop().unwrap_or_else(|| Vec::with_capacity(NEW_BYTES))
    }

    /// Keeps a buffer for the next, unless it is large or there are many.
    pub(super) fn put(&mut self, mut buffer: Vec<u8>) {
        let fits = (1..=POOL_BUFFER_BYTES).contains(&buffer.capacity());
        if fits && self.free.len() < POOL_BUFFERS {
            buffer.clear();
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
    fn keeps_few_and_small_ones() {
        let mut pool = Pool::default();
        pool.put(Vec::new());
        pool.put(Vec::with_capacity(POOL_BUFFER_BYTES + 1));
        assert_eq!(pool.len(), 0);
        for _ in 0..2 * POOL_BUFFERS {
            pool.put(vec![1; 10]);
        }
        assert_eq!(pool.len(), POOL_BUFFERS);
        assert!(pool.take().is_empty());
    }
}
