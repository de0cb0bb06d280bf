//! The event loop over io_uring: multishot receives into a ring of buffers, and sends that never wait, so that their data
//! only needs to live until the call that submits them returns.

use std::convert::Infallible;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd};

use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};

use super::{Outbox, Service, Size, Wait, hung_up};
use crate::now_ns;

mod buffers;

use buffers::{Buffers, GROUP};

/// Maximum number of sends per submission. A low number keeps the time of writing a message close to that of its send, at
/// little cost.
const SUBMISSIONS: u32 = 32;
/// Each connection may have completions of a receive, a send and a poll.
const COMPLETIONS: u32 = 16 << 10;

/// The length of a message that fits into a socket buffer unless the peer does not read, and the maximum delay until a failed
/// send is detected.
const SHORT_BYTES: usize = 4 << 10;
const SHORT_WAIT_NS: u32 = 20_000_000;

/// The operation of a completion: the low bits of its key. The other bits are the connection's number.
const RECEIVE: u64 = 0;
const SEND: u64 = 1;
const ROOM: u64 = 2;
const ACCEPT: u64 = 3;
const KIND_BITS: u32 = 2;

/// Whether this kernel has the required features (Linux 6.1).
pub(super) fn works() -> bool {
    ring().is_ok_and(|ring| Buffers::new(&ring, Size { connections: 1, receive_bytes: 1 }).is_ok())
}

fn ring() -> io::Result<IoUring> {
    IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_cqsize(COMPLETIONS)
        .build(SUBMISSIONS)
}

struct Link {
    /// `None` if the connection is closed.
    stream: Option<TcpStream>,
    /// A send is in progress, or the socket buffer is full.
    busy: bool,
    /// There may be more data to send when the connection is no longer busy.
    again: bool,
}

struct Turns {
    ring: IoUring,
    links: Vec<Link>,
    buffers: Buffers,
    out: Outbox,
    /// Headers of the sends that are not submitted yet. Its capacity never changes.
    headers: Vec<libc::msghdr>,
    /// Sends whose completions have not been handled, and whether all of them are short.
    unseen: usize,
    short: bool,
    listener: Option<TcpListener>,
}

pub(super) fn run(
    service: &mut impl Service,
    links: Vec<TcpStream>,
    listener: Option<TcpListener>,
    size: Size,
) -> Result<Infallible, String> {
    serve(service, links, listener, size).map_err(|error| error.to_string())
}

fn serve(
    service: &mut impl Service,
    links: Vec<TcpStream>,
    listener: Option<TcpListener>,
    size: Size,
) -> io::Result<Infallible> {
    let ring = ring()?;
    let mut turns = Turns {
        buffers: Buffers::new(&ring, size)?,
        ring,
        links: Vec::new(),
        out: Outbox::new(),
        headers: Vec::with_capacity(SUBMISSIONS as usize),
        unseen: 0,
        short: true,
        listener,
    };
    turns.accept()?;
    for link in links {
        turns.open(link, service)?;
    }
    let (mut ready, mut completions) = (Vec::new(), Vec::new());
    loop {
        let wait = service.turn(&mut ready);
        for number in ready.drain(..) {
            turns.send(number, service)?;
        }
        turns.wait(wait)?;
        let at_ns = now_ns();
        completions.extend(turns.ring.completion());
        (turns.unseen, turns.short) = (0, true);
        for completion in completions.drain(..) {
            turns.handle(&completion, at_ns, service)?;
        }
    }
}

impl Turns {
    fn open(&mut self, link: TcpStream, service: &mut impl Service) -> io::Result<()> {
        let number = self.links.len();
        self.links.push(Link { stream: Some(link), busy: false, again: false });
        self.receive(number)?;
        service.opened(number).map_err(io::Error::other)
    }

    fn accept(&mut self) -> io::Result<()> {
        let Some(listener) = &self.listener else { return Ok(()) };
        let accept = opcode::AcceptMulti::new(Fd(listener.as_raw_fd())).flags(libc::SOCK_CLOEXEC);
        self.push(accept.build().user_data(ACCEPT))
    }

    /// Starts a multishot receive.
    fn receive(&mut self, number: usize) -> io::Result<()> {
        let Some(stream) = &self.links[number].stream else { return Ok(()) };
        let receive = opcode::RecvMulti::new(Fd(stream.as_raw_fd()), GROUP);
        self.push(receive.build().user_data((number as u64) << KIND_BITS | RECEIVE))
    }

