//! The face whose calls wait: its connections.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::blocking::PeerConnection;

use crate::border::{Text, hand_over};
use crate::channel::nd_channel;
use crate::endpoint::nd_endpoint;
use crate::error::{Failure, call, given, nd_code, shielded};
use crate::options::{ND_STATE_CLOSED, limit, nd_channel_options, port_of, state_number, state_of};
use crate::report::nd_report;
use crate::stats::nd_connection_stats;

/// A peer connection. May be used by several threads at a time.
#[derive(Debug)]
pub struct nd_peer(PeerConnection);

/// A new connection, with nothing begun. `port`: ND_PORT_SHARED or ND_PORT_OWN.
///
/// `*peer` is the caller's, for nd_peer_free(). The endpoint may be freed before it.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_new(
    endpoint: Option<&nd_endpoint>,
    port: u32,
    peer: Option<&mut MaybeUninit<*mut nd_peer>>,
) -> nd_code {
    call(|| {
        let peer = given(peer)?;
        let made = PeerConnection::on(&given(endpoint)?.0, port_of(port)?)?;
        peer.write(Box::into_raw(Box::new(nd_peer(made))));
        Ok(())
    })
}

/// Gives the connection up: it is closed when its channels are freed too, and what was not sent by then is lost. No other thread may be
/// using this handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_free(peer: Option<Box<nd_peer>>) {
    shielded((), || peer.map(drop));
}

/// A new data channel, at any time. Messages can be sent once it is open. `options` may be NULL.
///
/// `*channel` is the caller's, for nd_channel_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_create_channel(
    peer: Option<&nd_peer>,
    label: Text,
    label_length: usize,
    options: Option<&nd_channel_options>,
    channel: Option<&mut MaybeUninit<*mut nd_channel>>,
) -> nd_code {
    call(|| {
        let channel = given(channel)?;
        let (label, options) = (label.text(label_length)?, nd_channel_options::read(options)?);
        nd_channel::hand_over(given(peer)?.0.create_channel(label, options)?, channel);
        Ok(())
    })
}

/// Waits for the next data channel that the peer opens. 1,024 may wait; what is opened beyond them is closed.
///
/// `*channel` is the caller's, for nd_channel_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_channel(
    peer: Option<&nd_peer>,
    timeout_ms: i64,
    channel: Option<&mut MaybeUninit<*mut nd_channel>>,
) -> nd_code {
    call(|| {
        let channel = given(channel)?;
        let accepted = given(peer)?.0.accept_channel_timeout(limit(timeout_ms))?;
        nd_channel::hand_over(accepted.ok_or_else(Failure::not_now)?, channel);
        Ok(())
    })
}

/// An offer with all candidates, for the other side. Create a channel first, or the peer has no reason to connect. With `restart` not 0
/// it has new ICE credentials, for a path that was lost.
///
/// `*offer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_create_offer(
    peer: Option<&nd_peer>,
    restart: u32,
    offer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let (peer, to) = (&given(peer)?.0, given(offer)?);
        hand_over(if restart == 0 { peer.create_offer() } else { peer.restart_ice() }?, to, length)
    })
}

/// Withdraws the offer of ours that waits for its answer, so that an offer of the peer can be taken.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_rollback(peer: Option<&nd_peer>) -> nd_code {
    call(|| Ok(given(peer)?.0.rollback()?))
}

/// Takes the peer's offer and gives the answer.
///
/// `*answer` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_offer(
    peer: Option<&nd_peer>,
    offer: Text,
    offer_length: usize,
    answer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = given(answer)?;
        hand_over(given(peer)?.0.accept_offer(offer.text(offer_length)?)?, to, length)
    })
}

/// Takes the peer's answer to the offer of ours.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_answer(
    peer: Option<&nd_peer>,
    answer: Text,
    answer_length: usize,
) -> nd_code {
    call(|| Ok(given(peer)?.0.accept_answer(answer.text(answer_length)?)?))
}

