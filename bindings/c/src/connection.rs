//! The face of an event loop: its connections, each named by its reactor and a number.
//!
//! What a call leaves to send goes out with the next `nd_reactor_poll`, together with all else.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::{ChannelId, Connection, ConnectionId, SendError};

use crate::border::{Data, List, Text, hand_over};
use crate::error::{Failure, call, given, nd_code, shielded};
use crate::options::{ND_STATE_CLOSED, kind_of, nd_channel_options, state_number};
use crate::reactor::nd_reactor;
use crate::report::nd_report;
use crate::stats::{nd_channel_stats, nd_connection_stats};

/// The connection of this number; ND_CLOSED: it is over, or never was.
fn find(reactor: Option<&mut nd_reactor>, connection: u64) -> Result<Connection<'_>, Failure> {
    given(reactor)?.endpoint.connection(ConnectionId::from_bits(connection)).ok_or_else(Failure::closed)
}

/// A new data channel of the connection, at any time, and the number that names it. ND_EVENT_OPEN says when messages can be sent. `options` may be NULL.
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
        let channel = given(channel)?;
        let (label, options) = (label.text(label_length)?, nd_channel_options::read(options)?);
        channel.write(find(reactor, connection)?.create_channel(label, options)?.0);
        Ok(())
    })
}

/// An offer with all candidates, for the other side. Create a channel first, or the peer has no reason to connect. With `restart` not 0
/// it has new ICE credentials, for a path that was lost.
///
/// `*offer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_create_offer(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    restart: u32,
    offer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = given(offer)?;
        hand_over(find(reactor, connection)?.create_offer(restart != 0)?, to, length)
    })
}

/// Withdraws the offer of ours that waits for its answer, so that an offer of the peer can be taken.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_rollback(reactor: Option<&mut nd_reactor>, connection: u64) -> nd_code {
    call(|| Ok(find(reactor, connection)?.rollback()?))
}

/// Takes the peer's offer and gives the answer.
///
/// `*answer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
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
        let to = given(answer)?;
        hand_over(find(reactor, connection)?.accept_offer(offer.text(offer_length)?)?, to, length)
    })
}

/// Takes the peer's answer to the offer of ours.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_accept_answer(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    answer: Text,
    answer_length: usize,
) -> nd_code {
    call(|| Ok(find(reactor, connection)?.accept_answer(answer.text(answer_length)?)?))
}

/// A candidate of the peer that came after its description, from "candidate:" on; empty for the end of candidates.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_add_remote_candidate(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    candidate: Text,
    candidate_length: usize,
) -> nd_code {
    call(|| Ok(find(reactor, connection)?.add_remote_candidate(candidate.text(candidate_length)?)?))
}

/// Sends a message; copies it. ND_NOT_NOW: no room; ND_EVENT_WRITABLE says when there is.
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

/// Sends these messages, one after the other, as far as there is room. ND_OK: all. ND_NOT_NOW: the first `*sent` of them, and
/// ND_EVENT_WRITABLE says when there is room for more. After another error `*sent` is how many were sent before the one that it is about.
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
        let sent = given(sent)?.write(0);
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

/// Payload bytes of the channel not yet sent for the first time (W3C bufferedAmount). Of a connection that is over: 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_buffered_amount(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
) -> usize {
    shielded(0, || Some(find(reactor, connection).ok()?.buffered_amount(ChannelId(channel))))
}

/// At or below how many buffered bytes ND_EVENT_BUFFERED_LOW is told; 0 at first.
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

/// Whether messages are told (as at first). If `reading` is 0 they stay in the connection, and once its receive window is full the peer is
/// held back. What has been told already, or ends the connection, is told all the same.
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

/// Closes a channel once what is buffered has been sent. ND_EVENT_CHANNEL_CLOSED: all has arrived, or the connection ended.
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

/// Ends the connection: the peer is told. What is buffered is lost.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_close(reactor: Option<&mut nd_reactor>, connection: u64) -> nd_code {
    call(|| {
        find(reactor, connection)?.close();
        Ok(())
    })
}

/// Whether servers are still being asked for candidates: 1 until ND_EVENT_GATHERED, 0 after it, and where there are none to ask.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_is_gathering(reactor: Option<&mut nd_reactor>, connection: u64) -> u32 {
    shielded(0, || Some(find(reactor, connection).ok()?.is_gathering().into()))
}

/// The description that was made last, now with all candidates that are known: for those who wait for ND_EVENT_GATHERED after it was made.
/// ND_CLOSED: there is none, since none was made, or it was withdrawn, or the connection is over.
///
/// `*description` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_local_description(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    description: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = given(description)?;
        let found = find(reactor, connection)?.local_description().ok_or_else(Failure::undescribed)?;
        hand_over(found, to, length)
    })
}

/// The state of the connection, an ND_STATE_; of one that is over: ND_STATE_CLOSED.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_state(reactor: Option<&mut nd_reactor>, connection: u64) -> u32 {
    shielded(ND_STATE_CLOSED, || Some(state_number(find(reactor, connection).ok()?.state())))
}

/// Statistics of the connection; ND_CLOSED once it is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_stats(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    stats: Option<&mut MaybeUninit<nd_connection_stats>>,
) -> nd_code {
    call(|| {
        given(stats)?.write(find(reactor, connection)?.stats().into());
        Ok(())
    })
}

/// Statistics of a channel; ND_CLOSED once the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_channel_stats(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    channel: u32,
    stats: Option<&mut MaybeUninit<nd_channel_stats>>,
) -> nd_code {
    call(|| {
        given(stats)?.write(find(reactor, connection)?.channel_stats(ChannelId(channel)).into());
        Ok(())
    })
}

/// All statistics of a connection, by W3C's names; ND_CLOSED once it is over. It is put together now, at a cost that grows with candidates and
/// channels.
///
/// `*report` is the caller's, for nd_report_free(); it may outlive the reactor.
#[unsafe(no_mangle)]
pub extern "C" fn nd_connection_get_report(
    reactor: Option<&mut nd_reactor>,
    connection: u64,
    report: Option<&mut MaybeUninit<*mut nd_report>>,
) -> nd_code {
    call(|| {
        let to = given(report)?;
        let connection = find(reactor, connection)?;
        let report = nd_report::new(&connection.report(), &connection.stats());
        to.write(Box::into_raw(Box::new(report)));
        Ok(())
    })
}
