//! A headless Chromium at one end and the blocking interface at the other, each side offering once.

#![allow(clippy::unwrap_used, missing_docs)]

mod browser;
#[path = "../support/mod.rs"]
mod support;
mod tcp;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use browser::Browser;
use netdyno_rtc::blocking::{DataChannel, Endpoint, PeerConnection};
use netdyno_rtc::core::DtlsVersions;
use netdyno_rtc::{ChannelOptions, Kind, PeerState, Reliability, Settings};
use serde_json::{Value, json};
use support::Relay;

/// The value of `a=max-message-size`, here and in Chromium.
const LARGEST: usize = 262_144;
const PATIENCE: Duration = Duration::from_secs(60);
/// Chromium hides its addresses behind mDNS names and does not answer for them on loopback, so its checks
/// reveal its address; for real links see `tests/nat/names.rs`.
const WITH_ADDRESSES: &str = "--disable-features=WebRtcHideLocalIpsWithMdns";

/// A connection to the page's peer connection "peer".
struct Pair {
    browser: Browser,
    peer: PeerConnection,
    channels: BTreeMap<String, DataChannel>,
    we_offer: bool,
    _endpoint: Endpoint,
}

/// FNV-1a, as in page.js.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
        .into()
}

fn bytes(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|index| (index * 7) as u8).map(|byte| byte.wrapping_add(seed)).collect()
}

impl Pair {
    /// Creates both ends, not connected yet.
    fn new(we_offer: bool, flags: &[&str]) -> Option<Self> {
        Self::with(we_offer, flags, DtlsVersions::Both)
    }

    fn with(we_offer: bool, flags: &[&str], versions: DtlsVersions) -> Option<Self> {
        let mut settings = Settings::new().unwrap();
        Arc::make_mut(&mut settings.peer).dtls_versions = versions;
        Self::of(we_offer, flags, settings)
    }

    fn of(we_offer: bool, flags: &[&str], settings: Settings) -> Option<Self> {
        let mut browser = Browser::start(flags)?;
        browser.call("create", json!(["peer"]));
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
        let peer = PeerConnection::new(&endpoint).unwrap();
        Some(Self { browser, peer, channels: BTreeMap::new(), we_offer, _endpoint: endpoint })
    }

    /// Exchanges offer and answer.
    fn describe(&mut self, restart: bool) {
        if self.we_offer {
            let offer = if restart { self.peer.restart_ice() } else { self.peer.create_offer() }.unwrap();
            let answer = self.browser.call("acceptOffer", json!(["peer", offer, false]));
            self.peer.accept_answer(answer.as_str().unwrap()).unwrap();
        } else {
            let offer = self.browser.call("offer", json!(["peer", false, restart]));
            let answer = self.peer.accept_offer(offer.as_str().unwrap()).unwrap();
            self.browser.call("acceptAnswer", json!(["peer", answer]));
        }
    }

    /// Creates a channel at the offering end; call [`open`](Self::open) to wait for it.
    fn create(&mut self, label: &str, options: ChannelOptions) {
        if self.we_offer {
            let channel = self.peer.create_channel(label, options).unwrap();
            self.channels.insert(label.to_owned(), channel);
        } else {
            let mut init = json!({ "ordered": options.ordered, "protocol": options.protocol });
            match options.reliability {
                Reliability::Reliable => {}
                Reliability::MaxRetransmits(count) => init["maxRetransmits"] = count.into(),
                Reliability::MaxLifetime(time) => {
                    init["maxPacketLifeTime"] = (time.as_millis() as u64).into()
                }
            }
            self.browser.call("createChannel", json!(["peer", label, init]));
        }
    }

    /// Waits until it is open at both ends; returns the page's view of it.
    fn open(&mut self, label: &str) -> Value {
        let seen = self.browser.expect(&[("type", json!("open")), ("label", json!(label))]);
        while !self.channels.contains_key(label) {
            let channel = self.peer.accept_channel().unwrap();
            self.channels.insert(channel.label().to_owned(), channel);
        }
        self.channels[label].wait_open().unwrap();
        seen
    }

    /// Sends a message and receives its echo.
    fn echo(&mut self, label: &str, kind: Kind, data: &[u8]) {
        let channel = self.channels[label].clone();
        channel.send_many(kind, &[data]).unwrap();
        let seen = self.browser.expect(&[("type", json!("message")), ("label", json!(label))]);
        assert_eq!(seen["length"], data.len(), "{label}");
        assert_eq!(seen["digest"], digest(data), "{label}");
        assert_eq!(seen["text"], kind == Kind::Text, "{label}");
        let back = channel.recv_timeout(PATIENCE).unwrap().expect("the echo");
        assert_eq!((back.kind, &back.data[..]), (kind, data), "{label}");
    }

