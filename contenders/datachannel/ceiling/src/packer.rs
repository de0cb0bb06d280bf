//! Encoding of messages as frames: several small messages per datagram, or one large message over several datagrams.

use netdyno_contender::datachannel::Source;

use crate::wire::{CAPACITY_BYTES, FRAME_HEADER_BYTES, NUMBER_BYTES, TAG_BYTES, kind, write_frame_header};

/// Length of every datagram for messages of this length: full if messages are fragmented, otherwise as many messages as fit.
pub fn stride(message_bytes: usize) -> usize {
    let frame = FRAME_HEADER_BYTES + message_bytes;
    let frames = if frame > CAPACITY_BYTES { CAPACITY_BYTES } else { CAPACITY_BYTES / frame * frame };
    NUMBER_BYTES + frames + TAG_BYTES
}

/// The messages of one connection as frames.
pub struct Packer {
    source: Source,
    /// A message that is being fragmented, and its sent length.
    cut: Vec<u8>,
    gone: usize,
}

impl Packer {
    /// Creates the packer for the messages of `source`.
    pub fn new(source: Source) -> Self {
        Self { source, cut: Vec::new(), gone: 0 }
    }

    /// Whether the next frame belongs to the `verify` phase.
    pub fn verifying(&self) -> bool {
        self.source.verifying()
    }

    /// Fills `frames` while `go_on` allows another frame; the rest is padding. Returns false without any frame.
    pub fn pack(&mut self, frames: &mut [u8], go_on: impl Fn(&Self) -> bool) -> bool {
        let mut at = 0;
        while go_on(self) {
            let written = self.frame(&mut frames[at..]);
            if written == 0 {
                break;
            }
            at += written;
        }
        frames[at..].fill(0);
        at > 0
    }

    /// Writes one frame and returns its length, or 0 if it does not fit into this datagram.
    fn frame(&mut self, out: &mut [u8]) -> usize {
        let Some(room) = out.len().checked_sub(FRAME_HEADER_BYTES + 1).map(|spare| spare + 1) else {
            return 0;
        };
        if self.cut.is_empty() {
            let message = self.source.next_message();
            if FRAME_HEADER_BYTES + message.len() <= CAPACITY_BYTES {
                if message.len() > room {
                    return 0;
                }
                let end = FRAME_HEADER_BYTES + message.len();
                write_frame_header(out, kind::LAST, message.len());
                out[FRAME_HEADER_BYTES..end].copy_from_slice(message);
                self.source.sent();
                return end;
            }
            self.cut.extend_from_slice(message);
        }
        self.fragment(out, room)
    }

    fn fragment(&mut self, out: &mut [u8], room: usize) -> usize {
        let left = &self.cut[self.gone..];
        let length = left.len().min(room);
        let last = length == left.len();
        write_frame_header(out, if last { kind::LAST } else { kind::PART }, length);
        out[FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length].copy_from_slice(&left[..length]);
        self.gone += length;
        if last {
            self.cut.clear();
            self.gone = 0;
            self.source.sent();
        }
        FRAME_HEADER_BYTES + length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::MAX_DATAGRAM_BYTES;

    #[test]
    fn a_stride_contains_whole_messages_or_is_full() {
        let overhead = NUMBER_BYTES + TAG_BYTES;
        for (message, wanted) in [
            (16, overhead + 58 * 20),
            (64, overhead + 17 * 68),
            (1024, overhead + 1028),
            (1172, MAX_DATAGRAM_BYTES),
            (1173, MAX_DATAGRAM_BYTES),
            (262_144, MAX_DATAGRAM_BYTES),
        ] {
            assert_eq!(stride(message), wanted, "{message}");
        }
    }
}
