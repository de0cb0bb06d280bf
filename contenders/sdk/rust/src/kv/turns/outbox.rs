//! The send buffer of a turn: short pieces are joined, long ones are not copied.

use libc::iovec;

/// Space for copied pieces, and the share of one message.
const COPIED_BYTES: usize = 1 << 20;
const MESSAGE_BYTES: usize = 128 << 10;
/// Maximum number of pieces of all messages, and of one message; the kernel accepts 1,024.
const PIECES: usize = 4096;
const MESSAGE_PIECES: usize = 256;

/// The messages of a turn until the kernel has accepted them. A message is a list of pieces.
#[derive(Debug)]
pub struct Outbox {
    bytes: Box<[u8]>,
    used: usize,
    /// The offsets of the last message's bytes and pieces.
    message: usize,
    first: usize,
    /// Its capacity never changes, because the kernel holds addresses in it.
    pieces: Vec<iovec>,
}

impl Outbox {
    /// Creates an empty outbox for tests.
    pub fn for_tests() -> Self {
        Self::new()
    }

    pub(super) fn new() -> Self {
        let pieces = Vec::with_capacity(PIECES);
        Self { bytes: vec![0; COPIED_BYTES].into(), used: 0, message: 0, first: 0, pieces }
    }

    /// Whether this message has space for this number of bytes and for one lent piece.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.used - self.message + bytes <= MESSAGE_BYTES
            && self.pieces.len() - self.first + 2 <= MESSAGE_PIECES
    }

    /// Returns space for further bytes of the message, to be written at once. [`has_room`](Self::has_room) must be true.
    #[inline]
    pub fn space(&mut self, bytes: usize) -> &mut [u8] {
        let space = &mut self.bytes[self.used..self.used + bytes];
        let start = space.as_mut_ptr();
        self.used += bytes;
        match self.pieces[self.first..].last_mut() {
            Some(last) if last.iov_base.wrapping_byte_add(last.iov_len) == start.cast() => {
                last.iov_len += bytes
            }
            _ => self.pieces.push(iovec { iov_base: start.cast(), iov_len: bytes }),
        }
        space
    }

    /// Appends these bytes to the message without copying them.
    #[inline]
    pub fn lend(&mut self, bytes: &'static [u8]) {
        self.pieces.push(iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
    }

    /// Removes bytes from the beginning of the message that were already sent.
    pub fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let Some(piece) = self.pieces.get_mut(self.first) else { return };
            if bytes < piece.iov_len {
                piece.iov_base = piece.iov_base.wrapping_byte_add(bytes);
                piece.iov_len -= bytes;
                return;
            }
            bytes -= piece.iov_len;
            self.first += 1;
        }
    }

    /// Removes all messages, of which none is in progress.
    pub(super) fn clear(&mut self) {
        self.used = 0;
        self.pieces.clear();
        self.begin();
    }

    /// Starts the next message.
    pub(super) fn begin(&mut self) {
        self.message = self.used;
        self.first = self.pieces.len();
    }

    /// Whether there is space for another whole message.
    pub(super) fn holds_another(&self) -> bool {
        self.used + MESSAGE_BYTES <= COPIED_BYTES && self.pieces.len() + MESSAGE_PIECES <= PIECES
    }

    /// Returns the pieces of the message.
    #[inline]
    pub(super) fn message(&self) -> &[iovec] {
        &self.pieces[self.first..]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn collect(out: &Outbox) -> Vec<Vec<u8>> {
        // SAFETY: the pieces point into `out` and statics, and nothing writes to them meanwhile.
        let piece =
            |piece: &iovec| unsafe { std::slice::from_raw_parts(piece.iov_base.cast::<u8>(), piece.iov_len) };
        out.message().iter().map(|one| piece(one).to_vec()).collect()
    }

    #[test]
    fn copied_pieces_are_joined() {
        let mut out = Outbox::new();
        out.space(2).copy_from_slice(b"ab");
        out.begin();
        out.space(2).copy_from_slice(b"cd");
        out.space(1).copy_from_slice(b"e");
        out.lend(b"lent");
        out.space(1).copy_from_slice(b"f");
        assert_eq!(collect(&out), [b"cde".to_vec(), b"lent".to_vec(), b"f".to_vec()]);
    }

    #[test]
    fn sent_bytes_are_skipped() {
        let whole = b"abcLENTd";
        for sent in 0..=whole.len() {
            let mut out = Outbox::new();
            out.space(3).copy_from_slice(b"abc");
            out.lend(b"LENT");
            out.space(1).copy_from_slice(b"d");
            out.skip(sent);
            assert_eq!(collect(&out).concat(), whole[sent..], "{sent}");
        }
    }

    #[test]
    fn a_message_is_limited_by_the_space() {
        let mut out = Outbox::new();
        let mut messages = 0;
        while out.holds_another() {
            out.begin();
            while out.has_room(1000) {
                out.space(1000);
            }
            messages += 1;
        }
        assert_eq!(messages, 8);
        out.clear();
        while out.has_room(1) {
            out.lend(b"x");
        }
        assert_eq!(out.message().len(), MESSAGE_PIECES - 1);
    }
}
