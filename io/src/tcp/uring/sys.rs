//! io_uring behind a safe face: what the kernel reads or writes by itself is owned here until it has answered.

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

/// The group of buffers that receives draw from.
const GROUP: u16 = 0;
/// Buffers lie this far apart: with a cache line between them, or all would begin in the same few lines of the cache.
const STRIDE: usize = URING_BUFFER_BYTES + 64;
/// How often we ask for the answers to what was cancelled, before its memory is given up.
const CANCEL_ATTEMPTS: usize = 100;

/// The kernel tries again by itself when a socket took a part.
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

/// A send that the kernel has answered, with the buffer that it owned.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) buffer: Vec<u8>,
    /// Where the bytes to be sent began.
    pub(super) from: usize,
    pub(super) count: Result<usize, Errno>,
}

/// Bytes in one of the buffers of the ring. The buffer is ours until it is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) buffer: u16,
    pub(super) length: u32,
}

impl Chunk {
    /// Where it begins, counted from the first buffer's begin.
    pub(super) fn at(self) -> u32 {
        u32::from(self.buffer) * STRIDE as u32
    }
}

/// What the kernel says. `more`: it goes on with the same request.
#[derive(Debug)]
pub(super) enum Answer {
    Accepted {
        listener: u32,
        socket: Result<OwnedFd, Errno>,
        more: bool,
    },
    /// No chunk: the peer sends no more.
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
    /// Requests that the kernel has not answered for good, those not handed over included.
    open: usize,
    answers: VecDeque<cqueue::Entry>,
    /// What the kernel reads buffers' addresses from.
    entries: Memory,
    tail: u16,
    buffers: Memory,
    /// Which buffers are ours just now.
    ours: Box<[bool]>,
    /// Buffers of sends under way, by connection.
    sends: Vec<Option<(Vec<u8>, usize)>>,
}