    /// Messages of all kinds and sizes, from both ends.
    fn exchange(&mut self, label: &str) {
        for text in ["hello", "", "grüße, 世界, 🎛", &"long ".repeat(20_000)] {
            self.echo(label, Kind::Text, text.as_bytes());
        }
        for length in [0, 1, 1135, 1136, 65_535, 65_536, LARGEST] {
            self.echo(label, Kind::Binary, &bytes(length, 3));
        }
        self.browser.call("setEcho", json!(["peer", label, false]));
        let channel = self.channels[label].clone();
        for length in [0, 1, 5000, LARGEST] {
            self.browser.call("sendBytes", json!(["peer", label, length, 9]));
            let message = channel.recv_timeout(PATIENCE).unwrap().expect("a message");
            assert!(message.kind == Kind::Binary && message.data == bytes(length, 9), "{length}");
        }
        self.browser.call("setEcho", json!(["peer", label, true]));
    }
}

/// All checks with one browser, with the local side as offerer or as answerer.
fn everything(we_offer: bool, flags: &[&str]) {
    let Some(mut pair) = Pair::new(we_offer, flags) else { return };
    pair.create("chat", ChannelOptions { protocol: "proto".into(), ..ChannelOptions::default() });
    pair.describe(false);
    assert_eq!(pair.open("chat")["protocol"], "proto");
    println!("tlsVersion {:?}", pair.peer.stats().unwrap().tls_version);
    pair.exchange("chat");
    kinds_of_channels(&mut pair);
    negotiated(&mut pair);
    many(&mut pair);
    closing(&mut pair);

    // ICE restart while a channel is open.
    let before = pair.browser.call("selectedPair", json!(["peer"]));
    pair.describe(true);
    pair.echo("chat", Kind::Text, b"right after the restart");
    wait_for_another_pair(&mut pair, &before);
    pair.exchange("chat");

    // Closing.
    if we_offer {
        pair.peer.close();
        pair.browser.expect(&[("type", json!("close")), ("label", json!("chat"))]);
    } else {
        pair.browser.call("close", json!(["peer"]));
        // Whether everything was delivered is unknown.
        pair.channels["chat"].wait_closed().unwrap_err();
    }
}

fn kinds_of_channels(pair: &mut Pair) {
    // Long enough for every machine to deliver all messages.
    let lifetime = Reliability::MaxLifetime(Duration::from_secs(60));
    for (label, ordered, reliability, more) in [
        ("unordered", false, Reliability::Reliable, ("maxRetransmits", Value::Null)),
        ("lifetime", false, lifetime, ("maxPacketLifeTime", json!(60_000))),
        ("retransmits", true, Reliability::MaxRetransmits(2), ("maxRetransmits", json!(2))),
    ] {
        pair.create(label, ChannelOptions { ordered, reliability, ..ChannelOptions::default() });
        let seen = pair.open(label);
        assert_eq!((&seen["ordered"], &seen[more.0]), (&json!(ordered), &more.1), "{seen}");
        pair.exchange(label);
    }
}

fn negotiated(pair: &mut Pair) {
    let options = ChannelOptions { negotiated: Some(700), ..ChannelOptions::default() };
    let channel = pair.peer.create_channel("negotiated", options).unwrap();
    pair.channels.insert("negotiated".into(), channel);
    let init = json!({ "negotiated": true, "id": 700 });
    pair.browser.call("createChannel", json!(["peer", "negotiated", init]));
    assert_eq!(pair.open("negotiated")["id"], 700);
    pair.exchange("negotiated");
}

fn many(pair: &mut Pair) {
    let labels: Vec<String> = (0..100).map(|number| format!("many {number}")).collect();
    labels.iter().for_each(|label| pair.create(label, ChannelOptions::default()));
    for label in &labels {
        pair.open(label);
    }
    for label in &labels {
        pair.echo(label, Kind::Text, label.as_bytes());
    }
}

/// From either side; the id of a closed channel is reused.
fn closing(pair: &mut Pair) {
    let stream = pair.channels["many 0"].stream();
    pair.channels["many 0"].close();
    pair.browser.expect(&[("type", json!("close")), ("label", json!("many 0"))]);
    pair.channels["many 0"].wait_closed().unwrap();
    pair.browser.call("closeChannel", json!(["peer", "many 1"]));
    pair.channels["many 1"].wait_closed().unwrap();
    pair.browser.expect(&[("type", json!("close")), ("label", json!("many 1"))]);
    pair.create("again", ChannelOptions::default());
    pair.open("again");
    pair.exchange("again");
    println!("stream {stream:?} was closed; the next channel is on {:?}", pair.channels["again"].stream());
}

