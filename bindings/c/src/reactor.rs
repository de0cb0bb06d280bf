//! The event-loop interface: one thread, no lock, no callbacks. `nd_reactor_poll` returns events as a list.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use netdyno_rtc::{Bytes, ChannelId, Connection, Endpoint, Event, Handler, Message, Waker};

use crate::endpoint::socket_address;
use crate::error::{call, guarded, nd_code, required};
use crate::memory::{Text, hand_over};
use crate::options::{kind_number, limit, nd_settings, port_of, state_number};

/// A message was received: its bytes in `data`, its kind in `value`.
pub const ND_EVENT_MESSAGE: u32 = 0;
/// The state of the connection changed: the new ND_STATE_... in `value`.
pub const ND_EVENT_STATE: u32 = 1;
/// The peer opened a data channel: its label in `data`.
pub const ND_EVENT_INCOMING: u32 = 2;
/// The channel is open: messages can be sent.
pub const ND_EVENT_OPEN: u32 = 3;
/// The channel's buffered amount fell to its threshold.
pub const ND_EVENT_BUFFERED_LOW: u32 = 4;
/// After a send that returned ND_NOT_NOW: the connection has space again.
pub const ND_EVENT_WRITABLE: u32 = 5;
/// The channel was closed, by either side or with the connection.
pub const ND_EVENT_CHANNEL_CLOSED: u32 = 6;
/// The connection failed: the reason in `data`. ND_STATE_FAILED is reported too.
pub const ND_EVENT_FAILED: u32 = 7;
/// A local candidate was found after the first description, to be passed to the peer's
/// nd_connection_add_remote_candidate(): in `data`.
pub const ND_EVENT_CANDIDATE: u32 = 8;
/// Gathering is complete: every server has answered or timed out. Not reported if there are no servers to
/// query.
pub const ND_EVENT_GATHERED: u32 = 9;
/// A server of the settings failed; the connection may succeed without it. Its URL and the reason in `data`.
pub const ND_EVENT_SERVER_FAILED: u32 = 10;

/// An event of a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_event {
    /// The connection, as returned by nd_reactor_add().
    pub connection: u64,
    /// The type, ND_EVENT_...
    pub what: u32,
    /// The channel, for events of a channel.
    pub channel: u32,
    /// Depends on the type.
    pub value: u32,
    /// Bytes, or text that is not NUL-terminated; depends on the type. Valid until the next
    /// nd_reactor_poll().
    pub data: *const c_void,
    /// Number of bytes.
    pub length: usize,
}

/// A UDP port for any number of connections, driven by nd_reactor_poll(). One thread at a time may use it. A
/// connection is identified by the reactor and a number.
#[derive(Debug)]
pub struct nd_reactor {
    pub(crate) endpoint: Endpoint,
    turn: TurnEvents,
}

/// The events of one turn.
#[derive(Debug, Default)]
struct TurnEvents {
    events: Vec<nd_event>,
    /// The bytes that events point to.
    held: Vec<Bytes>,
}

impl TurnEvents {
    fn push(
        &mut self,
        connection: &Connection<'_>,
        what: u32,
        channel: Option<ChannelId>,
        value: u32,
        data: Bytes,
    ) {
        self.events.push(nd_event {
            connection: connection.id().to_bits(),
            what,
            channel: channel.map_or(0, |channel| channel.0),
            value,
            data: data.as_ptr().cast(),
            length: data.len(),
        });
        if !data.is_empty() {
            self.held.push(data);
        }
    }
}

impl Handler for TurnEvents {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let mut plain = |what, channel| self.push(connection, what, channel, 0, Bytes::new());
        match event {
            Event::Open(channel) => plain(ND_EVENT_OPEN, Some(channel)),
            Event::BufferedAmountLow(channel) => plain(ND_EVENT_BUFFERED_LOW, Some(channel)),
            Event::ChannelClosed(channel) => plain(ND_EVENT_CHANNEL_CLOSED, Some(channel)),
            Event::Writable => plain(ND_EVENT_WRITABLE, None),
            Event::State(state) => {
                self.push(connection, ND_EVENT_STATE, None, state_number(state), Bytes::new());
            }
            Event::Incoming(channel) => {
                let label = Bytes::copy_from_slice(connection.label(channel).as_bytes());
                self.push(connection, ND_EVENT_INCOMING, Some(channel), 0, label);
            }
            Event::Candidate(line) => self.push(connection, ND_EVENT_CANDIDATE, None, 0, line.into()),
            Event::Gathered => plain(ND_EVENT_GATHERED, None),
            Event::ServerFailed { url, why } => {
                self.push(connection, ND_EVENT_SERVER_FAILED, None, 0, format!("{url}: {why}").into());
            }
            Event::Failed(error) => {
                self.push(connection, ND_EVENT_FAILED, None, 0, error.to_string().into());
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let kind = kind_number(message.kind);
        self.push(connection, ND_EVENT_MESSAGE, Some(message.channel), kind, message.data);
    }
}

/// Wakes nd_reactor_poll() from any thread.
#[derive(Debug)]
pub struct nd_waker(Waker);

/// Binds "ADDRESS:PORT" (port 0: any free port). `settings` may be NULL.
///
/// Free `*reactor` with nd_reactor_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_bind(
    address: Text,
    address_length: usize,
    settings: Option<&nd_settings>,
    reactor: Option<&mut MaybeUninit<*mut nd_reactor>>,
) -> nd_code {
    call(|| {
        let reactor = required(reactor)?;
        let endpoint =
            Endpoint::bind(socket_address(&address, address_length)?, nd_settings::read(settings)?)?;
        reactor.write(Box::into_raw(Box::new(nd_reactor { endpoint, turn: TurnEvents::default() })));
        Ok(())
    })
}