impl Ring {
    /// Refused where the kernel is older than 6.1, or forbids io_uring.
    #[allow(unsafe_code)]
    pub(super) fn new() -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder.setup_r_disabled().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        builder.setup_coop_taskrun().setup_submit_all().setup_cqsize(URING_ANSWERS).setup_clamp();
        builder.dontfork();
        let ring: IoUring = builder.build(URING_REQUESTS)?;
        let entries = Memory::new(usize::from(URING_BUFFERS) * size_of::<BufRingEntry>())?;
        let buffers = Memory::new(usize::from(URING_BUFFERS) * STRIDE)?;
        // SAFETY: the memory is aligned to pages, has room for so many entries, and lives as long as the ring: Drop
        // gives it up only after the ring has nothing under way.
        unsafe {
            let address = entries.pointer.as_ptr() as u64;
            ring.submitter().register_buf_ring_with_flags(address, URING_BUFFERS, GROUP, 0)?;
        }
        let ours = vec![true; URING_BUFFERS.into()].into_boxed_slice();
        let (waiting, answers) = (VecDeque::new(), VecDeque::with_capacity(URING_ANSWERS as usize));
        let (enabled, open, tail, sends) = (false, 0, 0, Vec::new());
        let mut ring = Self { ring, enabled, waiting, open, answers, entries, tail, buffers, ours, sends };
        for buffer in 0..URING_BUFFERS {
            ring.give_back(buffer);
        }
        Ok(ring)
    }

    /// Bytes that were received, `at` as a chunk told. They must lie in a buffer that is ours.
    #[inline]
    #[allow(unsafe_code)]
    pub(super) fn slice(&self, at: u32, length: u32) -> &[u8] {
        let (at, length) = (at as usize, length as usize);
        if length == 0 {
            return &[];
        }
        let within = at % STRIDE + length <= URING_BUFFER_BYTES;
        assert!(within && self.ours[at / STRIDE], "bytes of a buffer that was given back");
        // SAFETY: in bounds, as the buffer exists and the bytes lie within it; the kernel does not write to a buffer
        // that is ours, and giving it back needs the ring alone.
        unsafe { std::slice::from_raw_parts(self.buffers.pointer.as_ptr().add(at), length) }
    }

    /// Lets the kernel write to a buffer again.
    #[allow(unsafe_code)]
    pub(super) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (URING_BUFFERS - 1));
        assert!(std::mem::replace(&mut self.ours[usize::from(buffer)], false), "given back twice");
        self.tail = self.tail.wrapping_add(1);
        let base = self.entries.pointer.as_ptr().cast::<BufRingEntry>();
        // SAFETY: the place lies within the entries. The kernel reads no entry beyond the tail that it knows, and there
        // are as many entries as buffers, so it is done with this one. The tail is where the kernel's interface puts
        // it, aligned, and the kernel reads it atomically.
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

    /// Sends `buffer` from `from` on. One at a time and connection.
    pub(super) fn send(&mut self, socket: BorrowedFd<'_>, index: u32, buffer: Vec<u8>, from: usize) {
        let bytes = &buffer[from..];
        // What does not fit is told as a short send.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let flags = rustix::net::SendFlags::NOSIGNAL.bits() as i32 | MSG_WAITALL;
        let entry = opcode::Send::new(Fd(socket.as_raw_fd()), bytes.as_ptr(), length).flags(flags).build();
        let place = index as usize;
        if self.sends.len() <= place {
            self.sends.resize_with(place + 1, || None);
        }
        // Its bytes do not move with it, and nobody gets it before the answer.
        let before = self.sends[place].replace((buffer, from));
        assert!(before.is_none(), "one send at a time");
        self.push(entry.user_data(SEND | u64::from(index)));
    }

    /// Tells once when a socket is writable, or readable.
    pub(super) fn poll(&mut self, socket: BorrowedFd<'_>, index: u32, flags: PollFlags) {
        let entry = opcode::PollAdd::new(Fd(socket.as_raw_fd()), flags.bits().into()).build();
        self.push(entry.user_data(POLL | u64::from(index)));
    }

    /// Tells whenever somebody writes to an eventfd.
    pub(super) fn watch(&mut self, eventfd: BorrowedFd<'_>) {
        let flags = PollFlags::IN.bits();
        let entry = opcode::PollAdd::new(Fd(eventfd.as_raw_fd()), flags.into()).multi(true).build();
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
        // SAFETY: all that an entry points to is owned by `sends`, from which it is taken only after the answer. The
        // sockets are open: a connection with open requests is kept by the reactor.
        unsafe { self.ring.submission().push(entry).is_ok() }
    }

    /// Hands all requests over and waits for at least `want` answers, or for as long as `timeout`.
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

    /// False if the kernel has no room for more answers before some are taken.
    fn enter_once(&mut self, want: usize, timeout: Option<Duration>) -> io::Result<bool> {
        let time = timeout.map(timespec);
        let args = SubmitArgs::new();
        let args = match &time {
            Some(time) if want > 0 => args.timespec(time),
            _ => args,
        };
        let result = self.ring.submitter().submit_with_args(want, &args);
        // The others stay with the kernel, which bounds what waits here.
        if self.answers.len() < TURN_EVENTS {
            self.answers.extend(self.ring.completion());
        }
        match result.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)) {
            Ok(_) | Err(Errno::TIME | Errno::INTR) => Ok(true),
            Err(Errno::BUSY | Errno::AGAIN) => Ok(false),
            Err(Errno::EXIST) => {
                Err(io::Error::other("with io_uring a reactor stays in the thread that first waited with it"))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// The next answer.
    #[allow(unsafe_code)]
    pub(super) fn next_answer(&mut self) -> Option<Answer> {
        let answer = self.answers.pop_front()?;
        let (data, flags) = (answer.user_data(), answer.flags());
        let (more, index) = (cqueue::more(flags), (data & !KIND) as u32);
        if !more {
            self.open -= 1;
        }
        let result = match answer.result() {
            // Negated errors: the range is the kernel's.
            error @ ..0 => Err(Errno::from_raw_os_error(-error)),
            count => Ok(count as u32),
        };
        Some(match data & KIND {
            ACCEPT => {
                // SAFETY: the kernel made this descriptor for us, and tells of it once.
                let own = |socket| unsafe { OwnedFd::from_raw_fd(socket as i32) };
                Answer::Accepted { listener: index, socket: result.map(own), more }
            }
            RECEIVE => {
                let mut chunk = None;
                if let Some(buffer) = cqueue::buffer_select(flags) {
                    self.ours[usize::from(buffer)] = true;
                    match result {
                        Ok(length @ 1..) => chunk = Some(Chunk { buffer, length }),
                        _ => self.give_back(buffer),
                    }
                }
                Answer::Received { index, chunk: result.map(|_| chunk), more }
            }
            SEND => match self.sends.get_mut(index as usize).and_then(Option::take) {
                Some((buffer, from)) => {
                    let count = result.map(|count| count as usize);
                    Answer::Sent { index, sent: Sent { buffer, from, count } }
                }
                None => Answer::Other,
            },
            POLL => Answer::Polled { index },
            WAKE => Answer::Woken { more },
            _ => Answer::Other,
        })
    }

    /// Ends what is under way, and waits until the kernel has said so.
    #[allow(unsafe_code)]
    fn quiesce(&mut self) -> bool {
        let unsent = self.ring.submission().len() + self.waiting.len();
        let under_way = |ring: &Self| ring.open > unsent;
        for _ in 0..CANCEL_ATTEMPTS {
            while self.next_answer().is_some() {}
            if !under_way(self) {
                return true;
            }
            let limit = Timespec::new().nsec(10_000_000);
            // Fails if the thread is another one than that which used the ring: then nothing can be collected.
            let cancelled = self.ring.submitter().register_sync_cancel(Some(limit), CancelBuilder::any());
            if cancelled.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::EXIST)) {
                return false;
            }
            // SAFETY: nothing is handed over, no argument is given; the kernel only runs what it has put off.
            let _ = unsafe { self.ring.submitter().enter::<()>(0, 0, GETEVENTS, None) };
            self.answers.extend(self.ring.completion());
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
        // What was flushed goes out as with epoll, as far as the sockets take it at once.
        let _ = self.enter(0, Some(Duration::ZERO));
        if !self.quiesce() {
            // The kernel may still write there: rather lost than written to when they are somebody else's.
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

/// Memory from the kernel, in whole pages, all zeros.
struct Memory {
    pointer: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is memory, and no thread's own.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}

impl Memory {
    #[allow(unsafe_code)]
    fn new(bytes: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping, wherever the kernel has room for it.
        let pointer = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags)? };
        let pointer = NonNull::new(pointer.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { pointer, bytes })
    }

    /// Never unmaps it.
    fn leak(&mut self) {
        self.bytes = 0;
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: mapped by us, with this size, and nobody refers to it any more.
            let _ = unsafe { munmap(self.pointer.as_ptr().cast(), self.bytes) };
        }
    }
}
