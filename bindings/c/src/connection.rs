//! The event-loop interface: connections, each identified by its reactor and a number.
//!
//! What a call leaves to send is sent by the next `nd_reactor_poll`.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::{ChannelId, Connection, ConnectionId, SendError};

use crate::error::{Failure, call, guarded, nd_code, required};
use crate::memory::{Data, List, Text, hand_over};
use crate::options::{ND_STATE_CLOSED, kind_of, nd_channel_options, state_number};
use crate::reactor::nd_reactor;
use crate::report::nd_report;
use crate::stats::{nd_channel_stats, nd_connection_stats};

/// The connection with this number; ND_CLOSED if it is over or never existed.
fn find(reactor: Option<&mut nd_reactor>, connection: u64) -> Result<Connection<'_>, Failure> {
    required(reactor)?.endpoint.connection(ConnectionId::from_bits(connection)).ok_or_else(Failure::closed)
}

/// Creates a data channel, at any time, and returns the number that identifies it. ND_EVENT_OPEN reports when
/// messages can be sent. `options` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_create_channel(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    label: Text,
    label_length: usize,
    options: Option<&nd_channel_options>,
    channel: Option<&mut MaybeUninit<u32>>,
) -> nd_code {
    call(|| {
        let channel = required(channel)?;
        let (label, options) = (label.text(label_length)?, nd_channel_options::read(options)?);
        channel.write(find(reactor, connection)?.create_channel(label, options)?.0);
        Ok(())
    })
}

/// Creates an offer with all candidates known so far. Create a channel first; without one there is nothing to
/// connect for. If `restart` is not 0, the offer has new ICE credentials, to replace a lost path.
///
/// Free `*offer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_create_offer(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    restart: u32,
    offer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(offer)?;
        hand_over(find(reactor, connection)?.create_offer(restart != 0)?, to, length)
    })
}

/// Withdraws the local offer that awaits its answer, so that an offer of the peer can be accepted.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_rollback(reactor: Option<&mut nd_reactor>, connection: u64) -> nd_code {
    call(|| Ok(find(reactor, connection)?.rollback()?))
}

/// Accepts the peer's offer and returns the answer.
///
/// Free `*answer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_accept_offer(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    offer: Text,
    offer_length: usize,
    answer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(answer)?;
        hand_over(find(reactor, connection)?.accept_offer(offer.text(offer_length)?)?, to, length)
    })
}

/// Accepts the peer's answer to the local offer.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_accept_answer(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    answer: Text,
    answer_length: usize,
) -> nd_code {
    call(|| Ok(find(reactor, connection)?.accept_answer(answer.text(answer_length)?)?))
}

/// Adds a trickled candidate of the peer, from "candidate:" on; an empty text ends the candidates.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_add_remote_candidate(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    candidate: Text,
    candidate_length: usize,
) -> nd_code {
    call(|| Ok(find(reactor, connection)?.add_remote_candidate(candidate.text(candidate_length)?)?))
}

/// Sends a copy of a message. ND_NOT_NOW: the send buffer is full; ND_EVENT_WRITABLE reports when there is
/// space.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_send(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
    kind: u32,
    data: Data,
    length: usize,
) -> nd_code {
    call(|| {
        let (kind, data) = (kind_of(kind)?, data.bytes(length)?);
        Ok(find(reactor, connection)?.send(ChannelId(channel), kind, data)?)
    })
}

/// Sends messages in order, as many as fit. ND_OK: all were sent. ND_NOT_NOW: the first `*sent` were sent;
/// ND_EVENT_WRITABLE reports when there is space for more. After any other error `*sent` is the number sent
/// before the message that failed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_send_many(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
    kind: u32,
    messages: List,
    count: usize,
    sent: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let sent = required(sent)?.write(0);
        let kind = kind_of(kind)?;
        let messages = messages.messages(count)?;
        let mut connection = find(reactor, connection)?;
        let all = messages.iter().try_for_each(|message| -> Result<(), SendError> {
            connection.send(ChannelId(channel), kind, message.as_ref())?;
            *sent += 1;
            Ok(())
        });
        Ok(all?)
    })
}

