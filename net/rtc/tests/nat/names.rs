//! Chromium and the local side both hide their addresses behind mDNS names: one must resolve the other's,
//! because no check gets through before.

use std::net::Ipv4Addr;
use std::process::Command;
use std::time::Duration;

use netdyno_rtc::Settings;
use netdyno_rtc::blocking::{Endpoint, PeerConnection};
use serde_json::json;

use crate::bed::{self, Bed, Node, alone, feed};
use crate::browser::{self, Browser};
use crate::peers;

const PATIENCE: Duration = Duration::from_secs(60);
/// A host that admits only mDNS and replies to its own datagrams.
const GATE: &str = "table ip gate {
    chain in { type filter hook input priority filter; udp dport != 5353 ct state new drop; }
}\n";

fn nft(at: &Node, rules: &str) {
    at.enter(|| feed(Command::new("nft").args(["-f", "-"]), rules));
}

#[test]
fn chromium_and_we_find_each_other_by_names() {
    if let Err(reason) = browser::installed() {
        return bed::skip(&reason);
    }
    alone("names::chromium_and_we_find_each_other_by_names", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let [theirs, ours] = [(); 2].map(|()| bed.host(&public, &[]));
        let mut browser = theirs.enter(|| Browser::start(&[])).unwrap();
        // Whose address must be resolved by name, and who offers.
        for (hidden, we_offer) in [("theirs", false), ("theirs", true), ("ours", false), ("ours", true)] {
            let gated = if hidden == "theirs" { &ours } else { &theirs };
            nft(gated, GATE);
            let (peer, _endpoint) = ours.enter(|| {
                let mut settings = Settings::new().unwrap();
                settings.hide_addresses = hidden == "ours";
                let endpoint = Endpoint::bind((Ipv4Addr::UNSPECIFIED, 0).into(), settings).unwrap();
                (PeerConnection::new(&endpoint).unwrap(), endpoint)
            });
            let name = format!("{hidden} {we_offer}");
            browser.call("create", json!([name, {}]));
            let (ours_said, theirs_said, channel) = if we_offer {
                let channel = peer.create_channel("names", Default::default()).unwrap();
                let offer = peer.create_offer().unwrap();
                let answer = browser.call("acceptOffer", json!([name, offer, false]));
                peer.accept_answer(answer.as_str().unwrap()).unwrap();
                (offer, answer, channel)
            } else {
                browser.call("createChannel", json!([name, "names", {}]));
                let offer = browser.call("offer", json!([name, false, false]));
                let answer = peer.accept_offer(offer.as_str().unwrap()).unwrap();
                browser.call("acceptAnswer", json!([name, answer]));
                (answer, offer, peer.accept_channel_timeout(PATIENCE).unwrap().expect("a channel"))
            };
            let theirs_said = theirs_said.as_str().unwrap();
            assert!(
                theirs_said.contains(".local ") && !theirs_said.contains(&theirs.address.to_string()),
                "{theirs_said}"
            );
            let is_hidden = !ours_said.contains(&ours.address.to_string()) && ours_said.contains(".local ");
            assert_eq!(is_hidden, hidden == "ours", "{ours_said}");
            peers::carry(&channel, &channel, 1);
            println!("found by {hidden} name, we offer: {we_offer}");
            browser.call("close", json!([name]));
            nft(gated, "delete table ip gate\n");
        }
    });
}
