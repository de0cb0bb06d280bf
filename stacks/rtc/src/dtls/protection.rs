//! In-place encryption and decryption of records in epoch 1: RFC 6347 section 4.1.2, with AES-GCM by RFC 5288
//! and ChaCha20-Poly1305 by RFC 7905.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};

use super::Role;
use super::record::{HEADER_BYTES, Header, KEY_BYTES_MAX, PLAINTEXT_BYTES_MAX, SEQUENCE_MAX, VERSION};
use super::replay::ReplayWindow;

/// The only encrypted epoch: there is no renegotiation.
const EPOCH: u64 = 1;
/// Length of the explicit nonce of an AES-GCM record in bytes.
const EXPLICIT_NONCE_BYTES: usize = 8;
const NONCE_BYTES: usize = 12;
/// Length of the tag in bytes.
pub(super) const TAG_BYTES: usize = 16;

/// The record cipher of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cipher {
    /// AES-128-GCM.
    Aes128Gcm,
    /// AES-256-GCM.
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl Cipher {
    /// Length of a key in bytes.
    pub(super) fn key_bytes(self) -> usize {
        self.algorithm().key_len()
    }

    /// Length of the derived part of the nonce in bytes.
    pub(super) fn iv_bytes(self) -> usize {
        NONCE_BYTES - self.explicit_nonce_bytes()
    }

    fn explicit_nonce_bytes(self) -> usize {
        if self == Self::ChaCha20Poly1305 { 0 } else { EXPLICIT_NONCE_BYTES }
    }

    pub(super) fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &aead::AES_128_GCM,
            Self::Aes256Gcm => &aead::AES_256_GCM,
            Self::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }
}

/// The key and the fixed part of the nonce for one direction. `Debug` shows neither.
pub(super) struct Key {
    key: LessSafeKey,
    iv: [u8; NONCE_BYTES],
}

impl Key {
    /// `None`: the lengths do not match the cipher.
    pub(super) fn new(cipher: Cipher, key: &[u8], iv: &[u8]) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(cipher.algorithm(), key).ok()?);
        let mut padded = [0; NONCE_BYTES];
        (iv.len() == cipher.iv_bytes()).then(|| padded[..iv.len()].copy_from_slice(iv))?;
        Some(Self { key, iv: padded })
    }

    /// RFC 5288 section 3: salt and explicit part.
    fn gcm_nonce(&self, explicit: [u8; EXPLICIT_NONCE_BYTES]) -> Nonce {
        let mut nonce = self.iv;
        nonce[NONCE_BYTES - EXPLICIT_NONCE_BYTES..].copy_from_slice(&explicit);
        Nonce::assume_unique_for_key(nonce)
    }

    /// RFC 7905 section 2: epoch and sequence number, padded, XOR the derived part.
    fn chacha_nonce(&self, stamp: u64) -> Nonce {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(stamp.to_be_bytes()).for_each(|(byte, with)| *byte ^= with);
        Nonce::assume_unique_for_key(nonce)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

/// The keys of both directions.
#[derive(Debug)]
pub(super) struct Keys {
    pub cipher: Cipher,
    pub client: Key,
    pub server: Key,
}

/// The protection of epoch 1: all our records, including those of the handshake, get their numbers here.
#[derive(Debug)]
pub(super) struct Protection {
    /// Bytes between the record header and the ciphertext.
    explicit_nonce_bytes: usize,
    write: Key,
    read: Key,
    /// The number of the next record. Each is used only once, so that nonces are unique.
    next_sequence: u64,
    /// Plaintext encrypted.
    sealed_bytes: u64,
    window: ReplayWindow,
}

impl Protection {
    pub(super) fn new(role: Role, keys: Keys) -> Self {
        let explicit_nonce_bytes = keys.cipher.explicit_nonce_bytes();
        let (write, read) = match role {
            Role::Client => (keys.client, keys.server),
            Role::Server => (keys.server, keys.client),
        };
        let window = ReplayWindow::default();
        Self { explicit_nonce_bytes, write, read, next_sequence: 0, sealed_bytes: 0, window }
    }

    /// Bytes before the plaintext.
    #[inline]
    pub(super) fn headroom(&self) -> usize {
        HEADER_BYTES + self.explicit_nonce_bytes
    }

    /// Whether the peer may have received an encrypted record, so that it expects encryption.
    pub(super) fn is_used(&self) -> bool {
        self.next_sequence > 0
    }

    /// Whether nothing more may be encrypted: DTLS 1.2 has no key updates.
    pub(super) fn is_exhausted(&self) -> bool {
        self.next_sequence > SEQUENCE_MAX || self.sealed_bytes >= KEY_BYTES_MAX
    }

    /// Pretends that the key has encrypted this much.
    #[cfg(test)]
    pub(super) fn set_sealed_bytes(&mut self, bytes: u64) {
        self.sealed_bytes = bytes;
    }

    /// Encrypts `length` bytes at `headroom()` in `buffer`. Returns the length of the record. `None` if
    /// nothing was written: the buffer is too short, the plaintext exceeds 2^14 bytes, or all sequence
    /// numbers are used.
    #[inline]
    pub(super) fn seal(&mut self, content: u8, buffer: &mut [u8], length: usize) -> Option<usize> {
        let headroom = self.headroom();
        // "DTLS implementations MUST NOT allow the sequence number to wrap" (RFC 6347 section 4.1).
        if length > PLAINTEXT_BYTES_MAX || self.is_exhausted() {
            return None;
        }
        let total = headroom + length + TAG_BYTES;
        let (head, body) = buffer.get_mut(..total)?.split_at_mut(headroom);
        let (text, tag) = body.split_at_mut(length);
        let stamp = EPOCH << 48 | self.next_sequence;
        let (header, explicit) = head.split_first_chunk_mut()?;
        Header::write(header, content, stamp, (total - HEADER_BYTES) as u16);
        let nonce = if self.explicit_nonce_bytes == 0 {
            self.write.chacha_nonce(stamp)
        } else {
            explicit.copy_from_slice(&stamp.to_be_bytes());
            self.write.gcm_nonce(stamp.to_be_bytes())
        };
        let aad = Aad::from(additional_data(content, VERSION, stamp, length));
        self.write.key.seal_in_place_scatter(nonce, aad, text, &[], tag).ok()?;
        self.next_sequence += 1;
        self.sealed_bytes += length as u64;
        Some(total)
    }

    /// Decrypts a record of epoch 1 in place; returns its plaintext. `None`: replayed, too old, or forged.
    #[inline]
    pub(super) fn open<'a>(&mut self, header: Header, record: &'a mut [u8]) -> Option<&'a mut [u8]> {
        if !self.window.is_new(header.sequence()) {
            return None;
        }
        let text = open(&self.read, self.explicit_nonce_bytes, header, record)?;
        self.window.mark(header.sequence());
        Some(text)
    }

    /// Whether a record is authentic and newer than all received ones. Destroys the record.
    pub(super) fn is_newest(&self, header: Header, record: &mut [u8]) -> bool {
        header.sequence() >= self.window.expected()
            && open(&self.read, self.explicit_nonce_bytes, header, record).is_some()
    }

    /// Decrypts a record of epoch 1 that was encrypted elsewhere with our key, and encrypts it again with our
    /// next number. Passes its plaintext to `see`. `None`: it is not one of ours.
    pub(super) fn reseal(
        &mut self,
        header: Header,
        record: &mut [u8],
        see: impl FnOnce(&[u8]),
    ) -> Option<()> {
        let text = open(&self.write, self.explicit_nonce_bytes, header, record)?;
        see(text);
        let length = text.len();
        self.seal(header.content, record, length).map(drop)
    }
}

