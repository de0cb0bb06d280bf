//! Two peers of ours, each on a host of its own, and how they come to talk.

use std::time::Duration;

use netdyno_rtc::blocking::{Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, Settings};

use crate::bed::{Node, PUBLIC};

/// In what time they connect, on a machine on which many do at once.
const PATIENCE: Duration = Duration::from_secs(60);
const MESSAGE_BYTES: usize = 100_000;

/// One end.
struct End {
    peer: PeerConnection,
    host: Node,
    endpoint: Endpoint,
}

impl End {
    fn new(host: &Node, settings: &Settings) -> Self {
        let (peer, endpoint) = host.enter(|| {
            let endpoint = Endpoint::bind("0.0.0.0:0".parse().unwrap(), settings.clone()).unwrap();
            (PeerConnection::new(&endpoint).unwrap(), endpoint)
        });
        Self { peer, host: host.clone(), endpoint }
    }

    /// Does something with it where it is.
    fn does<T: Send>(&self, run: impl FnOnce(&PeerConnection) -> T + Send) -> T {
        self.host.enter(|| run(&self.peer))
    }
}

/// How two talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From address to address, as NATs show them.
    Direct,
    /// By way of the TURN server.
    Relayed,
    Not,
}

/// Connects two, has each send to the other, and looks at the wire.
pub(crate) fn connect(offerer: &Node, answerer: &Node, settings: &Settings) -> Way {
    let [one, other] = [offerer, answerer].map(|host| End::new(host, settings));
    let here = one.peer.create_channel("chat", ChannelOptions::default()).unwrap();
    let offer = one.does(|peer| peer.create_offer().unwrap());
    let answer = other.does(|peer| peer.accept_offer(&offer).unwrap());
    one.does(|peer| peer.accept_answer(&answer).unwrap());
    let Ok(true) = one.peer.wait_connected_timeout(PATIENCE) else { return Way::Not };
    let there = other.peer.accept_channel_timeout(PATIENCE).unwrap().unwrap();
    for (from, to, seed) in [(&here, &there, 1), (&there, &here, 2)] {
        let data: Vec<u8> = (0..MESSAGE_BYTES).map(|at| (at * 7 + seed) as u8).collect();
        assert!(from.send_timeout(&data, PATIENCE).unwrap());
        assert_eq!(to.recv_timeout(PATIENCE).unwrap().unwrap().data, data);
    }
    let is_direct = |end: &End| {
        let sent = end.host.sent(end.endpoint.local_address().port());
        sent.iter().any(|(to, bytes)| *to != PUBLIC[0] && *bytes > MESSAGE_BYTES as u64)
    };
    match [is_direct(&one), is_direct(&other)] {
        [true, true] => Way::Direct,
        [false, false] => Way::Relayed,
        mixed => panic!("a way there and another one back: {mixed:?}"),
    }
}
