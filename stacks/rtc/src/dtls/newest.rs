//! Identifies the peer by a datagram from an unknown address, without processing the datagram.

use super::{Dtls, State, split, unified};

impl Dtls {
    /// Whether the first record of a datagram is authentic and newer than all received ones. Changes no
    /// state. False until the handshake is complete.
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
