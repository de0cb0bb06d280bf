//! Two peers of ours, each on a host of its own, and what becomes of their connection.

use std::time::Duration;

use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, Settings};

use crate::bed::Node;

/// In what time they connect, on a machine on which many do at once.
const PATIENCE: Duration = Duration::from_secs(60);
const MESSAGE_BYTES: usize = 100_000;

/// One end.
pub(crate) struct End {
    pub(crate) peer: PeerConnection,
    host: Node,
    _endpoint: Endpoint,
}

impl End {
    pub(crate) fn new(host: &Node, settings: &Settings) -> Self {
        let (peer, endpoint) = host.enter(|| {
            let endpoint = Endpoint::bind("0.0.0.0:0".parse().unwrap(), settings.clone()).unwrap();
            (PeerConnection::new(&endpoint).unwrap(), endpoint)
        });
        Self { peer, host: host.clone(), _endpoint: endpoint }
    }

    /// Does something with it where it is.
    pub(crate) fn does<T: Send>(&self, run: impl FnOnce(&PeerConnection) -> T + Send) -> T {
        self.host.enter(|| run(&self.peer))
    }
}

/// Two that know of each other.
pub(crate) struct Pair {
    pub(crate) ends: [End; 2],
    channel: DataChannel,
}

impl Pair {
    pub(crate) fn new(offerer: &Node, answerer: &Node, settings: &Settings) -> Self {
        let ends = [offerer, answerer].map(|host| End::new(host, settings));
        let channel = ends[0].peer.create_channel("chat", ChannelOptions::default()).unwrap();
        let offer = ends[0].does(|peer| peer.create_offer().unwrap());
        let answer = ends[1].does(|peer| peer.accept_offer(&offer).unwrap());
        ends[0].does(|peer| peer.accept_answer(&answer).unwrap());
        Self { ends, channel }
    }

    /// Whether they connect, and what each sends arrives as it was.
    pub(crate) fn talks(&self) -> bool {
        let Ok(true) = self.ends[0].peer.wait_connected_timeout(PATIENCE) else { return false };
        let there = self.ends[1].peer.accept_channel_timeout(PATIENCE).unwrap().unwrap();
        for (from, to, seed) in [(&self.channel, &there, 1), (&there, &self.channel, 2)] {
            let data: Vec<u8> = (0..MESSAGE_BYTES).map(|at| (at * 7 + seed) as u8).collect();
            assert!(from.send_timeout(&data, PATIENCE).unwrap());
            assert_eq!(to.recv_timeout(PATIENCE).unwrap().unwrap().data, data);
        }
        true
    }
}
