//! A safe interface to io_uring: memory that the kernel reads or writes asynchronously is owned here until
//! the operation completes.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::mem::{forget, take};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::tcp::limits::{TURN_EVENTS, URING_ANSWERS, URING_BUFFER_BYTES, URING_BUFFERS, URING_REQUESTS};

/// The buffer group of the receives.
const GROUP: u16 = 0;
/// Distance of the buffers. The extra cache line keeps them from all starting in the same few cache sets.
const STRIDE: usize = URING_BUFFER_BYTES + 64;
/// How often the completions of cancelled operations are requested before their memory is leaked.
const CANCEL_ATTEMPTS: usize = 100;

/// The kernel retries after a partial send.
const MSG_WAITALL: i32 = 0x100;
/// IORING_ENTER_GETEVENTS.
const GETEVENTS: u32 = 1;

const ACCEPT: u64 = 1 << 56;
const RECEIVE: u64 = 2 << 56;
const SEND: u64 = 3 << 56;
const POLL: u64 = 4 << 56;
const WAKE: u64 = 5 << 56;
const CANCEL: u64 = 6 << 56;
const KIND: u64 = 0xff << 56;

/// A completed send, with the buffer that it owned.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) buffer: Vec<u8>,
    /// Offset of the first byte sent.
    pub(super) from: usize,
    pub(super) count: Result<usize, Errno>,
}

/// Bytes in a buffer of the ring. The buffer belongs to this process until it is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) buffer: u16,
    pub(super) length: u32,
}

impl Chunk {
    /// Its start, counted from the start of the first buffer.
    pub(super) fn at(self) -> u32 {
        u32::from(self.buffer) * STRIDE as u32
    }
}

/// A completion. `more`: the operation continues.
#[derive(Debug)]
pub(super) enum Completion {
    Accepted {
        listener: u32,
        socket: Result<OwnedFd, Errno>,
        more: bool,
    },
    /// No chunk: the peer closed its sending side.
    Received {
        index: u32,
        chunk: Result<Option<Chunk>, Errno>,
        more: bool,
    },
    Sent {
        index: u32,
        sent: Sent,
    },
    Polled {
        index: u32,
    },
    Woken {
        more: bool,
    },
    Other,
}

/// A ring with its buffers.
pub(super) struct Ring {
    ring: IoUring,
    enabled: bool,
    /// Requests that found the queue full.
    waiting: VecDeque<squeue::Entry>,
    /// Requests without a final completion, including those not submitted yet.
    open: usize,
    completions: VecDeque<cqueue::Entry>,
    /// The shared ring from which the kernel takes buffer addresses.
    entries: Memory,
    tail: u16,
    buffers: Memory,
    /// Which buffers this process owns at present.
    owned: Box<[bool]>,
    /// Buffers of sends in progress, by connection.
    sends: Vec<Option<(Vec<u8>, usize)>>,
}

