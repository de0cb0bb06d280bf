//! A browser that connects over TCP, as behind a firewall that blocks UDP: neither end receives UDP candidates.

use netdyno_rtc::{ChannelOptions, Settings};
use serde_json::{Value, json};

use crate::{Pair, WITH_ADDRESSES};

fn without_udp(description: &str) -> String {
    let is_udp =
        |line: &&str| line.starts_with("a=candidate:") && line.to_ascii_lowercase().contains(" udp ");
    description.lines().filter(|line| !is_udp(line)).map(|line| format!("{line}\r\n")).collect()
}

fn describe(pair: &mut Pair, restart: bool) {
    let text = |description: Value| without_udp(description.as_str().unwrap());
    if pair.we_offer {
        let offer = if restart { pair.peer.restart_ice() } else { pair.peer.create_offer() }.unwrap();
        assert!(offer.contains(" tcptype passive"), "{offer}");
        let answer = pair.browser.call("acceptOffer", json!(["peer", without_udp(&offer), false]));
        pair.peer.accept_answer(&text(answer)).unwrap();
    } else {
        let offer = pair.browser.call("offer", json!(["peer", false, restart]));
        let answer = pair.peer.accept_offer(&text(offer)).unwrap();
        pair.browser.call("acceptAnswer", json!(["peer", without_udp(&answer)]));
    }
}

#[test]
fn chromium_connects_by_tcp() {
    for we_offer in [false, true] {
        let mut settings = Settings::new().unwrap();
        settings.tcp_port = Some(0);
        let Some(mut pair) = Pair::of(we_offer, &[WITH_ADDRESSES], settings) else { return };
        pair.create("chat", ChannelOptions::default());
        describe(&mut pair, false);
        pair.open("chat");
        pair.exchange("chat");
        let before = pair.browser.call("selectedPair", json!(["peer"]));
        let ours = pair.peer.selected_pair().unwrap();
        assert_eq!((ours.local.protocol, ours.remote.protocol), ("tcp", "tcp"));
        assert_eq!(before["remote"], ours.local.socket_address().to_string());
        describe(&mut pair, true);
        crate::wait_for_another_pair(&mut pair, &before);
        pair.exchange("chat");
        assert_eq!(pair.peer.selected_pair().unwrap().local.protocol, "tcp");
    }
}
