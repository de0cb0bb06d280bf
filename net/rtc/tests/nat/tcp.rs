//! Connections out of a network that blocks UDP.

use netdyno_rtc::Settings;
use serde_json::json;

use crate::bed::{self, Bed, Nat, alone};
use crate::browser::{self, Browser};
use crate::coturn;
use crate::peers::{self, End};
use crate::{BULK_MESSAGES, probe};

/// A local peer over TCP to coturn, and from there to a peer behind a symmetric NAT.
#[test]
fn by_a_turn_server() {
    alone("tcp::by_a_turn_server", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        probe::serve(&bed);
        let _coturn = coturn::start(&bed);
        let [here, there] = [Nat::NoUdp, Nat::Symmetric].map(|nat| bed.host(&public, &[nat]));
        assert_eq!(probe::behaviour(&here), None, "no UDP gets out");
        for we_offer in [false, true] {
            let mut settings = Settings::new().unwrap();
            settings.ice_servers = vec![coturn::server_by_tcp()];
            let mut ends = [End::with(&here, settings), End::new(&there)];
            if !we_offer {
                ends.reverse();
            }
            let (_ends, [here, there]) = peers::between(ends).expect("they connect");
            peers::carry(&here, &there, BULK_MESSAGES);
            peers::carry(&there, &here, BULK_MESSAGES);
        }
    });
}

/// Without a TURN server: a browser connects to the endpoint over TCP.
#[test]
fn chromium_by_a_port_of_ours() {
    if let Err(reason) = browser::installed() {
        return bed::skip(&reason);
    }
    alone("tcp::chromium_by_a_port_of_ours", || {
        let mut bed = Bed::new();
        let public = bed.public.clone();
        let nat = bed.nat(&public, Nat::NoUdp);
        let [theirs, ours] = [&nat, &public].map(|at| bed.host(at, &[]));
        let mut browser = theirs.enter(|| Browser::start(&[])).unwrap();
        let mut settings = Settings::new().unwrap();
        settings.tcp_port = Some(443);
        let end = End::with(&ours, settings);
        browser.call("create", json!(["offers", {}]));
        browser.call("createChannel", json!(["offers", "bulk", {}]));
        let offer = browser.call("offer", json!(["offers", false, false]));
        let answer = end.does(|peer| peer.accept_offer(offer.as_str().unwrap()).unwrap());
        assert!(answer.contains(" tcp ") && answer.contains(" 443 typ host tcptype passive"), "{answer}");
        browser.call("acceptAnswer", json!(["offers", answer]));
        let channel = end.accept_channel().expect("a channel");
        // Messages are echoed.
        peers::carry(&channel, &channel, BULK_MESSAGES);
        let pair = end.does(|peer| peer.selected_pair()).unwrap();
        assert_eq!((pair.local.protocol, pair.local.port), ("tcp", 443));
        assert_eq!(pair.remote.address, std::net::IpAddr::V4(nat.address));
    });
}
