//! DTLS 1.3 (RFC 9147): what is not `dimpl`'s.
//!
//! | module | what |
//! |---|---|
//! | [`record`] | the unified header, sequence numbers cut short, padding |
//! | [`schedule`] | traffic secrets, and the keys that follow from them |
//! | [`protection`] | sealing and opening in place, with the sequence number masked |
//! | [`secrets`] | the secrets that are taken from `dimpl` |
//! | [`provider`] | the suites that it is given, whose keys must follow from those |
//! | [`handshake`] | what `dimpl` may see of protected records, what of its own may leave |
//! | [`flight`] | messages that are said again until they are acknowledged |
//! | [`session`] | the life after: data, ACKs, key updates, tickets, alerts |

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
