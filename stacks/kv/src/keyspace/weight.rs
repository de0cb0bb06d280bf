//! Heap memory accounting.

/// Approximate size of an allocation: one word for the allocator, in steps of 16 bytes, at least 32.
pub(crate) fn allocation_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// Heap memory of a value.
pub(crate) trait Weigh {
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
}
