//! The face of an event loop: one thread, no lock, no callbacks. `nd_reactor_poll` gives what happened as a list.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr;

use netdyno_rtc::{Bytes, ChannelId, Connection, Endpoint, Event, Handler, Message, Waker};

use crate::border::{Text, hand_over};
use crate::endpoint::socket_address;
use crate::error::{call, given, nd_code, shielded};
use crate::options::{kind_number, limit, nd_settings, port_of, state_number};

/// A message came: `data`, and its kind in `value`.
pub const ND_EVENT_MESSAGE: u32 = 0;
/// The state of the connection is another one: `value`, an ND_STATE_.
pub const ND_EVENT_STATE: u32 = 1;
/// The peer opened a data channel: its label in `data`.
pub const ND_EVENT_INCOMING: u32 = 2;
/// The channel is open: messages can be sent.
pub const ND_EVENT_OPEN: u32 = 3;
/// The channel's buffered amount fell to its threshold.
pub const ND_EVENT_BUFFERED_LOW: u32 = 4;
/// After a send that was answered with ND_NOT_NOW: there is room again on the connection.
pub const ND_EVENT_WRITABLE: u32 = 5;
/// The channel is closed, by either side or with the connection.
pub const ND_EVENT_CHANNEL_CLOSED: u32 = 6;
/// The connection failed: why, in `data`. ND_STATE_FAILED comes with it.
pub const ND_EVENT_FAILED: u32 = 7;
/// One more candidate of ours was found since the first description, for the peer's nd_connection_add_remote_candidate(): in `data`.
pub const ND_EVENT_CANDIDATE: u32 = 8;
/// All servers have answered, or have not in time: there will be no more candidates. Not told where there are none to ask.
pub const ND_EVENT_GATHERED: u32 = 9;
/// A server of the settings was of no use, or is not any more; the connection may do without. Its URL and why, in `data`.
pub const ND_EVENT_SERVER_FAILED: u32 = 10;

/// What happened to a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_event {
    /// The connection, as nd_reactor_add() named it.
    pub connection: u64,
    /// ND_EVENT_MESSAGE and so on.
    pub what: u32,
    /// The channel, where it is about one.
    pub channel: u32,
    /// As the type says.
    pub value: u32,
    /// Bytes or a text without a zero at its end, as the type says. The reactor's, until the next nd_reactor_poll().
    pub data: *const c_void,
    /// How many.
    pub length: usize,
}

/// A UDP port for any number of connections, driven by whoever calls nd_reactor_poll(). One thread at a time may use it; its connections
/// are named by numbers, each with it.
#[derive(Debug)]
pub struct nd_reactor {
    pub(crate) endpoint: Endpoint,
    found: Found,
}

/// What happened in one turn.
#[derive(Debug, Default)]
struct Found {
    events: Vec<nd_event>,
    /// What they point to.
    held: Vec<Bytes>,
}

impl Found {
    fn tell(
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

impl Handler for Found {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let mut plain = |what, channel| self.tell(connection, what, channel, 0, Bytes::new());
        match event {
            Event::Open(channel) => plain(ND_EVENT_OPEN, Some(channel)),
            Event::BufferedAmountLow(channel) => plain(ND_EVENT_BUFFERED_LOW, Some(channel)),
            Event::ChannelClosed(channel) => plain(ND_EVENT_CHANNEL_CLOSED, Some(channel)),
            Event::Writable => plain(ND_EVENT_WRITABLE, None),
            Event::State(state) => {
                self.tell(connection, ND_EVENT_STATE, None, state_number(state), Bytes::new());
            }
            Event::Incoming(channel) => {
                let label = Bytes::copy_from_slice(connection.label(channel).as_bytes());
                self.tell(connection, ND_EVENT_INCOMING, Some(channel), 0, label);
            }
            Event::Candidate(line) => self.tell(connection, ND_EVENT_CANDIDATE, None, 0, line.into()),
            Event::Gathered => plain(ND_EVENT_GATHERED, None),
            Event::ServerFailed { url, why } => {
                self.tell(connection, ND_EVENT_SERVER_FAILED, None, 0, format!("{url}: {why}").into());
            }
            Event::Failed(error) => {
                self.tell(connection, ND_EVENT_FAILED, None, 0, error.to_string().into());
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let kind = kind_number(message.kind);
        self.tell(connection, ND_EVENT_MESSAGE, Some(message.channel), kind, message.data);
    }
}

/// Ends an nd_reactor_poll() from any thread.
#[derive(Debug)]
pub struct nd_waker(Waker);

/// Binds "ADDRESS:PORT" (port 0: any that is free). `settings` may be NULL.
///
/// `*reactor` is the caller's, for nd_reactor_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_bind(
    address: Text,
    address_length: usize,
    settings: Option<&nd_settings>,
    reactor: Option<&mut MaybeUninit<*mut nd_reactor>>,
) -> nd_code {
    call(|| {
        let reactor = given(reactor)?;
        let endpoint =
            Endpoint::bind(socket_address(&address, address_length)?, nd_settings::read(settings)?)?;
        reactor.write(Box::into_raw(Box::new(nd_reactor { endpoint, found: Found::default() })));
        Ok(())
    })
}

/// Ends it with all its connections, and tells their peers. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_free(reactor: Option<Box<nd_reactor>>) {
    shielded((), || reactor.map(drop));
}

/// The address that it is bound to, as "ADDRESS:PORT".
///
/// `*text` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_address(
    reactor: Option<&nd_reactor>,
    text: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(given(reactor)?.endpoint.local_address().to_string(), given(text)?, length))
}