impl Ring {
    /// Fails if the kernel is older than 6.1 or forbids io_uring.
    #[allow(unsafe_code)]
    pub(super) fn new() -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_r_disabled().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        builder.setup_coop_taskrun().setup_submit_all().setup_cqsize(URING_ANSWERS).setup_clamp();
        builder.dontfork();
        let ring: IoUring = builder.build(URING_REQUESTS)?;
        let entries = Memory::new(usize::from(URING_BUFFERS) * size_of::<BufRingEntry>())?;
        let buffers = Memory::new(usize::from(URING_BUFFERS) * STRIDE)?;
        // SAFETY: the memory is page-aligned, holds this many entries, and lives as long as the ring: Drop
        // releases it only after all operations have completed.
        unsafe {
            let address = entries.pointer.as_ptr() as u64;
            ring.submitter().register_buf_ring_with_flags(address, URING_BUFFERS, GROUP, 0)?;
        }
        let owned = vec![true; URING_BUFFERS.into()].into_boxed_slice();
        let (waiting, completions) = (VecDeque::new(), VecDeque::with_capacity(URING_ANSWERS as usize));
        let (enabled, open, tail, sends) = (false, 0, 0, Vec::new());
        let mut ring =
            Self { ring, enabled, waiting, open, completions, entries, tail, buffers, owned, sends };
        for buffer in 0..URING_BUFFERS {
            ring.give_back(buffer);
        }
        Ok(ring)
    }

    /// Received bytes, with `at` as the chunk reported it. They must lie in an owned buffer.
    #[inline]
    #[allow(unsafe_code)]
    pub(super) fn slice(&self, at: u32, length: u32) -> &[u8] {
        let (at, length) = (at as usize, length as usize);
        if length == 0 {
            return &[];
        }
        let within = at % STRIDE + length <= URING_BUFFER_BYTES;
        assert!(within && self.owned[at / STRIDE], "the buffer was already returned");
        // SAFETY: in bounds, because the buffer exists and the bytes lie within it; the kernel does not
        // write to an owned buffer, and returning it needs exclusive access to the ring.
        unsafe { std::slice::from_raw_parts(self.buffers.pointer.as_ptr().add(at), length) }
    }

    /// Returns a buffer to the kernel.
    #[allow(unsafe_code)]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (URING_BUFFERS - 1));
        assert!(
            std::mem::replace(&mut self.owned[usize::from(buffer)], false),
            "the buffer was already returned"
        );
        self.tail = self.tail.wrapping_add(1);
        let base = self.entries.pointer.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the index lies within the entries. The kernel reads no entry beyond the tail that it
        // knows, and there are as many entries as buffers, so it has finished with this one. The tail is
        // where the kernel's interface puts it, aligned, and the kernel reads it atomically.
        unsafe {
            let entry = &mut *base.add(place);
            let address = self.buffers.pointer.as_ptr().add(usize::from(buffer) * STRIDE);
            entry.set_addr(address as u64);
            entry.set_len(URING_BUFFER_BYTES as u32);
            entry.set_bid(buffer);
            let tail = BufRingEntry::tail(base).cast_mut();
            AtomicU16::from_ptr(tail).store(self.tail, Ordering::Release);
        }
    }

    /// Accepts one connection, or all until cancelled.
    pub(super) fn accept(&mut self, socket: BorrowedFd<'_>, listener: u32, all: bool) {
        let (flags, socket) = (rustix::net::SocketFlags::CLOEXEC.bits() as i32, Fd(socket.as_raw_fd()));
        let none = std::ptr::null_mut();
        let entry = match all {
            true => opcode::AcceptMulti::new(socket).flags(flags).build(),
            false => opcode::Accept::new(socket, none, none.cast()).flags(flags).build(),
        };
        self.push(entry.user_data(ACCEPT | u64::from(listener)));
    }

    pub(super) fn cancel_accept(&mut self, listener: u32) {
        self.cancel(ACCEPT | u64::from(listener));
    }

    /// Receives until cancelled, the stream ends, or buffers run out.
    pub(super) fn receive(&mut self, socket: BorrowedFd<'_>, index: u32) {
        let entry = opcode::RecvMulti::new(Fd(socket.as_raw_fd()), GROUP).build();
        self.push(entry.user_data(RECEIVE | u64::from(index)));
    }

    pub(super) fn cancel_receive(&mut self, index: u32) {
        self.cancel(RECEIVE | u64::from(index));
    }

    /// Sends `buffer` from offset `from`. One send per connection at a time.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, index: u32, buffer: Vec<u8>, from: usize) {
        let bytes = &buffer[from..];
        // The excess is reported as a short send.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let flags = rustix::net::SendFlags::NOSIGNAL.bits() as i32 | MSG_WAITALL;
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), bytes.as_ptr(), length).flags(flags).build();
        let place = index as usize;
        if self.sends.len() <= place {
            self.sends.resize_with(place + 1, || None);
        }
        // Moving the Vec does not move its bytes, and it is not accessible before the completion.
        let before = self.sends[place].replace((buffer, from));
        assert!(before.is_none(), "a send is already in progress");
        self.push(entry.user_data(SEND | u64::from(index)));
    }

    /// Reports once when a socket becomes writable or readable.
    pub(super) fn poll(&mut self, socket: BorrowedFd<'_>, index: u32, flags: PollFlags) {
        // A cast, because rustix's back ends have different types: a dependent may enable its feature `use-libc`.
        let entry = opcode::PollAdd::new(Fd(socket.as_raw_fd()), flags.bits() as u32).build();
        self.push(entry.user_data(POLL | u64::from(index)));
    }

    /// Reports every write to an eventfd.
    pub(super) fn watch(&mut self, eventfd: BorrowedFd<'_>) {
        let flags = PollFlags::IN.bits() as u32;
        let entry = opcode::PollAdd::new(Fd(eventfd.as_raw_fd()), flags).multi(true).build();
        self.push(entry.user_data(WAKE));
    }

    fn cancel(&mut self, request: u64) {
        self.push(opcode::AsyncCancel::new(request).build().user_data(CANCEL));
    }

    fn push(&mut self, entry: squeue::Entry) {
        self.open += 1;
        if !self.waiting.is_empty() || !self.queue(&entry) {
            self.waiting.push_back(entry);
        }
    }

    #[allow(unsafe_code)]
    fn queue(&mut self, entry: &squeue::Entry) -> bool {
        // SAFETY: everything that an entry points to is owned by `sends` and removed only after the
        // completion. The sockets are open: the reactor keeps a connection while it has open requests.
        unsafe { self.ring.submission().push(entry).is_ok() }
    }

    /// Submits all requests and waits for at least `want` completions or for `timeout`.
    pub(super) fn enter(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<()> {
        if !self.enabled {
            self.ring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        while !self.waiting.is_empty() {
            while let Some(entry) = self.waiting.pop_front() {
                if !self.queue(&entry) {
                    self.waiting.push_front(entry);
                    break;
                }
            }
            if !self.waiting.is_empty() && !self.enter_once(0, Some(Duration::ZERO))? {
                break;
            }
        }
        self.enter_once(want, timeout).map(drop)
    }

    /// False if completions must be taken before the kernel accepts more.
    fn enter_once(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<bool> {
        let time = timeout.map(timespec);
        let args = SubmitArgs::new();
        let args = match &time {
            Some(time) if want > 0 => args.timespec(time),
            _ => args,
        };
        let result = self.ring.submitter().submit_with_args(want, &args);
        // The rest stay with the kernel, which bounds what is buffered here.
        if self.completions.len() < TURN_EVENTS {
            self.completions.extend(self.ring.completion());
        }
        match result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)) {
            Ok(_) | Err(Errno::TIME | Errno::INTR) => Ok(true),
            Err(Errno::BUSY | Errno::AGAIN) => Ok(false),
            Err(Errno::EXIST) => Err(io::Error::other(
                "with io_uring, use a reactor only in the thread that first waited with it",
            )),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn has_completions(&self) -> bool {
        !self.completions.is_empty()
    }

    /// The next completion.
    #[allow(unsafe_code)]
    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        let completion = self.completions.pop_front()?;
        let (data, flags) = (completion.user_data(), completion.flags());
        let (more, index) = (cqueue::more(flags), (data & !KIND) as u32);
        if !more {
            self.open -= 1;
        }
        let result = match completion.result() {
            // A negated errno: the range is the kernel's.
            error @ ..0 => Err(Errno::from_raw_os_error(-error)),
            count => Ok(count as u32),
        };
        Some(match data & KIND {
            ACCEPT => {
                // SAFETY: the kernel created this descriptor for this process and reports it once.
                let own = |socket| unsafe { OwnedFd::from_raw_fd(socket as i32) };
                Completion::Accepted { listener: index, socket: result.map(own), more }
            }
            RECEIVE => {
                let mut chunk = None;
                if let Some(buffer) = cqueue::buffer_select(flags) {
                    self.owned[usize::from(buffer)] = true;
                    match result {
                        Ok(length @ 1..) => chunk = Some(Chunk { buffer, length }),
                        _ => self.give_back(buffer),
                    }
                }
                Completion::Received { index, chunk: result.map(|_| chunk), more }
            }
            SEND => match self.sends.get_mut(index as usize).and_then(Option::take) {
                Some((buffer, from)) => {
                    let count = result.map(|count| count as usize);
                    Completion::Sent { index, sent: Sent { buffer, from, count } }
                }
                None => Completion::Other,
            },
            POLL => Completion::Polled { index },
            WAKE => Completion::Woken { more },
            _ => Completion::Other,
        })
    }

    /// Cancels all operations and waits until they have completed.
    #[allow(unsafe_code)]
    fn quiesce(&mut self) -> bool {
        let unsent = self.ring.submission().len() + self.waiting.len();
        let under_way = |ring: &Self| ring.open > unsent;
        for _ in 0..CANCEL_ATTEMPTS {
            while self.next_completion().is_some() {}
            if !under_way(self) {
                return true;
            }
            let limit = Timespec::new().nsec(10_000_000);
            // Fails in a thread other than the one that used the ring: then nothing can be collected.
            let cancelled = self.ring.submitter().register_sync_cancel(Some(limit), CancelBuilder::any());
            if cancelled.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::EXIST)) {
                return false;
            }
            // SAFETY: submits nothing and passes no argument; the kernel only runs deferred work.
            let _ = unsafe { self.ring.submitter().enter::<()>(0, 0, GETEVENTS, None) };
            self.completions.extend(self.ring.completion());
        }
        false
    }
}

fn timespec(timeout: Duration) -> Timespec {
    let timeout = timeout.min(Duration::from_secs(86_400));
    Timespec::new().sec(timeout.as_secs()).nsec(timeout.subsec_nanos())
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.enabled {
            return;
        }
        // Flushed output is sent as with epoll, as far as the sockets accept it at once.
        let _ = self.enter(0, Some(Duration::ZERO));
        if !self.quiesce() {
            // The kernel may still write there: leak the memory rather than let it be reused.
            self.entries.leak();
            self.buffers.leak();
            forget(take(&mut self.sends));
        }
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("open", &self.open).finish_non_exhaustive()
    }
}

/// Zeroed memory from the kernel, in whole pages.
struct Memory {
    pointer: NonNull<u8>,
    bytes: usize,
}

// SAFETY: plain memory, not bound to a thread.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}

impl Memory {
    #[allow(unsafe_code)]
    fn new(bytes: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address that the kernel chooses.
        let pointer = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags)? };
        let pointer = NonNull::new(pointer.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { pointer, bytes })
    }

    /// Never unmaps the memory.
    fn leak(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: mapped by us with this size, and no longer referenced.
            let _ = unsafe { munmap(self.pointer.as_ptr().cast(), self.bytes) };
        }
    }
}
