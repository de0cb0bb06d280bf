//! The blocking interface: connections.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use netdyno_rtc::blocking::PeerConnection;

use crate::channel::nd_channel;
use crate::endpoint::nd_endpoint;
use crate::error::{Failure, call, guarded, nd_code, required};
use crate::memory::{Text, hand_over};
use crate::options::{ND_STATE_CLOSED, limit, nd_channel_options, port_of, state_number, state_of};
use crate::report::nd_report;
use crate::stats::nd_connection_stats;

/// A peer connection. Several threads may use it at the same time.
#[derive(Debug)]
pub struct nd_peer(PeerConnection);

/// Creates a connection. Nothing is sent until it has an offer or an answer. `port`: ND_PORT_SHARED or
/// ND_PORT_OWN.
///
/// Free `*peer` with nd_peer_free(). The endpoint may be freed first.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_new(
    endpoint: Option<&nd_endpoint>,
    port: u32,
    peer: Option<&mut MaybeUninit<*mut nd_peer>>,
) -> nd_code {
    call(|| {
        let peer = required(peer)?;
        let made = PeerConnection::on(&required(endpoint)?.0, port_of(port)?)?;
        peer.write(Box::into_raw(Box::new(nd_peer(made))));
        Ok(())
    })
}

/// Frees the handle. The connection is closed when its channels are freed too; unsent data is then lost. No
/// other thread may be using the handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_free(peer: Option<Box<nd_peer>>) {
    guarded((), || peer.map(drop));
}

/// Creates a data channel, at any time. Messages can be sent once it is open. `options` may be NULL.
///
/// Free `*channel` with nd_channel_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_create_channel(
    peer: Option<&nd_peer>,
    label: Text,
    label_length: usize,
    options: Option<&nd_channel_options>,
    channel: Option<&mut MaybeUninit<*mut nd_channel>>,
) -> nd_code {
    call(|| {
        let channel = required(channel)?;
        let (label, options) = (label.text(label_length)?, nd_channel_options::read(options)?);
        nd_channel::hand_over(required(peer)?.0.create_channel(label, options)?, channel);
        Ok(())
    })
}

/// Waits for the next data channel that the peer opens. Up to 1,024 channels wait to be accepted; further
/// ones are closed.
///
/// Free `*channel` with nd_channel_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_channel(
    peer: Option<&nd_peer>,
    timeout_ms: i64,
    channel: Option<&mut MaybeUninit<*mut nd_channel>>,
) -> nd_code {
    call(|| {
        let channel = required(channel)?;
        let accepted = required(peer)?.0.accept_channel_timeout(limit(timeout_ms))?;
        nd_channel::hand_over(accepted.ok_or_else(Failure::not_now)?, channel);
        Ok(())
    })
}

/// Creates an offer with all candidates known so far. Create a channel first; without one there is nothing to
/// connect for. If `restart` is not 0, the offer has new ICE credentials, to replace a lost path.
///
/// Free `*offer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_create_offer(
    peer: Option<&nd_peer>,
    restart: u32,
    offer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let (peer, to) = (&required(peer)?.0, required(offer)?);
        hand_over(if restart == 0 { peer.create_offer() } else { peer.restart_ice() }?, to, length)
    })
}

/// Withdraws the local offer that awaits its answer, so that an offer of the peer can be accepted.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_rollback(peer: Option<&nd_peer>) -> nd_code {
    call(|| Ok(required(peer)?.0.rollback()?))
}

/// Accepts the peer's offer and returns the answer.
///
/// Free `*answer` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_offer(
    peer: Option<&nd_peer>,
    offer: Text,
    offer_length: usize,
    answer: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(answer)?;
        hand_over(required(peer)?.0.accept_offer(offer.text(offer_length)?)?, to, length)
    })
}

/// Accepts the peer's answer to the local offer.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_accept_answer(
    peer: Option<&nd_peer>,
    answer: Text,
    answer_length: usize,
) -> nd_code {
    call(|| Ok(required(peer)?.0.accept_answer(answer.text(answer_length)?)?))
}

/// Adds a trickled candidate of the peer, from "candidate:" on; an empty text ends the candidates.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_add_remote_candidate(
    peer: Option<&nd_peer>,
    candidate: Text,
    candidate_length: usize,
) -> nd_code {
    call(|| Ok(required(peer)?.0.add_remote_candidate(candidate.text(candidate_length)?)?))
}

