//! The last flight of a DTLS 1.2 server.

use super::engine::{FINISHED_BYTES, sealed};
use super::protection::Protection;
use super::record::{content, plain};

/// The flight that a server repeats when the client repeats its Finished, because the answer was lost. The
/// first application data proves that it was not (RFC 6347 section 4.2.4). A client never sends the last
/// flight.
pub(super) struct LastFlight {
    pub(super) finished: [u8; FINISHED_BYTES],
    pub(super) next_plain_sequence: u64,
}

impl LastFlight {
    /// ChangeCipherSpec and Finished, with new record numbers.
    pub(super) fn datagram(&mut self, protection: &mut Protection) -> Vec<u8> {
        let mut datagram = plain(content::CHANGE_CIPHER_SPEC, self.next_plain_sequence, &[1]);
        self.next_plain_sequence += 1;
        datagram.extend(sealed(protection, content::HANDSHAKE, &self.finished));
        datagram
    }
}
