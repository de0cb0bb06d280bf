//! Handles that several threads use at the same time, as the header allows. The C programs in `tests/` cannot
//! be built with ThreadSanitizer together with a library in Rust; these tests can (`.ci/sanitize threads`).
#![allow(clippy::unwrap_used)]

use std::mem::MaybeUninit;
use std::sync::Barrier;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::memory::caller::{copied, data, handle, list, returned, text};
use crate::*;

/// Only a failing test waits this long.
const PATIENCE_MS: i64 = 60_000;
const SENDERS: u8 = 4;
const RECEIVERS: usize = 2;
const MESSAGES: u32 = 500;

struct Peer {
    peer: Box<nd_peer>,
    channel: Box<nd_channel>,
    _endpoint: Box<nd_endpoint>,
}

/// Two connected peers of this process.
fn pair() -> (Peer, Peer) {
    let bind = |to: &mut _| nd_endpoint_bind(text("127.0.0.1:0"), 11, None, Some(to));
    let (here, there) = (handle(bind), handle(bind));
    let peer = |endpoint| handle(|to| nd_peer_new(Some(endpoint), ND_PORT_SHARED, Some(to)));
    let (offerer, answerer) = (peer(&here), peer(&there));
    let channel = handle(|to| nd_peer_create_channel(Some(&offerer), text("chat"), 4, None, Some(to)));
    let offer = returned(|to, length| nd_peer_create_offer(Some(&offerer), 0, Some(to), Some(length)));
    let answer = returned(|to, length| {
        nd_peer_accept_offer(Some(&answerer), text(&offer), offer.len(), Some(to), Some(length))
    });
    assert_eq!(nd_peer_accept_answer(Some(&offerer), text(&answer), answer.len()), ND_OK);
    let accepted = handle(|to| nd_peer_accept_channel(Some(&answerer), PATIENCE_MS, Some(to)));
    assert_eq!(nd_channel_wait_open(Some(&channel), PATIENCE_MS), ND_OK);
    (
        Peer { peer: offerer, channel, _endpoint: here },
        Peer { peer: answerer, channel: accepted, _endpoint: there },
    )
}

/// Sends numbered messages that begin with the number of the sender.
fn send(channel: &nd_channel, sender: u8) {
    for number in 0..MESSAGES {
        let message = [&[sender][..], &number.to_be_bytes()].concat();
        let sent = nd_channel_send(Some(channel), ND_BINARY, data(&message), message.len(), PATIENCE_MS);
        assert_eq!(sent, ND_OK);
    }
}

/// Passes every message on, with the number of the end, until the channel is closed.
fn receive(end: usize, channel: &nd_channel, to: &Sender<(usize, Vec<u8>)>) {
    let mut inbox = nd_inbox::default();
    loop {
        match list(|messages, count| {
            nd_channel_recv(Some(channel), Some(&mut inbox), 16, PATIENCE_MS, Some(messages), Some(count))
        }) {
            Ok(messages) => messages
                .iter()
                .for_each(|message| to.send((end, copied(message.data.cast(), message.length))).unwrap()),
            Err(code) => return assert_eq!(code, ND_CLOSED),
        }
    }
}

/// Asks for what the other threads change.
fn ask(end: &Peer) {
    for _ in 0..MESSAGES {
        let (mut channel, mut connection) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        assert_eq!(nd_channel_get_stats(Some(&end.channel), Some(&mut channel)), ND_OK);
        assert_eq!(nd_peer_get_stats(Some(&end.peer), Some(&mut connection)), ND_OK);
        assert_eq!(nd_peer_state(Some(&end.peer)), ND_STATE_CONNECTED);
        nd_channel_buffered_amount(Some(&end.channel));
    }
}

#[test]
fn threads_share_a_channel() {
    let ends = pair();
    let ends = [&ends.0, &ends.1];
    let (to, from) = channel();
    let start = &Barrier::new(ends.len() * (usize::from(SENDERS) + RECEIVERS + 1));
    thread::scope(|scope| {
        let mut askers = Vec::new();
        for (number, end) in ends.into_iter().enumerate() {
            for sender in 0..SENDERS {
                scope.spawn(move || {
                    start.wait();
                    send(&end.channel, sender);
                });
            }
            for _ in 0..RECEIVERS {
                let to = to.clone();
                scope.spawn(move || {
                    start.wait();
                    receive(number, &end.channel, &to);
                });
            }
            askers.push(scope.spawn(move || {
                start.wait();
                ask(end);
            }));
        }
        drop(to);
        let all = ends.len() * usize::from(SENDERS) * MESSAGES as usize;
        let mut messages: Vec<_> = from.iter().take(all).collect();
        askers.into_iter().for_each(|asker| asker.join().unwrap());
        assert_eq!(nd_channel_close(Some(&ends[0].channel)), ND_OK);
        // Every message arrived once, at each end.
        messages.sort();
        messages.dedup();
        assert_eq!(messages.len(), all);
        assert_eq!(from.iter().count(), 0);
    });
}