/// A file descriptor for an event loop of the caller's: readable when nd_reactor_poll() has something to do (epoll(7), poll(2)). It is the
/// reactor's. Of NULL, and elsewhere than on Linux: -1.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_fd(reactor: Option<&nd_reactor>) -> i32 {
    shielded(-1, || descriptor(&reactor?.endpoint))
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

/// Milliseconds after which nd_reactor_poll() is due, whatever comes until then, rounded up; 0 after each call that may leave something to
/// send; -1: never. For an event loop of the caller's, asked right before it waits.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_due_ms(reactor: Option<&nd_reactor>) -> i64 {
    shielded(-1, || {
        let due = reactor?.endpoint.due_within()?;
        Some(i64::try_from(due.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX))
    })
}

/// Waits until there is something to do, and does one turn of it: receives, sends, lets time pass. `*count` may be 0 also before the time is over.
///
/// `*events` and what they point to are the reactor's, until the next call of this function or nd_reactor_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_poll(
    reactor: Option<&mut nd_reactor>,
    timeout_ms: i64,
    events: Option<&mut MaybeUninit<*const nd_event>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let nd_reactor { endpoint, found } = given(reactor)?;
        let (events, count) = (given(events)?.write(ptr::null()), given(count)?.write(0));
        found.events.clear();
        found.held.clear();
        endpoint.poll((timeout_ms >= 0).then(|| limit(timeout_ms)), found)?;
        (*events, *count) = (found.events.as_ptr(), found.events.len());
        Ok(())
    })
}

/// What ends an nd_reactor_poll() from another thread.
///
/// `*waker` is the caller's, for nd_waker_free(); the reactor may be freed before it.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_waker(
    reactor: Option<&nd_reactor>,
    waker: Option<&mut MaybeUninit<*mut nd_waker>>,
) -> nd_code {
    call(|| {
        given(waker)?.write(Box::into_raw(Box::new(nd_waker(given(reactor)?.endpoint.waker()))));
        Ok(())
    })
}

/// Ends the nd_reactor_poll() under way, or the next one. By several threads at a time, if they like. Who waits by nd_reactor_fd() is not woken.
#[unsafe(no_mangle)]
pub extern "C" fn nd_waker_wake(waker: Option<&nd_waker>) -> nd_code {
    call(|| {
        given(waker)?.0.wake();
        Ok(())
    })
}

/// Frees it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_waker_free(waker: Option<Box<nd_waker>>) {
    shielded((), || waker.map(drop));
}

/// A new connection, with nothing begun, and the number that names it from now on. `port`: ND_PORT_SHARED or ND_PORT_OWN.
#[unsafe(no_mangle)]
pub extern "C" fn nd_reactor_add(
    reactor: Option<&mut nd_reactor>,
    port: u32,
    connection: Option<&mut MaybeUninit<u64>>,
) -> nd_code {
    call(|| {
        let connection = given(connection)?;
        connection.write(given(reactor)?.endpoint.add(port_of(port)?)?.to_bits());
        Ok(())
    })
}
