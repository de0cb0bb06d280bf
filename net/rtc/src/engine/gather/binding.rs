//! The public address of a local address, as seen by one STUN server (RFC 8489, with the usage of RFC 8445,
//! section 5.1.1.1).
//!
//! STUN servers use no credentials, so a response is accepted by its source address and the 96 random bits of
//! its transaction id. An attacker who forges both can only make this endpoint offer a useless candidate.

use std::net::SocketAddr;
use std::time::Duration;

use crate::limits::GATHERING_TIME;
use turn_client_proto::stun::Instant;
use turn_client_proto::stun::agent::{StunAgent, StunAgentPollRet};
use turn_client_proto::stun::types::TransportType;
use turn_client_proto::stun::types::attribute::{ErrorCode, XorMappedAddress};
use turn_client_proto::stun::types::message::{BINDING, Message, MessageWriteVec};
use turn_client_proto::stun::types::prelude::*;

/// The interval of keep-alive requests, which preserve NAT bindings. RFC 8445, section 11, requires at least
/// 15 s; NATs keep UDP bindings for 30 s or more (RFC 4787, section 4.3, requires 120 s).
const KEPT_ALIVE: Duration = Duration::from_secs(15);
/// Delay of the next attempt after a server has not answered.
const TRIED_AGAIN: Duration = Duration::from_secs(60);

/// The library may ask to be called again at once.
const PAUSE: Duration = Duration::from_millis(1);

/// A server queried from one address.
#[derive(Debug)]
pub(super) struct Binding {
    base: SocketAddr,
    server: SocketAddr,
    agent: StunAgent,
    /// When to send a request; `None` while a response is awaited.
    asks_at: Option<Instant>,
    mapped: Option<SocketAddr>,
    /// When gathering no longer waits for a response, which may still arrive.
    settles_at: Option<Instant>,
    is_settled: bool,
    /// The reason of an answer without an address.
    refusal: Option<String>,
}

impl Binding {
    pub(super) fn new(base: SocketAddr, server: SocketAddr) -> Self {
        // Retransmission is that of RFC 8489, section 6.2.1: 500 ms, doubled, 7 requests, 39.5 s in all.
        let agent = StunAgent::builder(TransportType::Udp, base).remote_addr(server).build();
        Self {
            base,
            server,
            agent,
            asks_at: Some(Instant::ZERO),
            mapped: None,
            settles_at: None,
            is_settled: false,
            refusal: None,
        }
    }

    pub(super) fn base(&self) -> SocketAddr {
        self.base
    }

    pub(super) fn server(&self) -> SocketAddr {
        self.server
    }

    /// The address that the server sees.
    pub(super) fn mapped(&self) -> Option<SocketAddr> {
        self.mapped
    }

    /// Whether it has answered once, or not in time.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Why the server failed, once settled.
    pub(super) fn failure(&self) -> Option<&str> {
        let missing =
            "no answer within 10 s: check that a STUN server runs there and that UDP is not blocked";
        (self.is_settled && self.mapped.is_none()).then(|| self.refusal.as_deref().unwrap_or(missing))
    }

    /// Sends what is due. Returns the time of the next call.
    pub(super) fn work(&mut self, now: Instant, mut send: impl FnMut(&[u8])) -> Instant {
        let settles_at = *self.settles_at.get_or_insert(now + GATHERING_TIME);
        self.is_settled |= now >= settles_at;
        if self.asks_at.is_some_and(|at| at <= now) {
            let request = Message::builder_request(BINDING, MessageWriteVec::new()).finish();
            match self.agent.send_request(request, self.server, now) {
                Ok(transmit) => {
                    send(&transmit.data);
                    self.asks_at = None;
                }
                // Two transactions with the same id: the next has another one.
                Err(_) => self.asks_at = Some(now + KEPT_ALIVE),
            }
        }
        while let Some(transmit) = self.agent.poll_transmit(now) {
            send(transmit.data);
        }
        loop {
            match self.agent.poll(now) {
                StunAgentPollRet::WaitUntil(until) => {
                    let next = self.asks_at.unwrap_or(until);
                    let next = if self.is_settled { next } else { next.min(settles_at) };
                    return next.max(now + PAUSE);
                }
                StunAgentPollRet::TransactionTimedOut(_) | StunAgentPollRet::TransactionCancelled(_) => {
                    (self.asks_at, self.is_settled) = (Some(now + TRIED_AGAIN), true);
                }
            }
        }
    }

    /// Processes a possible response. Returns whether it was one.
    pub(super) fn take(&mut self, now: Instant, source: SocketAddr, datagram: &[u8]) -> bool {
        let Ok(message) = Message::from_bytes(datagram) else { return false };
        if !message.is_response() || !self.agent.handle_stun_message_with_time(&message, source, now) {
            return false;
        }
        (self.asks_at, self.is_settled) = (Some(now + KEPT_ALIVE), true);
        let mapped =
            message.attribute::<XorMappedAddress>().map(|mapped| mapped.addr(message.transaction_id()));
        let is_success = !message.has_class(turn_client_proto::stun::types::message::MessageClass::Error);
        match mapped.ok().filter(|mapped| is_success && mapped.is_ipv4() == self.base.is_ipv4()) {
            Some(mapped) => self.mapped = Some(mapped),
            None => self.refusal = Some(refusal(&message)),
        }
        true
    }
}

/// Describes an answer without an address.
fn refusal(message: &Message<'_>) -> String {
    match message.attribute::<ErrorCode>() {
        Ok(error) => {
            format!("the server answered with error {}: it may require turn: with credentials", error.code())
        }
        Err(_) => "the answer contains no address: check that this is a STUN server".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_server_settles_after_ten_seconds() {
        let server = "192.0.2.1:3478".parse().unwrap();
        let mut binding = Binding::new("192.0.2.9:5000".parse().unwrap(), server);
        let (mut now, mut asked) = (Instant::from_nanos(7), 0);
        let began = now;
        while now < began + GATHERING_TIME {
            assert_eq!((binding.is_settled(), binding.failure()), (false, None));
            now = binding.work(now, |_| asked += 1);
        }
        binding.work(now, |_| asked += 1);
        assert_eq!(now, began + GATHERING_TIME);
        assert!(binding.is_settled() && binding.failure().is_some_and(|why| why.contains("within 10 s")));
        // After 0, 0.5, 1.5, 3.5 and 7.5 s (RFC 8489, section 6.2.1).
        assert_eq!(asked, 5);
    }
}
