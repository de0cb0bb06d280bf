//! Log events, with the feature `tracing`: what a connection did, and why it did not come up or went. Without the feature nothing is left of
//! them.
//!
//! They leave the core straight for the caller's subscriber, not by way of its own events: those are for programs, have a limit, and would have to carry
//! texts for people. None is made for each packet, and none says a password, a key or a message's content. Each names its connection: `session`, the number
//! in the `o=` line of our descriptions ([`session_id`](crate::PeerConnection::session_id)). Levels: WARN for what ended or may end a
//! connection, INFO for its states, DEBUG for what led there.

#[cfg(feature = "tracing")]
use std::net::IpAddr;

/// An event of a connection: level, session, and a text as for `format!`.
#[cfg(feature = "tracing")]
macro_rules! log {
    ($level:ident, $session:expr, $($text:tt)+) => {
        tracing::event!(target: "netdyno_rtc", tracing::Level::$level, session = $session, $($text)+)
    };
}

#[cfg(not(feature = "tracing"))]
macro_rules! log {
    ($level:ident, $session:expr, $($text:tt)+) => {
        if false {
            let _ = ($session, format_args!($($text)+));
        }
    };
}

pub(crate) use log;

/// Does what a library would log in more words than it should, at level TRACE. Where nobody listens to that it costs nothing.
pub(crate) fn in_silence<T>(act: impl FnOnce() -> T) -> T {
    use tracing::level_filters::LevelFilter;
    if LevelFilter::current() < LevelFilter::TRACE {
        return act();
    }
    tracing::dispatcher::with_default(&tracing::Dispatch::none(), act)
}

/// Characters of a line of a peer that are logged.
#[cfg(feature = "tracing")]
const LINE_CHARS_MAX: usize = 160;

/// Tells which candidates of a description, or of a trickled line, are taken, and which are not, and why.
#[cfg(feature = "tracing")]
pub(crate) fn candidates(session: u64, text: &str) {
    use crate::sdp::Candidate;
    for line in text.lines() {
        let line = line.strip_prefix("a=").unwrap_or(line).trim();
        if !line.starts_with("candidate:") {
            continue;
        }
        let shown: String = line.chars().take(LINE_CHARS_MAX).collect();
        match Candidate::parse(line) {
            Ok(Some(_)) => log!(DEBUG, session, "candidate taken: {shown:?}"),
            Ok(None) => log!(DEBUG, session, "candidate passed over, {}: {shown:?}", why_not(line)),
            Err(rule) => log!(DEBUG, session, "candidate refused, {rule}: {shown:?}"),
        }
    }
}

/// Why a well-formed line is none for us.
#[cfg(feature = "tracing")]
fn why_not(line: &str) -> &'static str {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (component, transport, address) = (words.next(), words.next(), words.nth(1));
    match (component, transport, address) {
        (Some(component), _, _) if component != "1" => "of another component",
        (_, Some(transport), _) if !transport.eq_ignore_ascii_case("udp") => "not by UDP",
        (_, _, Some(name)) if name.ends_with(".local") => {
            "a multicast DNS name: the peer is found by its own checks"
        }
        (_, _, Some(address)) if address.parse::<IpAddr>().is_err() => "a name or a zone, no address",
        _ => "of a kind unknown, or nothing can be sent there",
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn candidates(_: u64, _: &str) {}
