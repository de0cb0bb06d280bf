//! The event loop over epoll.

use std::convert::Infallible;
use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::{Outbox, Service, Wait, hung_up};
use crate::now_ns;

/// Maximum number of events per wait.
const MAX_EVENTS: usize = 256;
const RECEIVE_BYTES: usize = 128 << 10;
/// Maximum number of consecutive receives of a connection before others are served.
const MAX_RECEIVES: usize = 16;
const LISTENER: u64 = u64::MAX;

struct Link {
    /// `None` if the connection is closed.
    stream: Option<TcpStream>,
    /// The socket buffer was too full for a whole message.
    full: bool,
}

struct Epoll {
    epoll: OwnedFd,
    links: Vec<Link>,
    buffer: Box<[u8]>,
    out: Outbox,
    /// Connections with unread data after [`MAX_RECEIVES`] receives.
    unread: Vec<usize>,
}

pub(super) fn run(
    service: &mut impl Service,
    links: Vec<TcpStream>,
    listener: Option<TcpListener>,
) -> Result<Infallible, String> {
    serve(service, links, listener).map_err(|error| error.to_string())
}

fn serve(
    service: &mut impl Service,
    links: Vec<TcpStream>,
    listener: Option<TcpListener>,
) -> io::Result<Infallible> {
    // SAFETY: epoll_create1 takes no pointer, and its result is checked.
    let epoll = checked(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
    // SAFETY: the descriptor was just created and has no other owner.
    let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
    let mut turns = Epoll {
        epoll,
        links: Vec::new(),
        buffer: vec![0; RECEIVE_BYTES].into(),
        out: Outbox::new(),
        unread: Vec::new(),
    };
    if let Some(listener) = &listener {
        listener.set_nonblocking(true)?;
        turns.add(listener, LISTENER, libc::EPOLLIN)?;
    }
    for link in links {
        turns.open(link, service)?;
    }
    let mut ready = Vec::new();
    let mut events = vec![libc::epoll_event { events: 0, u64: 0 }; MAX_EVENTS];
    loop {
        let wait = service.turn(&mut ready);
        for number in ready.drain(..) {
            turns.send(number, service)?;
        }
        let wait = if turns.unread.is_empty() { wait } else { Wait::Not };
        let count = turns.wait(&mut events, wait)?;
        for number in std::mem::take(&mut turns.unread) {
            turns.receive(number, true, service)?;
        }
        for event in &events[..count] {
            if event.u64 == LISTENER {
                listener.iter().try_for_each(|listener| turns.accept(listener, service))?;
            } else {
                turns.handle(event.u64 as usize, event.events as i32, service)?;
            }
        }
    }
}

impl Epoll {
    fn add(&self, socket: &impl AsRawFd, number: u64, events: i32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: events as u32, u64: number };
        let (epoll, socket) = (self.epoll.as_raw_fd(), socket.as_raw_fd());
        // SAFETY: both descriptors are open, and `event` is valid for the call to read.
        checked(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, socket, &mut event) })?;
        Ok(())
    }

    fn open(&mut self, link: TcpStream, service: &mut impl Service) -> io::Result<()> {
        let number = self.links.len();
        link.set_nonblocking(true)?;
        self.add(&link, number as u64, libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET)?;
        self.links.push(Link { stream: Some(link), full: false });
        service.opened(number).map_err(io::Error::other)
    }

    fn accept(&mut self, listener: &TcpListener, service: &mut impl Service) -> io::Result<()> {
        loop {
            match listener.accept() {
                Ok((link, _)) => {
                    link.set_nodelay(true)?;
                    self.open(link, service)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn wait(&self, events: &mut [libc::epoll_event], wait: Wait) -> io::Result<usize> {
        let (epoll, room) = (self.epoll.as_raw_fd(), events.len() as i32);
        let until_ns = match wait {
            Wait::Long => None,
            Wait::UntilNs(until_ns) => Some(until_ns.saturating_sub(now_ns())),
            Wait::Not => Some(0),
        };
        let timeout = until_ns.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: `events` has room for `room` events, `timeout` is null or lives until the call returns; no signal mask.
        let count =
            unsafe { libc::epoll_pwait2(epoll, events.as_mut_ptr(), room, timeout, std::ptr::null()) };
        match checked(count) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn handle(&mut self, number: usize, events: i32, service: &mut impl Service) -> io::Result<()> {
        if events & libc::EPOLLOUT != 0 && self.links[number].full {
            self.links[number].full = false;
            self.send(number, service)?;
        }
        if events & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0 {
            let ending = events & !(libc::EPOLLIN | libc::EPOLLOUT) != 0;
            self.receive(number, ending, service)?;
        }
        Ok(())
    }

    /// Receives until no data is left. A receive that does not fill the buffer is the last, unless the stream is ending: later
    /// data triggers another event.
    fn receive(&mut self, number: usize, ending: bool, service: &mut impl Service) -> io::Result<()> {
        let mut sending = false;
        for turn in 0.. {
            let Some(stream) = &mut self.links[number].stream else { return Ok(()) };
            let mut last = false;
            if turn == MAX_RECEIVES {
                self.unread.push(number);
                break;
            }
            match stream.read(&mut self.buffer) {
                Ok(0) => return self.close(number, None, service),
                Ok(length) => {
                    last = length < self.buffer.len() && !ending;
                    let bytes = &self.buffer[..length];
                    sending |= service.received(number, bytes, now_ns()).map_err(io::Error::other)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.close(number, Some(error), service),
            }
            if sending {
                self.send(number, service)?;
                sending = false;
            }
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Sends until nothing is left or the socket buffer is full.
    fn send(&mut self, number: usize, service: &mut impl Service) -> io::Result<()> {
        while !self.links[number].full {
            let Some(stream) = &self.links[number].stream else { return Ok(()) };
            self.out.clear();
            service.write(number, &mut self.out);
            let pieces = self.out.message();
            if pieces.is_empty() {
                return Ok(());
            }
            let length = pieces.iter().map(|piece| piece.iov_len).sum::<usize>();
            let fd = stream.as_raw_fd();
            let count = match pieces {
                // SAFETY: the piece points into `out` or into static memory, so it is valid for the call to read.
                [one] => unsafe { libc::send(fd, one.iov_base, one.iov_len, libc::MSG_NOSIGNAL) },
                // SAFETY: as above, for each of the pieces.
                _ => unsafe { libc::writev(fd, pieces.as_ptr(), pieces.len() as i32) },
            };
            if count >= 0 {
                service.sent(number, count as usize);
                // After a partial send, the socket buffer is full; an event reports when it has space.
                self.links[number].full = (count as usize) < length;
                continue;
            }
            match io::Error::last_os_error() {
                error if error.kind() == ErrorKind::WouldBlock => self.links[number].full = true,
                error if error.kind() == ErrorKind::Interrupted => {}
                error => return self.close(number, Some(error), service),
            }
        }
        Ok(())
    }

    fn close(
        &mut self,
        number: usize,
        error: Option<io::Error>,
        service: &mut impl Service,
    ) -> io::Result<()> {
        if self.links[number].stream.take().is_some() {
            service.closed(number, &hung_up(error)).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
