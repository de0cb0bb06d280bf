//! A pool of free buffers in classes of similar capacity.
//!
//! A connection that takes a buffer says how many bytes it is for. A peer decides how long a connection holds its buffer, so a
//! large one must not serve a connection that holds a few bytes. The last buffer returned is the next one taken,
//! because it is still in the cache.

use super::limits::{POOL_BUFFERS, POOL_BYTES};

/// Capacity of a new buffer.
const NEW_BYTES: usize = 512;
/// Largest capacity in the first class; each further class reaches to [`GROWTH`] times as much.
const FIRST_BYTES: usize = 4 << 10;
const GROWTH: usize = 4;
/// The last class includes a buffer that fills the pool.
const CLASSES: usize = 7;

#[derive(Debug, Default)]
pub(super) struct Pool {
    classes: [Class; CLASSES],
    /// Total capacity of the pooled buffers.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Class {
    free: Vec<Vec<u8>>,
    /// Their total capacity.
    bytes: usize,
}

/// The class of buffers with this capacity.
fn class_of(capacity: usize) -> usize {
    let steps = capacity.saturating_sub(1) / FIRST_BYTES;
    let bits = usize::BITS - steps.leading_zeros();
    (bits.div_ceil(GROWTH.ilog2()) as usize).min(CLASSES - 1)
}

impl Pool {
    /// Takes an empty buffer for about `length` bytes. Its capacity is at most 4 KiB or four times the length, whichever
    /// is more; it may be too small.
    pub(super) fn take(&mut self, length: usize) -> Vec<u8> {
        self.pop(class_of(length)).unwrap_or_else(|| Vec::with_capacity(NEW_BYTES))
    }

    /// The same for a buffer that usually contains this many bytes. It may be in the next class, because a buffer that has
    /// grown is up to twice as large as its content.
    pub(super) fn take_usual(&mut self, length: usize) -> Vec<u8> {
        let class = class_of(length);
        let buffer = self.pop(class).or_else(|| self.pop((class + 1).min(CLASSES - 1)));
        buffer.unwrap_or_else(|| Vec::with_capacity(NEW_BYTES))
    }

    fn pop(&mut self, class: usize) -> Option<Vec<u8>> {
        let class = &mut self.classes[class];
        let buffer = class.free.pop()?;
        class.bytes -= buffer.capacity();
        self.bytes -= buffer.capacity();
        Some(buffer)
    }

    /// Returns a buffer to the pool, unless the pool is full. Large buffers are pooled too: for a 64 KiB
    /// value, fresh memory mappings would cost more than all other work.
    pub(super) fn put(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        let class = class_of(capacity);
        if capacity == 0 || capacity > POOL_BYTES || self.classes[class].free.len() >= POOL_BUFFERS {
            return;
        }
        if !self.make_room(class, capacity) {
            return;
        }
        buffer.clear();
        self.bytes += capacity;
        self.classes[class].bytes += capacity;
        self.classes[class].free.push(buffer);
    }

    /// Frees buffers of the class that holds most, so that buffers which are no longer used do not keep others out of
    /// the pool. False if this class would then hold most.
    fn make_room(&mut self, class: usize, capacity: usize) -> bool {
        while self.bytes + capacity > POOL_BYTES {
            let Some(most) = (0..CLASSES).max_by_key(|&class| self.classes[class].bytes) else {
                return false;
            };
            if self.classes[most].bytes <= self.classes[class].bytes + capacity {
                return false;
            }
            drop(self.pop(most));
        }
        true
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.classes.iter().map(|class| class.free.len()).sum()
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
        assert!(pool.take(10).is_empty());
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
        assert_eq!(pool.take(large).capacity(), large);
        pool.put(Vec::with_capacity(large));
        pool.put(Vec::with_capacity(large));
        assert_eq!((pool.len(), pool.bytes), (4, POOL_BYTES));
    }

    #[test]
    fn a_buffer_fits_what_it_is_taken_for() {
        let mut pool = Pool::default();
        let capacities = [512, 4 << 10, 5000, 16 << 10, 60_000, 256 << 10, 1_000_016, 3 << 20, 8 << 20];
        capacities.into_iter().for_each(|capacity| pool.put(Vec::with_capacity(capacity)));
        assert_eq!(pool.len(), capacities.len());
        for length in [0, 1, 40, 4096, 4097, 16 << 10, 100_000, 300_000, 1_000_016, 2 << 20, 16 << 20] {
            let mut taken = Vec::new();
            while pool.classes[class_of(length)].bytes > 0 {
                taken.push(pool.take(length));
                let capacity = taken.last().unwrap().capacity();
                assert!(capacity <= FIRST_BYTES.max(GROWTH * length), "{capacity} bytes for {length}");
            }
            assert_eq!(pool.take(length).capacity(), NEW_BYTES, "none of another class");
            taken.into_iter().for_each(|buffer| pool.put(buffer));
        }
        assert_eq!(pool.len(), capacities.len());
        assert_eq!(pool.take(1_000_000).capacity(), 1_000_016);
    }

    #[test]
    fn unused_classes_do_not_keep_others_out() {
        let mut pool = Pool::default();
        for capacity in [1 << 20, 64 << 10, 4 << 10] {
            for _ in 0..2 * POOL_BUFFERS {
                pool.put(Vec::with_capacity(capacity));
                assert!(pool.bytes <= POOL_BYTES);
            }
            let kept = &pool.classes[class_of(capacity)];
            let wanted = (POOL_BYTES / 2).min(POOL_BUFFERS * capacity) - (1 << 20);
            assert!(kept.bytes >= wanted, "{} bytes of {capacity} each", kept.bytes);
        }
        let bytes: usize = pool.classes.iter().flat_map(|class| &class.free).map(Vec::capacity).sum();
        assert_eq!(pool.bytes, bytes);
    }
}
