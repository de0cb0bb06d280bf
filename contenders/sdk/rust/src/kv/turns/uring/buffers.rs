//! The ring of buffers that the kernel receives into.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

use super::Size;

/// The only group of buffers.
pub(super) const GROUP: u16 = 0;
/// The total length, chosen to fit into the L2 cache of a core.
const TOTAL_BYTES: usize = 1 << 20;
const MIN_BYTES: usize = 256;
/// Bounds of the number of buffers, which is that of connections if possible: a multishot receive without a free buffer ends
/// and must be submitted again.
const MIN_COUNT: usize = 64;
const MAX_COUNT: usize = 4096;
const PAGE_BYTES: usize = 4096;

/// Buffers of equal length, each owned by the kernel or by this process.
pub(super) struct Buffers {
    memory: Box<[u8]>,
    buffer_bytes: usize,
    entries: NonNull<BufRingEntry>,
    layout: Layout,
    count: u16,
    tail: u16,
}

impl Buffers {
    /// Registers the buffers with the ring.
    pub(super) fn new(ring: &IoUring, size: Size) -> io::Result<Self> {
        let count = size.connections.next_power_of_two().clamp(MIN_COUNT, MAX_COUNT);
        let buffer_bytes = size.receive_bytes.next_power_of_two().clamp(MIN_BYTES, TOTAL_BYTES / count);
        let count = count as u16;
        let layout = Layout::array::<BufRingEntry>(count.into())
            .and_then(|layout| layout.align_to(PAGE_BYTES))
            .map_err(io::Error::other)?;
        // SAFETY: the layout is not empty.
        let entries = NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<BufRingEntry>());
        let entries = entries.unwrap_or_else(|| handle_alloc_error(layout));
        let memory = vec![0; buffer_bytes * usize::from(count)].into();
        let mut buffers = Self { memory, buffer_bytes, entries, layout, count, tail: 0 };
        let address = entries.as_ptr() as u64;
        // SAFETY: the entries do not move while `buffers` lives, which outlives the use of the ring.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, count, GROUP, 0) }?;
        (0..count).for_each(|buffer| buffers.give_back(buffer));
        Ok(buffers)
    }

    /// Returns the bytes that the kernel has written into a buffer.
    pub(super) fn bytes(&self, buffer: u16, length: usize) -> &[u8] {
        &self.memory[usize::from(buffer) * self.buffer_bytes..][..length]
    }

    /// Returns the buffer to the kernel.
    pub(super) fn give_back(&mut self, buffer: u16) {
        let address = self.memory[usize::from(buffer) * self.buffer_bytes..].as_ptr();
        // SAFETY: the count is a power of two, so the index is below it. The kernel does not read entries beyond the tail.
        let entry = unsafe { &mut *self.entries.as_ptr().add(usize::from(self.tail & (self.count - 1))) };
        entry.set_addr(address as u64);
        entry.set_len(self.buffer_bytes as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the address is that of the ring's first entry, which contains the tail.
        let tail = unsafe { BufRingEntry::tail(self.entries.as_ptr()) }.cast::<AtomicU16>();
        // SAFETY: the tail is aligned and lives as long as the entries; the kernel only reads it.
        unsafe { &*tail }.store(self.tail, Ordering::Release);
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout. The ring that used the entries is closed, or registered nothing.
        unsafe { dealloc(self.entries.as_ptr().cast(), self.layout) };
    }
}
