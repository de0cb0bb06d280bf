//! Log events of the feature `tracing`: what a connection does, and why it failed or could not be
//! established. Without the feature they compile to nothing.
//!
//! They go directly to the caller's subscriber, separate from the core's own events, which are for programs
//! and limited in number. None is logged per packet, and none contains a password, a key or message content.
//! Each names its connection as `session`, the number in the `o=` line of our descriptions
//! ([`session_id`](crate::PeerConnection::session_id)). Levels: WARN for what ended or may end a connection,
//! INFO for state changes, DEBUG for their causes.

#[cfg(feature = "tracing")]
use std::net::IpAddr;

/// Logs an event of a connection: level, session, and a text as for `format!`.
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

/// Suppresses a library's log output, which exceeds what it should reveal, at level TRACE. Free of cost if no
/// subscriber listens at that level.
pub(crate) fn in_silence<T>(act: impl FnOnce() -> T) -> T {
    use tracing::level_filters::LevelFilter;
    if LevelFilter::current() < LevelFilter::TRACE {
        return act();
    }
    tracing::dispatcher::with_default(&tracing::Dispatch::none(), act)
}

/// Most characters logged of a peer's line.
#[cfg(feature = "tracing")]
const LINE_CHARS_MAX: usize = 160;

/// Logs which candidates of a description or trickled line are accepted, and why others are not.
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
            Ok(Some(_)) => log!(DEBUG, session, "candidate accepted: {shown:?}"),
            Ok(None) => log!(DEBUG, session, "candidate ignored, {}: {shown:?}", why_not(line)),
            Err(rule) => log!(DEBUG, session, "candidate rejected, {rule}: {shown:?}"),
        }
    }
}

/// Why a well-formed line is ignored.
#[cfg(feature = "tracing")]
fn why_not(line: &str) -> &'static str {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (component, transport, address) = (words.next(), words.next(), words.nth(1));
    match (component, transport, address) {
        (Some(component), _, _) if component != "1" => "different component",
        (_, Some(transport), _) if !transport.eq_ignore_ascii_case("udp") => "not UDP",
        (_, _, Some(name)) if name.ends_with(".local") => "mDNS name: the peer is found by its own checks",
        (_, _, Some(address)) if address.parse::<IpAddr>().is_err() => "name or zone instead of an address",
        _ => "unknown type, or an address that cannot be sent to",
    }
}

#[cfg(not(feature = "tracing"))]
pub(crate) fn candidates(_: u64, _: &str) {}