/// Decrypts a record in place.
#[inline]
fn open<'a>(
    key: &Key,
    explicit_nonce_bytes: usize,
    header: Header,
    record: &'a mut [u8],
) -> Option<&'a mut [u8]> {
    let fragment = record.get_mut(HEADER_BYTES..)?;
    let length = fragment.len().checked_sub(explicit_nonce_bytes + TAG_BYTES)?;
    if u64::from(header.epoch()) != EPOCH || length > PLAINTEXT_BYTES_MAX {
        return None;
    }
    let (nonce, sealed) = if explicit_nonce_bytes == 0 {
        (key.chacha_nonce(header.stamp), fragment)
    } else {
        let (explicit, sealed) = fragment.split_first_chunk_mut()?;
        (key.gcm_nonce(*explicit), sealed)
    };
    let aad = Aad::from(additional_data(header.content, header.version, header.stamp, length));
    key.key.open_in_place(nonce, aad, sealed).ok()
}

/// "additional_data = seq_num + TLSCompressed.type + TLSCompressed.version + TLSCompressed.length" (RFC 5246 section
/// 6.2.3.3); the length is that of the plaintext.
#[inline]
fn additional_data(content: u8, version: [u8; 2], stamp: u64, length: usize) -> [u8; HEADER_BYTES] {
    let mut data = [0; HEADER_BYTES];
    data[..8].copy_from_slice(&stamp.to_be_bytes());
    data[8] = content;
    data[9..11].copy_from_slice(&version);
    // Fits: at most 2^14.
    data[11..].copy_from_slice(&(length as u16).to_be_bytes());
    data
}

#[cfg(test)]
mod tests {
    use super::super::record::{content, split};
    use super::*;

    const CIPHERS: [Cipher; 3] = [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::ChaCha20Poly1305];

    /// Both sides, with fixed keys.
    fn pair(cipher: Cipher) -> [Protection; 2] {
        [Role::Client, Role::Server].map(|role| {
            let key = |byte: u8| {
                Key::new(cipher, &vec![byte; cipher.key_bytes()], &vec![byte; cipher.iv_bytes()]).unwrap()
            };
            Protection::new(role, Keys { cipher, client: key(1), server: key(2) })
        })
    }

