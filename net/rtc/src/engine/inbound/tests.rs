//! Engines on the loopback interface, driven step by step.

use netdyno_rtc_core::{Message, Transmit};

use super::*;
use crate::engine::support::{Side, connect, settings, signal, until};

#[test]
fn a_request_takes_no_path_from_a_connection_that_lives() {
    for is_lite in [false, true] {
        let mut settings_of_server = settings();
        let mut peer = (*settings_of_server.peer).clone();
        peer.ice_lite = is_lite;
        settings_of_server.peer = peer.into();
        let (mut client, mut server) = (Side::new(settings()), Side::new(settings_of_server));
        let path = (0, client.address());
        let (_, first) = connect(&mut client, &mut server);
        assert_eq!(server.engine.routes.by_path(path), Some(first.index));

        // Checks of another connection come from the same address, and the server's checks stay unanswered.
        let (_, second) = signal(&mut client, &mut server);
        let before = server.engine.connection(second).unwrap().stats().packets_received;
        client.turn();
        until(|| {
            server.turn();
            server.engine.connection(second).unwrap().stats().packets_received > before
        });
        assert_eq!(server.engine.routes.by_path(path), Some(first.index), "lite: {is_lite}");

        // A response to the server's check proves the path.
        until(|| {
            client.turn();
            server.turn();
            server.engine.routes.by_path(path) == Some(second.index)
        });
    }
}

#[test]
fn a_forged_answer_does_not_use_up_a_check() {
    let (mut client, mut server) = (Side::new(settings()), Side::new(settings()));
    let (here, _) = signal(&mut client, &mut server);
    client.turn();
    // The check is the last datagram sent.
    let (local, remote) = (client.address(), server.address());
    let transmit = Transmit { local, remote, length: 20, segment_bytes: 20 };
    let check = client.engine.arena.filled(&transmit).to_vec();
    let id = stun::request_transaction(&check).unwrap();
    let mut forged = check;
    forged[..4].copy_from_slice(&[1, 1, 0, 0]);
    assert_eq!(client.engine.connection_for((0, remote), &forged), None);
    assert_eq!(client.engine.routes.by_check(&id), Some((here.index, remote)));
    until(|| {
        server.turn();
        client.turn();
        client.state(here) == PeerState::Connected
    });
    assert_eq!(client.engine.routes.by_check(&id), None, "an answer counts once");
}

#[test]
fn a_full_socket_is_waited_for_once() {
    let (mut client, mut server) = (Side::new(settings()), Side::new(settings()));
    let (here, _) = connect(&mut client, &mut server);
    let (local, remote) = (client.address(), server.address());
    let transmit = Transmit { local, remote, length: 1, segment_bytes: 1 };
    client.engine.ports.block(0, transmit, vec![0]);
    for _ in 0..10 {
        client.engine.touch(here.index);
        client.turn();
    }
    assert_eq!(client.engine.ports.get(0).unwrap().stalled, [here.index]);
    // The closing datagram waits too, without busy polling.
    client.engine.connection(here).unwrap().close();
    until(|| client.turn() != Some(Duration::ZERO));
    assert_eq!(client.engine.ports.get(0).unwrap().stalled, [here.index]);
    assert_eq!(client.engine.len(), 1);

    client.poller.set_writable(&client.engine.ports.get(0).unwrap().socket, 0, true).unwrap();
    until(|| {
        client.turn();
        server.turn();
        client.engine.len() == 0 && server.engine.len() == 0
    });
}

#[test]
fn ends_do_not_pile_up_without_a_reader() {
    /// Counts reported ends of channels.
    struct Closed(usize);

    impl Handler for Closed {
        fn on_event(&mut self, _: &mut Connection<'_>, event: Event) {
            self.0 += usize::from(matches!(event, Event::ChannelClosed(_)));
        }
        fn on_message(&mut self, _: &mut Connection<'_>, _: Message) {}
    }

    let (mut client, mut server) = (Side::new(settings()), Side::new(settings()));
    let (here, there) = connect(&mut client, &mut server);
    let channel = netdyno_rtc_core::ChannelId(0);
    server.engine.connection(there).unwrap().set_reading(false);
    client.engine.connection(here).unwrap().send(channel, netdyno_rtc_core::Kind::Text, b"unread").unwrap();
    until(|| {
        client.turn();
        server.turn();
        server.engine.slots[there.index as usize].peer.has_message()
    });
    for _ in 0..50 {
        let mut connection = server.engine.connection(there).unwrap();
        let channel = connection.create_channel("short", Default::default()).unwrap();
        connection.close_channel(channel);
        client.turn();
        server.turn();
    }
    assert_eq!(server.engine.slots[there.index as usize].held.len(), 0, "they wait in the association");
    server.engine.connection(there).unwrap().set_reading(true);
    let mut closed = Closed(0);
    until(|| {
        client.turn();
        server.poller.wait(&mut server.events, Some(Duration::from_millis(1))).unwrap();
        server.engine.turn(&server.events, &mut closed).unwrap();
        closed.0 == 50
    });
}

#[test]
fn a_turn_receives_a_bounded_amount() {
    let mut side = Side::new(settings());
    let (stranger, address) = (std::net::UdpSocket::bind("127.0.0.1:0").unwrap(), side.address());
    for _ in 0..COST_PER_TURN * 3 / 2 {
        assert_eq!(stranger.send_to(b"noise", address).unwrap(), 5);
    }
    assert_eq!((side.turn(), side.engine.readable.len()), (Some(Duration::ZERO), 1));
    side.turn();
    assert!(side.engine.readable.is_empty());
    side.poller.wait(&mut side.events, Some(Duration::ZERO)).unwrap();
    assert!(side.events.is_empty(), "all was taken in the end");
}
