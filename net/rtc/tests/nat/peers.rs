//! Peers on separate hosts, and how they connect.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::{ChannelOptions, Settings};

use crate::bed::{Node, PUBLIC};
use crate::coturn;

/// The time limit to connect, on a machine that runs many peers.
const PATIENCE: Duration = Duration::from_secs(60);
pub(crate) const MESSAGE_BYTES: usize = 65_536;

/// One peer, configured with coturn.
pub(crate) struct End {
    peer: PeerConnection,
    host: Node,
    endpoint: Endpoint,
}

impl End {
    pub(crate) fn new(host: &Node) -> Self {
        let mut settings = Settings::new().unwrap();
        settings.ice_servers = coturn::servers();
        Self::with(host, settings)
    }

    pub(crate) fn with(host: &Node, settings: Settings) -> Self {
        let (peer, endpoint) = host.enter(|| {
            let endpoint = Endpoint::bind((Ipv4Addr::UNSPECIFIED, 0).into(), settings).unwrap();
            let peer = PeerConnection::new(&endpoint).unwrap();
            assert!(peer.wait_gathered(PATIENCE), "no answer of the servers");
            (peer, endpoint)
        });
        Self { peer, host: host.clone(), endpoint }
    }

    /// Runs a closure on its host.
    pub(crate) fn does<T: Send>(&self, run: impl FnOnce(&PeerConnection) -> T + Send) -> T {
        self.host.enter(|| run(&self.peer))
    }

    pub(crate) fn create_channel(&self) -> DataChannel {
        self.peer.create_channel("bulk", ChannelOptions::default()).unwrap()
    }

    /// The channel that the other end creates; `None` if they do not connect.
    pub(crate) fn accept_channel(&self) -> Option<DataChannel> {
        let is_connected = self.peer.wait_connected_timeout(PATIENCE).is_ok_and(|in_time| in_time);
        is_connected.then(|| self.peer.accept_channel_timeout(PATIENCE).unwrap().unwrap())
    }

    /// Runs a closure and returns through which path this many bytes have left the host meanwhile, as the
    /// host counted.
    pub(crate) fn way(&self, bytes: usize, run: impl FnOnce()) -> Way {
        let elsewhere = || {
            let sent = self.host.sent(self.endpoint.local_address().port());
            sent.iter().filter(|(to, _)| *to != PUBLIC[0]).map(|(_, count)| count).sum::<u64>()
        };
        let before = elsewhere();
        run();
        if elsewhere() - before >= bytes as u64 { Way::Direct } else { Way::Relayed }
    }
}

/// Describes the connection if the test fails.
impl Drop for End {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("{:?}\n{:?}\n{:#?}", self.peer.state(), self.peer.selected_pair(), self.peer.stats());
        }
    }
}

/// How two peers communicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Directly, from address to address, as NATs show them.
    Direct,
    /// Through the TURN server.
    Relayed,
    Not,
}

/// Connects two peers; `None` if that fails.
pub(crate) fn connect(offerer: &Node, answerer: &Node) -> Option<([End; 2], [DataChannel; 2])> {
    between([offerer, answerer].map(End::new))
}

/// The same for existing peers.
pub(crate) fn between([one, other]: [End; 2]) -> Option<([End; 2], [DataChannel; 2])> {
    let here = one.create_channel();
    let offer = one.does(|peer| peer.create_offer().unwrap());
    let answer = other.does(|peer| peer.accept_offer(&offer).unwrap());
    one.does(|peer| peer.accept_answer(&answer).unwrap());
    let there = other.accept_channel()?;
    Some(([one, other], [here, there]))
}

/// Connects two peers, sends in both directions and inspects the traffic. The first path may not be final: it
/// is checked until both use the expected one.
pub(crate) fn way(offerer: &Node, answerer: &Node, expected: Way) -> Way {
    let Some(([one, other], [here, there])) = connect(offerer, answerer) else { return Way::Not };
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ways = [
            one.way(MESSAGE_BYTES, || carry(&here, &there, 1)),
            other.way(MESSAGE_BYTES, || carry(&there, &here, 1)),
        ];
        if ways == [expected; 2] {
            return expected;
        }
        if Instant::now() > deadline {
            println!("{} to {}: {ways:?}", offerer.address, answerer.address);
            return if expected == Way::Direct { Way::Relayed } else { Way::Direct };
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends this many messages from one to the other and verifies them.
pub(crate) fn carry(from: &DataChannel, to: &DataChannel, messages: usize) {
    let data = |number: usize| -> Vec<u8> {
        (0..MESSAGE_BYTES).map(|at| (at * 7 + at / 256 + number) as u8).collect()
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..messages {
                assert!(from.send_timeout(&data(number), PATIENCE).unwrap());
            }
        });
        for number in 0..messages {
            let message = to.recv_timeout(PATIENCE).unwrap().expect("a message");
            assert!(message.data == data(number), "message {number} is another one");
        }
    });
}