    fn push(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: the memory that an entry points to lives until the entry is submitted, as its comment states.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.submit()?;
        }
        Ok(())
    }

    /// Submits all sends. They have been executed when this returns, because they do not wait (MSG_DONTWAIT).
    fn submit(&mut self) -> io::Result<()> {
        while !self.ring.submission().is_empty() {
            done(self.ring.submit())?;
        }
        self.headers.clear();
        self.out.clear();
        Ok(())
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        match wait {
            // The completions of sends would end the wait at once. A short send almost always succeeds, so the wait is for one
            // additional completion. A failed send is detected a little later.
            Wait::Long if self.short && self.unseen > 0 => {
                let limit = Timespec::new().nsec(SHORT_WAIT_NS);
                let args = SubmitArgs::new().timespec(&limit);
                done(self.ring.submitter().submit_with_args(self.unseen + 1, &args))?;
            }
            Wait::Long => done(self.ring.submit_and_wait(1))?,
            Wait::UntilNs(until_ns) => {
                let ns = until_ns.saturating_sub(now_ns());
                let limit = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                done(self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&limit)))?;
            }
            // No call if there is nothing to submit and no completion work is pending.
            Wait::Not if self.ring.submission().is_empty() && !self.ring.submission().taskrun() => {}
            Wait::Not => done(self.ring.submit())?,
        }
        self.submit()
    }

    fn handle(
        &mut self,
        completion: &cqueue::Entry,
        at_ns: u64,
        service: &mut impl Service,
    ) -> io::Result<()> {
        let number = (completion.user_data() >> KIND_BITS) as usize;
        let kind = completion.user_data() & ((1 << KIND_BITS) - 1);
        match kind {
            RECEIVE => self.received(number, completion, at_ns, service),
            SEND => self.sent(number, completion.result(), service),
            ROOM => {
                self.links[number].busy = false;
                self.send(number, service)
            }
            _ => self.accepted(completion, service),
        }
    }

    fn received(
        &mut self,
        number: usize,
        completion: &cqueue::Entry,
        at_ns: u64,
        service: &mut impl Service,
    ) -> io::Result<()> {
        let mut sending = false;
        match (completion.result(), cqueue::buffer_select(completion.flags())) {
            (length @ 1.., Some(buffer)) => {
                let bytes = self.buffers.bytes(buffer, length as usize);
                let taken = service.received(number, bytes, at_ns);
                self.buffers.give_back(buffer);
                sending = taken.map_err(io::Error::other)?;
            }
            (0, _) => return self.close(number, None, service),
            // No buffer was free; one is free by now.
            (result, _) if result == -libc::ENOBUFS => {}
            (result, _) => {
                return self.close(number, Some(io::Error::from_raw_os_error(-result)), service);
            }
        }
        if !cqueue::more(completion.flags()) {
            self.receive(number)?;
        }
        if sending { self.send(number, service) } else { Ok(()) }
    }

    /// Sends a message. A connection has at most one send in progress; the rest follows it.
    fn send(&mut self, number: usize, service: &mut impl Service) -> io::Result<()> {
        if self.links[number].busy {
            self.links[number].again = true;
            return Ok(());
        }
        if !self.out.holds_another() || self.headers.len() == self.headers.capacity() {
            self.submit()?;
        }
        let Some(stream) = &self.links[number].stream else { return Ok(()) };
        let fd = Fd(stream.as_raw_fd());
        // The queue must have space, so that the message stays valid until it is submitted with those before it.
        if self.ring.submission().is_full() {
            self.submit()?;
        }
        self.out.begin();
        service.write(number, &mut self.out);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        let message_bytes: usize = self.out.message().iter().map(|piece| piece.iov_len).sum();
        let entry = match self.out.message() {
            [] => return Ok(()),
            [one] => opcode::Send::new(fd, one.iov_base.cast(), one.iov_len as u32).flags(flags).build(),
            pieces => {
                // SAFETY: a zeroed msghdr is valid: it has no address, pieces or control data.
                let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
                header.msg_iov = pieces.as_ptr().cast_mut();
                header.msg_iovlen = pieces.len();
                self.headers.push(header);
                let header = &raw const self.headers[self.headers.len() - 1];
                opcode::SendMsg::new(fd, header).flags(flags as u32).build()
            }
        };
        self.links[number].busy = true;
        self.unseen += 1;
        self.short &= message_bytes <= SHORT_BYTES;
        self.push(entry.user_data((number as u64) << KIND_BITS | SEND))
    }

    fn sent(&mut self, number: usize, result: i32, service: &mut impl Service) -> io::Result<()> {
        match result {
            0.. => {
                service.sent(number, result as usize);
                self.links[number].busy = false;
                if std::mem::take(&mut self.links[number].again) || service.unsent(number) {
                    return self.send(number, service);
                }
                Ok(())
            }
            _ if result == -libc::EAGAIN => {
                let Some(stream) = &self.links[number].stream else { return Ok(()) };
                let poll = opcode::PollAdd::new(Fd(stream.as_raw_fd()), libc::POLLOUT as u32);
                self.push(poll.build().user_data((number as u64) << KIND_BITS | ROOM))
            }
            _ => self.close(number, Some(io::Error::from_raw_os_error(-result)), service),
        }
    }

    fn accepted(&mut self, completion: &cqueue::Entry, service: &mut impl Service) -> io::Result<()> {
        if completion.result() < 0 {
            return Err(io::Error::from_raw_os_error(-completion.result()));
        }
        if !cqueue::more(completion.flags()) {
            self.accept()?;
        }
        // SAFETY: the kernel has just created the descriptor for this process.
        let link = unsafe { TcpStream::from_raw_fd(completion.result()) };
        link.set_nodelay(true)?;
        self.open(link, service)
    }

    fn close(
        &mut self,
        number: usize,
        error: Option<io::Error>,
        service: &mut impl Service,
    ) -> io::Result<()> {
        if let Some(stream) = self.links[number].stream.take() {
            // Pending operations keep the socket open; this ends them. They may have ended already.
            drop(stream.shutdown(Shutdown::Both));
            service.closed(number, &hung_up(error)).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Ignores an interrupted call, which the next turn repeats.
fn done(result: io::Result<usize>) -> io::Result<()> {
    match result {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::TimedOut) => Ok(()),
        // ETIME: the wait timed out. EBUSY, EAGAIN: completions must be handled first.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EBUSY | libc::EAGAIN)) => {
            Ok(())
        }
        Err(error) => Err(error),
    }
}
