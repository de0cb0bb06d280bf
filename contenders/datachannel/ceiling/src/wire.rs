//! The datagram: a packet number, frames encrypted with AES-128-GCM, and a tag.
//!
//! ```text
//!  0               8                                            stride - 16
//!  | number u64    | frame | frame | ... | zero padding         | tag     |
//!
//!  frame: | kind u8 | length u24 | payload ... |                 (big endian)
//! ```

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest::{SHA256, digest};

/// Maximum length of a datagram: the value that WebRTC stacks use without path MTU discovery.
pub const MAX_DATAGRAM_BYTES: usize = 1200;
/// Bytes in front of the sealed part.
pub const NUMBER_BYTES: usize = 8;
/// Bytes of the authentication tag.
pub const TAG_BYTES: usize = 16;
/// Bytes of frames that fit in the largest datagram.
pub const CAPACITY_BYTES: usize = MAX_DATAGRAM_BYTES - NUMBER_BYTES - TAG_BYTES;
/// Bytes in front of a frame's payload.
pub const FRAME_HEADER_BYTES: usize = 4;

/// Types of frames. Zero is padding: the rest of the datagram is empty.
pub mod kind {
    /// A fragment of a message, with more to come.
    pub const PART: u8 = 1;
    /// A whole message, or its last fragment.
    pub const LAST: u8 = 2;
    /// The number of datagrams that the receiver has received: u64.
    pub const CREDIT: u8 = 3;
}

/// The sender of a datagram. Both directions use one key, so the nonces must differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The role that sends the messages.
    Offerer = 0,
    /// The role that counts them.
    Answerer = 1,
}

/// Encrypts and decrypts the datagrams of all connections of a trial.
pub struct Cipher(LessSafeKey);

impl Cipher {
    /// Derives the key of both roles from the seed, instead of a handshake.
    pub fn new(seed: u64) -> Result<Self, String> {
        let hash = digest(&SHA256, &[b"netdyno ceiling".as_slice(), &seed.to_be_bytes()].concat());
        let key = UnboundKey::new(&AES_128_GCM, &hash.as_ref()[..AES_128_GCM.key_len()]);
        Ok(Self(LessSafeKey::new(key.map_err(|_| "AES-128-GCM rejected its key")?)))
    }

    /// Encrypts a datagram in place. Its frames are between number and tag.
    pub fn seal(&self, datagram: &mut [u8], stream: u32, side: Side, number: u64) -> Result<(), String> {
        let (head, rest) = datagram.split_at_mut(NUMBER_BYTES);
        head.copy_from_slice(&number.to_be_bytes());
        let (frames, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let sealed =
            self.0.seal_in_place_separate_tag(nonce(stream, side, number), Aad::from(&*head), frames);
        tag.copy_from_slice(sealed.map_err(|_| "sealing failed")?.as_ref());
        Ok(())
    }

    /// Decrypts a datagram of `side`. Returns its number and frames.
    pub fn open<'a>(
        &self,
        datagram: &'a mut [u8],
        stream: u32,
        side: Side,
    ) -> Result<(u64, Frames<'a>), String> {
        let (head, rest) = datagram.split_first_chunk_mut::<NUMBER_BYTES>().ok_or("datagram too short")?;
        let number = u64::from_be_bytes(*head);
        let opened = self.0.open_in_place(nonce(stream, side, number), Aad::from(&*head), rest);
        Ok((number, Frames(opened.map_err(|_| "cannot decrypt a datagram")?)))
    }
}

fn nonce(stream: u32, side: Side, number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&(stream << 1 | side as u32).to_be_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Writes a frame's header, in front of its payload.
pub fn write_frame_header(out: &mut [u8], kind: u8, length: usize) {
    out[..FRAME_HEADER_BYTES].copy_from_slice(&(u32::from(kind) << 24 | length as u32).to_be_bytes());
}

/// An iterator over the frames of a decrypted datagram.
pub struct Frames<'a>(&'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = Result<(u8, &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.0.split_first_chunk::<FRAME_HEADER_BYTES>()?;
        let header = u32::from_be_bytes(*header);
        let (kind, length) = ((header >> 24) as u8, (header & 0xff_ffff) as usize);
        if kind == 0 {
            return None;
        }
        let Some((payload, rest)) = rest.split_at_checked(length) else {
            self.0 = &[];
            return Some(Err("a frame is longer than its datagram".to_owned()));
        };
        self.0 = rest;
        Some(Ok((kind, payload)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_datagrams_are_decrypted() {
        let cipher = Cipher::new(1).unwrap();
        let mut datagram = vec![0; 64];
        write_frame_header(&mut datagram[NUMBER_BYTES..], kind::LAST, 5);
        datagram[12..17].copy_from_slice(b"hello");
        cipher.seal(&mut datagram, 7, Side::Offerer, 3).unwrap();
        for (stream, side, seed) in [(8, Side::Offerer, 1), (7, Side::Answerer, 1), (7, Side::Offerer, 2)] {
            let other = Cipher::new(seed).unwrap();
            assert!(other.open(&mut datagram.clone(), stream, side).is_err());
        }
        let (number, frames) = cipher.open(&mut datagram, 7, Side::Offerer).unwrap();
        let frames: Vec<_> = frames.map(Result::unwrap).collect();
        assert_eq!((number, frames), (3, vec![(kind::LAST, b"hello".as_slice())]));
    }

    #[test]
    fn invalid_datagrams_are_rejected_without_a_panic() {
        let cipher = Cipher::new(1).unwrap();
        for length in 0..40 {
            assert!(cipher.open(&mut vec![0; length], 0, Side::Offerer).is_err());
        }
        assert!(Frames(&[1, 0, 0, 9, 0]).next().is_some_and(|frame| frame.is_err()));
        assert!(Frames(&[1, 0, 0]).next().is_none());
    }
}