    fn sealed(from: &mut Protection, text: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = vec![0; from.headroom()];
        buffer.extend_from_slice(text);
        buffer.resize(buffer.len() + TAG_BYTES, 0);
        let length = from.seal(content::APPLICATION_DATA, &mut buffer, text.len())?;
        assert_eq!(length, buffer.len());
        Some(buffer)
    }

    fn opened(to: &mut Protection, mut record: Vec<u8>) -> Option<Vec<u8>> {
        let (header, record, _) = split(&mut record)?;
        to.open(header, record).map(|text| text.to_vec())
    }

    #[test]
    fn lengths_of_keys() {
        for cipher in CIPHERS {
            let (key, iv) = (vec![0; cipher.key_bytes()], vec![0; cipher.iv_bytes()]);
            assert!(Key::new(cipher, &key, &iv).is_some());
            assert!(Key::new(cipher, &key[1..], &iv).is_none());
            assert!(Key::new(cipher, &key, &iv[1..]).is_none());
        }
    }

    #[test]
    fn records_round_trip() {
        for cipher in CIPHERS {
            let [mut client, mut server] = pair(cipher);
            for text in [&b""[..], b"x", &[7; PLAINTEXT_BYTES_MAX]] {
                let record = sealed(&mut client, text).unwrap();
                assert_eq!(opened(&mut server, record.clone()).unwrap(), text);
                assert_eq!(opened(&mut server, record.clone()), None, "again");
                assert_eq!(opened(&mut client, record), None, "its own");
            }
            assert_eq!(sealed(&mut client, &[7; PLAINTEXT_BYTES_MAX + 1]), None);
        }
    }

    #[test]
    fn numbers_end_at_48_bits() {
        for cipher in CIPHERS {
            let [mut client, mut server] = pair(cipher);
            client.next_sequence = SEQUENCE_MAX;
            let last = sealed(&mut client, b"last").unwrap();
            assert_eq!(opened(&mut server, last).unwrap(), b"last");
            assert!(client.is_exhausted());
            assert_eq!(sealed(&mut client, b"one more"), None);
        }
    }

    #[test]
    fn a_key_encrypts_a_limited_amount() {
        for cipher in CIPHERS {
            let [mut client, mut server] = pair(cipher);
            client.sealed_bytes = KEY_BYTES_MAX - 1;
            let last = sealed(&mut client, b"last").unwrap();
            assert_eq!(opened(&mut server, last).unwrap(), b"last");
            assert!(client.is_exhausted());
            assert_eq!(sealed(&mut client, b"one more"), None);
        }
    }

    #[test]
    fn sealing_again_takes_the_next_number() {
        for cipher in CIPHERS {
            let [mut client, mut server] = pair(cipher);
            let mut record = sealed(&mut client, b"handshake").unwrap();
            client.next_sequence = 9;
            let (header, bytes, _) = split(&mut record).unwrap();
            let mut seen = Vec::new();
            client.reseal(header, bytes, |text| seen = text.to_vec()).unwrap();
            assert_eq!(seen, b"handshake");
            let (header, bytes, _) = split(&mut record).unwrap();
            assert_eq!(header.sequence(), 9);
            assert_eq!(server.open(header, bytes).unwrap(), b"handshake");
            // Records of the peer are not ours.
            let mut foreign = sealed(&mut server, b"x").unwrap();
            let (header, bytes, _) = split(&mut foreign).unwrap();
            assert_eq!(client.reseal(header, bytes, |_| {}), None);
        }
    }

    /// Compares with manually constructed nonces and additional data.
    #[test]
    fn nonces_and_additional_data_are_those_of_the_standards() {
        for cipher in CIPHERS {
            let [mut client, _] = pair(cipher);
            client.next_sequence = 0x0102_0304_0506;
            let record = sealed(&mut client, b"abc").unwrap();
            let stamp = [0, 1, 1, 2, 3, 4, 5, 6];
            let nonce = if cipher == Cipher::ChaCha20Poly1305 {
                [1, 1, 1, 1, 1, 1 ^ 1, 1 ^ 1, 1 ^ 2, 1 ^ 3, 1 ^ 4, 1 ^ 5, 1 ^ 6]
            } else {
                assert_eq!(record[13..21], stamp);
                [1, 1, 1, 1, 0, 1, 1, 2, 3, 4, 5, 6]
            };
            let data = [&stamp[..], &[23, 254, 253, 0, 3]].concat();
            let key = UnboundKey::new(cipher.algorithm(), &vec![1; cipher.key_bytes()]).unwrap();
            let mut text = b"abc".to_vec();
            let nonce = Nonce::assume_unique_for_key(nonce);
            LessSafeKey::new(key).seal_in_place_append_tag(nonce, Aad::from(data), &mut text).unwrap();
            assert_eq!(record[client.headroom()..], text);
        }
    }
}