/// A candidate of the peer that came after its description, from "candidate:" on; empty for the end of candidates.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_add_remote_candidate(
    peer: Option<&nd_peer>,
    candidate: Text,
    candidate_length: usize,
) -> nd_code {
    call(|| Ok(given(peer)?.0.add_remote_candidate(candidate.text(candidate_length)?)?))
}

/// Waits until all servers of the settings have answered, or have not in 10 s; at once if there are none. A description that is made then has
/// all candidates. ND_NOT_NOW: not yet; it has those known by now.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_gathered(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::unless(given(peer)?.0.wait_gathered(limit(timeout_ms))))
}

/// Which servers of the settings were of no use to this connection, or are not any more: a line each, its URL and why, the latest last, 16 at the
/// most.
///
/// `*failures` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_server_failures(
    peer: Option<&nd_peer>,
    failures: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(given(peer)?.0.server_failures().join("\n"), given(failures)?, length))
}

/// The description that was made last, now with all candidates that are known: for those who wait for them after it was made. ND_CLOSED: there
/// is none, since none was made, or it was withdrawn, or the connection is over.
///
/// `*description` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_local_description(
    peer: Option<&nd_peer>,
    description: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = given(description)?;
        hand_over(given(peer)?.0.local_description().ok_or_else(Failure::undescribed)?, to, length)
    })
}

/// Waits for the next candidate of ours that was found since the first description, for the peer's nd_peer_add_remote_candidate(). An empty one:
/// there will be no more.
///
/// `*candidate` is the caller's, for nd_text_free(), and has a zero at its end; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_next_candidate(
    peer: Option<&nd_peer>,
    timeout_ms: i64,
    candidate: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = given(candidate)?;
        let found = given(peer)?.0.next_candidate_timeout(limit(timeout_ms)).ok_or_else(Failure::not_now)?;
        hand_over(found.unwrap_or_default(), to, length)
    })
}

/// The state of the connection, an ND_STATE_. Of NULL: ND_STATE_CLOSED.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_state(peer: Option<&nd_peer>) -> u32 {
    shielded(ND_STATE_CLOSED, || Some(state_number(peer?.0.state())))
}

/// Waits until the state is another one than `last`, and gives it; once the connection is over, at once.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_state(
    peer: Option<&nd_peer>,
    last: u32,
    timeout_ms: i64,
    now: Option<&mut MaybeUninit<u32>>,
) -> nd_code {
    call(|| {
        let (peer, now) = (&given(peer)?.0, given(now)?);
        let found =
            peer.wait_state_timeout(state_of(last)?, limit(timeout_ms)).ok_or_else(Failure::not_now)?;
        now.write(state_number(found));
        Ok(())
    })
}

/// Waits until it is connected.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_connected(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::unless(given(peer)?.0.wait_connected_timeout(limit(timeout_ms))?))
}

/// Waits until it is over; ND_FAILED, and why, if it failed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_closed(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::unless(given(peer)?.0.wait_closed_timeout(limit(timeout_ms))?))
}

/// Ends the connection: the peer is told. What is buffered is lost: close the channels, and wait for that, to have all of it delivered.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_close(peer: Option<&nd_peer>) -> nd_code {
    call(|| {
        given(peer)?.0.close();
        Ok(())
    })
}

/// Statistics; ND_CLOSED once it is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_get_stats(
    peer: Option<&nd_peer>,
    stats: Option<&mut MaybeUninit<nd_connection_stats>>,
) -> nd_code {
    call(|| {
        let found = given(peer)?.0.stats().ok_or_else(Failure::closed)?;
        given(stats)?.write(found.into());
        Ok(())
    })
}

/// All statistics, by W3C's names; ND_CLOSED once it is over. It is put together now, at a cost that grows with candidates and channels.
///
/// `*report` is the caller's, for nd_report_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_get_report(
    peer: Option<&nd_peer>,
    report: Option<&mut MaybeUninit<*mut nd_report>>,
) -> nd_code {
    call(|| {
        let (peer, to) = (&given(peer)?.0, given(report)?);
        let (report, stats) = peer.report().zip(peer.stats()).ok_or_else(Failure::closed)?;
        to.write(Box::into_raw(Box::new(nd_report::new(&report, &stats))));
        Ok(())
    })
}
