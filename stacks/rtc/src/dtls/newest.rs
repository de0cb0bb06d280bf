//! Whether a datagram is the peer's, told without taking it: for one that comes from where nobody knew the peer.

use super::{Dtls, State, split, unified};

impl Dtls {
    /// Whether the first record of a datagram is authentic and newer than all that have come. It is not taken by this. False until the
    /// handshake is done.
    #[cold]
    pub fn is_newest(&self, datagram: &[u8]) -> bool {
        let mut copy = datagram.to_vec();
        match &self.state {
            State::Connected(connection) => split(&mut copy)
                .is_some_and(|(header, record, _)| connection.protection.is_newest(header, record)),
            State::Connected13(session) => unified::split(&mut copy)
                .is_some_and(|(header, record, _)| session.protection.is_newest(header, record)),
            State::Handshake(_) | State::Over(_) => false,
        }
    }
}