/// Waits until every server of the settings has answered or 10 s have passed; returns at once if there are
/// none. A description created afterwards contains all candidates. ND_NOT_NOW: gathering continues, and a
/// description contains the candidates known now.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_gathered(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::timeout_unless(required(peer)?.0.wait_gathered(limit(timeout_ms))))
}

/// Returns the failures of the settings' servers for this connection, one line each with the URL and the
/// reason; the latest 16, oldest first.
///
/// Free `*failures` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_server_failures(
    peer: Option<&nd_peer>,
    failures: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| hand_over(required(peer)?.0.server_failures().join("\n"), required(failures)?, length))
}

/// Returns the latest local description with all candidates known now, for applications that wait for
/// gathering instead of trickling. ND_CLOSED: no description was created, it was withdrawn, or the connection
/// is over.
///
/// Free `*description` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_local_description(
    peer: Option<&nd_peer>,
    description: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(description)?;
        hand_over(required(peer)?.0.local_description().ok_or_else(Failure::no_description)?, to, length)
    })
}

/// Waits for the next local candidate found since the first description, to be passed to the peer's
/// nd_peer_add_remote_candidate(). An empty text: gathering is complete.
///
/// Free `*candidate` with nd_text_free(). It is NUL-terminated; `length` may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_next_candidate(
    peer: Option<&nd_peer>,
    timeout_ms: i64,
    candidate: Option<&mut MaybeUninit<*mut c_char>>,
    length: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let to = required(candidate)?;
        let found =
            required(peer)?.0.next_candidate_timeout(limit(timeout_ms)).ok_or_else(Failure::not_now)?;
        hand_over(found.unwrap_or_default(), to, length)
    })
}

/// Returns the state of the connection (ND_STATE_...); ND_STATE_CLOSED for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_state(peer: Option<&nd_peer>) -> u32 {
    guarded(ND_STATE_CLOSED, || Some(state_number(peer?.0.state())))
}

/// Waits until the state differs from `last` and returns it. Returns at once if the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_state(
    peer: Option<&nd_peer>,
    last: u32,
    timeout_ms: i64,
    now: Option<&mut MaybeUninit<u32>>,
) -> nd_code {
    call(|| {
        let (peer, now) = (&required(peer)?.0, required(now)?);
        let found =
            peer.wait_state_timeout(state_of(last)?, limit(timeout_ms)).ok_or_else(Failure::not_now)?;
        now.write(state_number(found));
        Ok(())
    })
}

/// Waits until the connection is established.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_connected(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::timeout_unless(required(peer)?.0.wait_connected_timeout(limit(timeout_ms))?))
}

/// Waits until the connection is over; ND_FAILED if it failed, with the reason in nd_error_text().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_wait_closed(peer: Option<&nd_peer>, timeout_ms: i64) -> nd_code {
    call(|| Failure::timeout_unless(required(peer)?.0.wait_closed_timeout(limit(timeout_ms))?))
}

/// Closes the connection and notifies the peer. Buffered data is lost: to have it delivered, close the
/// channels and wait until they are closed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_close(peer: Option<&nd_peer>) -> nd_code {
    call(|| {
        required(peer)?.0.close();
        Ok(())
    })
}

/// Returns statistics; ND_CLOSED once the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_get_stats(
    peer: Option<&nd_peer>,
    stats: Option<&mut MaybeUninit<nd_connection_stats>>,
) -> nd_code {
    call(|| {
        let found = required(peer)?.0.stats().ok_or_else(Failure::closed)?;
        required(stats)?.write(found.into());
        Ok(())
    })
}

/// Returns all statistics, by W3C's names; ND_CLOSED once the connection is over. The report is created by
/// this call; its cost grows with the number of candidates and channels.
///
/// Free `*report` with nd_report_free().
#[unsafe(no_mangle)]
pub extern "C" fn nd_peer_get_report(
    peer: Option<&nd_peer>,
    report: Option<&mut MaybeUninit<*mut nd_report>>,
) -> nd_code {
    call(|| {
        let (peer, to) = (&required(peer)?.0, required(report)?);
        let (report, stats) = peer.report().zip(peer.stats()).ok_or_else(Failure::closed)?;
        to.write(Box::into_raw(Box::new(nd_report::new(&report, &stats))));
        Ok(())
    })
}