/// Closes all connections, notifies their peers and frees the reactor. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_free(reactor: Option<Box<nd_reactor>>) {
    guarded((), || reactor.map(drop));
}

/// Returns the bound address as "ADDRESS:PORT".
///
/// Free `*text` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_address(
    reactor: Option<&nd_reactor>,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(required(reactor)?.endpoint.local_address().to_string(), required(text)?, length))
}

/// Returns a file descriptor for the caller's event loop (epoll(7), poll(2)), readable when nd_reactor_poll()
/// has something to do. It belongs to the reactor. Returns -1 for NULL and on systems other than Linux.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_fd(reactor: Option<&nd_reactor>) -> i32 {
    guarded(-1, || descriptor(&reactor?.endpoint))
}

#[cfg(target_os = "linux")]
fn descriptor(endpoint: &Endpoint) -> Option<i32> {
    use std::os::fd::{AsFd, AsRawFd};
    Some(endpoint.as_fd().as_raw_fd())
}

#[cfg(not(target_os = "linux"))]
fn descriptor(_: &Endpoint) -> Option<i32> {
    None
}

/// Returns the milliseconds until nd_reactor_poll() must be called even if nothing arrives, rounded up; 0
/// after a call that may have left something to send; -1: no limit. Call it right before the event loop
/// waits.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_due_ms(reactor: Option<&nd_reactor>) -> i64 {
    guarded(-1, || {
        let due = reactor?.endpoint.due_within()?;
        Some(i64::try_from(due.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX))
    })
}

/// Waits until there is something to do and runs one turn: receives, sends, handles timers. `*count` may be 0
/// even before the time limit.
///
/// `*events` and what they point to are valid until the next call of this function or nd_reactor_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_poll(
    reactor: Option<&mut nd_reactor>,
    timeout_ms: i64,
    events: Option<&mut MaybeUninit<*const nd_event>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let nd_reactor { endpoint, turn } = required(reactor)?;
        let (events, count) = (required(events)?.write(ptr::null()), required(count)?.write(0));
        turn.events.clear();
        turn.held.clear();
        endpoint.poll((timeout_ms >= 0).then(|| limit(timeout_ms)), turn)?;
        (*events, *count) = (turn.events.as_ptr(), turn.events.len());
        Ok(())
    })
}

/// Creates a handle that wakes nd_reactor_poll() from another thread.
///
/// Free `*waker` with nd_waker_free(); the reactor may be freed first.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_waker(
    reactor: Option<&nd_reactor>,
    waker: Option<&mut MaybeUninit<*mut nd_waker>>,
) -> nd_code {
    call(|| {
        required(waker)?.write(Box::into_raw(Box::new(nd_waker(required(reactor)?.endpoint.waker()))));
        Ok(())
    })
}

/// Ends the current or the next nd_reactor_poll(). Several threads may call it at the same time. It does not
/// wake a wait on nd_reactor_fd().
#[unsafe(no_mangle)]
pub extern "C" fn nd_waker_wake(waker: Option<&nd_waker>) -> nd_code {
    call(|| {
        required(waker)?.0.wake();
        Ok(())
    })
}

/// Frees the handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_waker_free(waker: Option<Box<nd_waker>>) {
    guarded((), || waker.map(drop));
}

/// Creates a connection and returns the number that identifies it. Nothing is sent until it has an offer or
/// an answer. `port`: ND_PORT_SHARED or ND_PORT_OWN.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_add(
    reactor: Option<&mut nd_reactor>,
    port: u32,
    connection: Option<&mut MaybeUninit<u64>>,
) -> nd_code {
    call(|| {
        let connection = required(connection)?;
        connection.write(required(reactor)?.endpoint.add(port_of(port)?)?.to_bits());
        Ok(())
    })
}
