//! A C program and a headless Chromium, each side offering once.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../../net/rtc/tests/chromium/browser.rs"]
mod browser;
mod support;

use browser::Browser;
use serde_json::{Value, json};
use support::{Library, NO_BYTES, Program, bytes, compile, digest, folder, sanitizers};

/// Otherwise Chromium hides its addresses behind mDNS names.
const WITH_ADDRESSES: &str = "--disable-features=WebRtcHideLocalIpsWithMdns";

/// The next message received by the page is this one.
fn expect(browser: &mut Browser, text: bool, data: &[u8]) {
    let seen = browser.expect(&[("type", json!("message")), ("label", json!("chat"))]);
    let expected = (json!(text), json!(data.len()), json!(digest(NO_BYTES, data)));
    assert_eq!(
        (&seen["text"], &seen["length"], &seen["digest"]),
        (&expected.0, &expected.1, &expected.2),
        "{seen}"
    );
}

fn sdp(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// 10 MB each way, in the longest messages that both accept; then the C program closes the channel.
fn everything(c_offers: bool) {
    let Some(mut browser) = Browser::start(&[WITH_ADDRESSES]) else { return };
    let source = folder().join("tests/peer.c");
    let who = if c_offers { "offer" } else { "answer" };
    let mut program = Program::start(compile(&source, Library::Static, sanitizers()), &[who]);
    browser.call("create", json!(["peer"]));
    if c_offers {
        let answer = browser.call("acceptOffer", json!(["peer", program.get(), false]));
        program.put(sdp(&answer));
    } else {
        browser.call("createChannel", json!(["peer", "chat", {}]));
        let offer = browser.call("offer", json!(["peer", false, false]));
        program.put(sdp(&offer));
        browser.call("acceptAnswer", json!(["peer", program.get()]));
    }
    browser.expect(&[("type", json!("open")), ("label", json!("chat"))]);
    browser.call("setEcho", json!(["peer", "chat", false]));
    let (mut asked, mut asked_bytes) = (0, 0);
    let mut ask = |browser: &mut Browser, command: &str| {
        (asked, asked_bytes) = (asked + 1, asked_bytes + command.len());
        browser.call("sendText", json!(["peer", "chat", command]));
    };

    let (length, count) = (262_144, 40);
    ask(&mut browser, &format!("take {}", length * count));
    let mut hash = NO_BYTES;
    for number in 0..count {
        browser.call("sendBytes", json!(["peer", "chat", length, number]));
        hash = digest(hash, &bytes(length, number));
    }
    expect(&mut browser, true, format!("took {} {hash}", length * count).as_bytes());

    ask(&mut browser, &format!("give {count} {length}"));
    (0..count).for_each(|number| expect(&mut browser, false, &bytes(length, number)));

    ask(&mut browser, "stats");
    let message = program.get();
    ask(&mut browser, "close");
    let (messages, all_bytes) = (asked - 1 + count, asked_bytes - "close".len() + length * count);
    assert!(message.ends_with(&format!(" {messages} {all_bytes}")), "{message}");
    browser.expect(&[("type", json!("close")), ("label", json!("chat"))]);
    assert_eq!(program.get(), "closed");
    program.ends();
}

#[test]
fn chromium_offers_to_a_program_in_c() {
    everything(false);
}

#[test]
fn chromium_answers_a_program_in_c() {
    everything(true);
}
