//! DTLS 1.3 (RFC 9147), apart from the part of `dimpl`.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | the unified header, truncated sequence numbers, padding |
//! | [`schedule`] | traffic secrets, and the keys derived from them |
//! | [`protection`] | in-place encryption and decryption, with masked sequence numbers |
//! | [`secrets`] | the secrets recorded from `dimpl` |
//! | [`provider`] | the suites passed to `dimpl`, whose keys must be derived from those secrets |
//! | [`handshake`] | filters the protected records to and from `dimpl` |
//! | [`flight`] | retransmission until messages are acknowledged |
//! | [`session`] | the established connection: data, ACKs, key updates, tickets, alerts |

pub(super) mod flight;
pub(super) mod handshake;
pub(super) mod protection;
pub(super) mod provider;
pub(super) mod record;
pub(super) mod schedule;
pub(super) mod secrets;
pub(super) mod session;

/// The epoch of handshake messages after ServerHello (RFC 9147 section 6.1).
pub(super) const HANDSHAKE_EPOCH: u64 = 2;
/// The first epoch of application data.
pub(super) const APPLICATION_EPOCH: u64 = 3;