fn wait_for_another_pair(pair: &mut Pair, before: &Value) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while std::time::Instant::now() < deadline {
        if pair.browser.call("selectedPair", json!(["peer"]))["pair"] != before["pair"] {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the pair of candidates is the same after an ICE restart: {before}");
}

#[test]
fn chromium_offers() {
    everything(false, &[WITH_ADDRESSES]);
}

#[test]
fn chromium_answers() {
    everything(true, &[WITH_ADDRESSES]);
}

/// Chromium speaks DTLS 1.3 since about 2025; older versions and other browsers speak 1.2.
#[test]
fn chromium_offers_and_answers_with_dtls_1_2() {
    for we_offer in [false, true] {
        let Some(mut pair) = Pair::with(we_offer, &[WITH_ADDRESSES], DtlsVersions::Only12) else { return };
        pair.create("chat", ChannelOptions::default());
        pair.describe(false);
        pair.open("chat");
        assert_eq!(pair.peer.stats().unwrap().tls_version, Some("FEFD"));
        pair.exchange("chat");
    }
}

/// Both offer. First the page gives way, as W3C's setRemoteDescription does implicitly, then the local side.
#[test]
fn both_offer_at_once() {
    for we_are_polite in [false, true] {
        let Some(mut pair) = Pair::new(!we_are_polite, &[WITH_ADDRESSES]) else { return };
        pair.create("chat", ChannelOptions::default());
        for restart in [false, true] {
            let ours = if restart { pair.peer.restart_ice() } else { pair.peer.create_offer() }.unwrap();
            if !we_are_polite && !restart {
                // There must be something to offer.
                pair.browser.call("createChannel", json!(["peer", "theirs", {}]));
            }
            let theirs = pair.browser.call("offer", json!(["peer", false, restart]));
            if we_are_polite {
                assert!(pair.peer.accept_offer(theirs.as_str().unwrap()).is_err());
                pair.peer.rollback().unwrap();
                let answer = pair.peer.accept_offer(theirs.as_str().unwrap()).unwrap();
                pair.browser.call("acceptAnswer", json!(["peer", answer]));
            } else {
                let answer = pair.browser.call("acceptOffer", json!(["peer", ours, false]));
                pair.peer.accept_answer(answer.as_str().unwrap()).unwrap();
            }
            if !restart {
                pair.open("chat");
            }
            pair.exchange("chat");
        }
    }
}

/// Nothing gets through until both ends report failure; then either end restarts ICE.
#[test]
fn a_path_that_was_lost_for_long() {
    std::thread::scope(|scope| {
        scope.spawn(|| lost_for_long(false));
        scope.spawn(|| lost_for_long(true));
    });
}

fn lost_for_long(we_restart: bool) {
    let Some(mut browser) = Browser::start(&[WITH_ADDRESSES]) else { return };
    browser.call("create", json!(["peer"]));
    let mut settings = Settings::new().unwrap();
    Arc::make_mut(&mut settings.peer).consent_timeout = Duration::from_secs(15);
    let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), settings).unwrap();
    let port = endpoint.local_address().port();
    let relay = Relay::start();
    let peer = PeerConnection::new(&endpoint).unwrap();
    let channel = peer.create_channel("chat", ChannelOptions::default()).unwrap();
    let signal = |browser: &mut Browser, we_offer: bool, restart: bool| {
        if we_offer {
            let offer = if restart { peer.restart_ice() } else { peer.create_offer() }.unwrap();
            let offer = relay.describe(0, port, &offer);
            let answer = browser.call("acceptOffer", json!(["peer", offer, false]));
            peer.accept_answer(&relay.stands_in(1, answer.as_str().unwrap())).unwrap();
        } else {
            let offer = browser.call("offer", json!(["peer", false, restart]));
            let answer = peer.accept_offer(&relay.stands_in(1, offer.as_str().unwrap())).unwrap();
            browser.call("acceptAnswer", json!(["peer", relay.describe(0, port, &answer)]));
        }
    };
    signal(&mut browser, true, false);
    channel.send_text("before").unwrap();
    let recv = || channel.recv_timeout(PATIENCE).unwrap().expect("the echo").data;
    assert_eq!(recv(), "before");
    relay.cut(true);
    channel.send_text("into the gap").unwrap();
    browser.expect(&[("type", json!("state")), ("state", json!("failed"))]);
    let mut state = peer.state();
    while state != PeerState::Failed {
        state = peer.wait_state_timeout(state, PATIENCE).expect("it fails");
    }
    channel.send_text("while it has failed").unwrap();
    relay.cut(false);
    signal(&mut browser, we_restart, true);
    channel.send_text("after").unwrap();
    for text in ["into the gap", "while it has failed", "after"] {
        assert_eq!(recv(), text);
    }
}

/// Its candidates are mDNS names and it trickles: only its checks reveal its address.
#[test]
fn chromium_hides_its_addresses_and_trickles() {
    for we_offer in [false, true] {
        let Some(mut pair) = Pair::new(we_offer, &[]) else { return };
        pair.create("chat", ChannelOptions::default());
        if we_offer {
            let offer = pair.peer.create_offer().unwrap();
            let answer = pair.browser.call("acceptOffer", json!(["peer", offer, true]));
            pair.peer.accept_answer(answer.as_str().unwrap()).unwrap();
        } else {
            let offer = pair.browser.call("offer", json!(["peer", true, false]));
            let answer = pair.peer.accept_offer(offer.as_str().unwrap()).unwrap();
            pair.browser.call("acceptAnswer", json!(["peer", answer]));
        }
        loop {
            let event = pair.browser.expect(&[("type", json!("candidate"))]);
            let candidate = event["candidate"].as_str().unwrap();
            assert!(candidate.is_empty() || candidate.contains(".local"), "{candidate}");
            pair.peer.add_remote_candidate(candidate).unwrap();
            if candidate.is_empty() {
                break;
            }
        }
        pair.open("chat");
        pair.exchange("chat");
    }
}