/// Returns the channel's payload bytes not yet sent for the first time (W3C bufferedAmount); 0 if the
/// connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_buffered_amount(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
) -> usize {
    guarded(0, || Some(find(reactor, connection).ok()?.buffered_amount(ChannelId(channel))))
}

/// Sets the buffered amount at or below which ND_EVENT_BUFFERED_LOW is raised. Default: 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_set_buffered_low(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
    bytes: usize,
) -> nd_code {
    call(|| {
        find(reactor, connection)?.set_buffered_amount_low_threshold(ChannelId(channel), bytes);
        Ok(())
    })
}

/// Sets whether messages are reported (default: yes). If `reading` is 0, they stay in the connection, and
/// once its receive window is full the peer stops sending. Events already queued, and remaining messages when
/// the connection ends, are still reported.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_set_reading(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    reading: u32,
) -> nd_code {
    call(|| {
        find(reactor, connection)?.set_reading(reading != 0);
        Ok(())
    })
}

/// Closes a channel once everything buffered has been sent. ND_EVENT_CHANNEL_CLOSED: everything was
/// delivered, or the connection ended.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_close_channel(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
) -> nd_code {
    call(|| {
        find(reactor, connection)?.close_channel(ChannelId(channel));
        Ok(())
    })
}

/// Closes the connection and notifies the peer. Buffered data is lost.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_close(reactor: Option<&mut nd_reactor>, connection: u64) -> nd_code {
    call(|| {
        find(reactor, connection)?.close();
        Ok(())
    })
}

/// Returns 1 while servers are being queried for candidates, until ND_EVENT_GATHERED; otherwise 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_is_gathering(reactor: Option<&mut nd_reactor>, connection: u64) -> u32 {
    guarded(0, || Some(find(reactor, connection).ok()?.is_gathering().into()))
}

/// Returns the latest local description with all candidates known now, for applications that wait for
/// ND_EVENT_GATHERED instead of trickling. ND_CLOSED: no description was created, it was withdrawn, or the
/// connection is over.
///
/// Free `*description` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_local_description(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    description: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(description)?;
        let found = find(reactor, connection)?.local_description().ok_or_else(Failure::no_description)?;
        hand_over(found, to, length)
    })
}

/// Returns the state of the connection (ND_STATE_...); ND_STATE_CLOSED if it is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_state(reactor: Option<&mut nd_reactor>, connection: u64) -> u32 {
    guarded(ND_STATE_CLOSED, || Some(state_number(find(reactor, connection).ok()?.state())))
}

/// Returns statistics of the connection; ND_CLOSED once it is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_stats(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    stats: Option<&mut MaybeUninit<nd_connection_stats>>,
) -> nd_code {
    call(|| {
        required(stats)?.write(find(reactor, connection)?.stats().into());
        Ok(())
    })
}

/// Returns statistics of a channel; ND_CLOSED once the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_channel_stats(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
    stats: Option<&mut MaybeUninit<nd_channel_stats>>,
) -> nd_code {
    call(|| {
        required(stats)?.write(find(reactor, connection)?.channel_stats(ChannelId(channel)).into());
        Ok(())
    })
}

/// Returns all statistics of a connection, by W3C's names; ND_CLOSED once it is over. The report is created
/// by this call; its cost grows with the number of candidates and channels.
///
/// Free `*report` with nd_report_free(); it may outlive the reactor.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_report(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    report: Option<&mut MaybeUninit<*mut nd_report>>,
) -> nd_code {
    call(|| {
        let to = required(report)?;
        let connection = find(reactor, connection)?;
        let report = nd_report::new(&connection.report(), &connection.stats());
        to.write(Box::into_raw(Box::new(report)));
        Ok(())
    })
}
