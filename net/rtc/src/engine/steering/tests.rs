//! Engines on a shared port, driven step by step.

use std::time::Duration;

use netdyno_rtc_core::{Kind, Message, PeerState};

use super::*;
use crate::engine::support::{Side, settings, signal, signal_from, until};
use crate::engine::{Connection, ConnectionId, Handler, Port};
use crate::switch::PortMember;

/// Reactors on a shared port.
struct Row(Vec<Side>);

impl Row {
    fn new(count: usize) -> Self {
        Self(PortMember::group(count).into_iter().map(|member| Side::at(settings(), Some(member))).collect())
    }

    /// One turn of each, without waiting; returns the number of received messages.
    fn turn(&mut self) -> usize {
        self.0.iter_mut().map(turn).sum()
    }
}

/// Counts messages.
struct Count(usize);

impl Handler for Count {
    fn on_event(&mut self, _: &mut Connection<'_>, _: netdyno_rtc_core::Event) {}
    fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {
        self.0 += 1;
    }
}

fn turn(side: &mut Side) -> usize {
    let mut count = Count(0);
    side.poller.wait(&mut side.events, Some(Duration::ZERO)).unwrap();
    side.engine.turn(&side.events, &mut count).unwrap();
    count.0
}

/// A new connection of the client, on its own port, with the reactor of this index; returns when both are
/// connected.
fn connect(client: &mut Side, row: &mut Row, reactor: usize) -> (ConnectionId, ConnectionId) {
    let (here, there) = signal_from(Port::Own, client, &mut row.0[reactor]);
    until(|| {
        turn(client);
        row.turn();
        client.state(here) == PeerState::Connected && row.0[reactor].state(there) == PeerState::Connected
    });
    (here, there)
}

/// Sends from the client and waits until it arrives.
fn ping(client: &mut Side, row: &mut Row, from: ConnectionId) {
    let mut connection = client.engine.connection(from).unwrap();
    connection.send(netdyno_rtc_core::ChannelId(0), Kind::Text, b"ping").unwrap();
    until(|| {
        turn(client);
        row.turn() > 0
    });
}

#[test]
fn frequent_hand_overs_get_a_connected_socket() {
    let (mut client, mut row) = (Side::new(settings()), Row::new(3));
    // Two of three connections arrive at the wrong reactor first, so one will be found.
    let mut straight = 0;
    let (here, there) = loop {
        let (here, there) = connect(&mut client, &mut row, 1);
        if row.0[1].engine.slots[there.index as usize].handed_over > 0 {
            break (here, there);
        }
        straight += 1;
    };
    let index = there.index as usize;
    until(|| {
        ping(&mut client, &mut row, here);
        row.0[1].engine.slots[index].steered.is_some()
    });
    for _ in 0..2 * STEERED_AFTER {
        ping(&mut client, &mut row, here);
    }
    let engine = &row.0[1].engine;
    assert!(engine.slots[index].handed_over < STEERED_AFTER / 2, "from now on it comes straight");
    assert_eq!((engine.steered, engine.slots.len()), (1, straight + 1));

    client.engine.connection(here).unwrap().close();
    until(|| {
        turn(&mut client);
        row.turn();
        row.0[1].engine.slots.len() == straight
    });
    assert_eq!(row.0[1].engine.steered, 0);
}

#[test]
fn without_free_sockets_everything_is_handed_over() {
    let (mut client, mut row) = (Side::new(settings()), Row::new(2));
    row.0.iter_mut().for_each(|side| side.engine.settings.steering_sockets = 1);
    // Each has half of a socket.
    for reactor in [0, 1, 0, 1] {
        let (here, _) = connect(&mut client, &mut row, reactor);
        for _ in 0..3 * STEERED_AFTER {
            ping(&mut client, &mut row, here);
        }
    }
    assert!(row.0.iter().all(|side| side.engine.steered == 0));
}

#[test]
fn the_peer_that_proves_a_path_owns_it_at_any_reactor() {
    for (first, second) in [(0, 1), (1, 0), (0, 1), (1, 0), (0, 1), (1, 0)] {
        let (mut client, mut row) = (Side::new(settings()), Row::new(2));
        let (here, there) = signal(&mut client, &mut row.0[first]);
        until(|| {
            turn(&mut client);
            row.turn();
            client.state(here) == PeerState::Connected && row.0[first].state(there) == PeerState::Connected
        });
        for _ in 0..2 * STEERED_AFTER {
            ping(&mut client, &mut row, here);
        }
        // A process restarted on its old port.
        let (again, other) = signal(&mut client, &mut row.0[second]);
        until(|| {
            turn(&mut client);
            row.turn();
            client.state(again) == PeerState::Connected && row.0[second].state(other) == PeerState::Connected
        });
        ping(&mut client, &mut row, again);
        until(|| {
            row.turn();
            row.0[first].engine.connection(there).is_none_or(|it| it.state() == PeerState::Failed)
        });
        assert_eq!(row.0[first].engine.steered, 0, "what was steered there is not any more");
    }
}

#[test]
fn a_reactor_that_leaves_does_not_affect_the_others() {
    let (mut client, mut row) = (Side::new(settings()), Row::new(3));
    let ids: Vec<_> = [0, 1, 2].map(|reactor| connect(&mut client, &mut row, reactor).0).into();
    row.0[2].engine.leave();
    for here in &ids[..2] {
        ping(&mut client, &mut row, *here);
    }
    for reactor in [0, 1, 0, 1] {
        let (here, _) = connect(&mut client, &mut row, reactor);
        ping(&mut client, &mut row, here);
    }
}

#[test]
fn datagrams_of_strangers_are_not_handed_over() {
    let mut row = Row::new(2);
    let address = row.0[0].address();
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    let answer = [&[1, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    for _ in 0..8 {
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for datagram in [&[22, 254, 253][..], &stun, &answer, b"\x00"] {
            stranger.send_to(datagram, address).unwrap();
        }
    }
    for _ in 0..20 {
        row.turn();
    }
    let members: Vec<_> = row.0.iter().map(|side| side.engine.routes.port_member().unwrap()).collect();
    assert!(members.iter().all(|member| member.collect().is_empty()));
}
