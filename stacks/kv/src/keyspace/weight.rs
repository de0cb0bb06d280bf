//! What is kept on the heap, by its size.

/// What an allocation of so many bytes takes, about: a word of the allocator's, in steps of 16, at least 32.
pub(crate) fn allocation_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// What a value holds beside its own place.
pub(crate) trait Weigh {
    /// Bytes on the heap.
    fn heap_bytes(&self) -> usize;
}
