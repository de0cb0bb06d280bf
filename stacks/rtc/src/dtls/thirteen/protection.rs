//! In-place encryption and decryption of records: RFC 9147 sections 4.2 and 4.5, with AEADs by RFC 8446
//! section 5.

use aws_lc_rs::aead::quic::HeaderProtectionKey;
use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce};

use super::APPLICATION_EPOCH;
use super::record::{HEADER_BYTES, SAMPLE_BYTES, Unified, header, inner, reconstruct};
use crate::dtls::TAILROOM;
use crate::dtls::record::{KEY_BYTES_MAX, PLAINTEXT_BYTES_MAX, SEQUENCE_MAX};
use crate::dtls::replay::ReplayWindow;

/// Bytes after the content of a record that we send: its type, and the tag.
const AFTER_BYTES: usize = 1 + TAG_BYTES;
const TAG_BYTES: usize = 16;
/// Length of a nonce in bytes.
pub(super) const IV_BYTES: usize = 12;
/// Records encrypted with one key before a key update is requested: AES-GCM allows 2^24.5 records of full
/// length (RFC 9147 section 4.5.3, RFC 8446 section 5.5). The old key is used until the peer has acknowledged
/// the update.
pub(in crate::dtls) const RECORDS_PER_KEY: u64 = 1 << 24;
/// Forged records accepted with one key: "implementations MUST NOT" go beyond 2^36 (RFC 9147 section 4.5.3).
const FORGERIES_MAX: u64 = 1 << 36;

/// The keys of one direction in one epoch.
pub(in crate::dtls) struct EpochKey {
    aead: LessSafeKey,
    mask: HeaderProtectionKey,
    iv: [u8; IV_BYTES],
}

impl EpochKey {
    pub(super) fn new(aead: LessSafeKey, mask: HeaderProtectionKey, iv: [u8; IV_BYTES]) -> Self {
        Self { aead, mask, iv }
    }

    /// RFC 8446 section 5.3; the epoch is not part of it.
    #[inline]
    fn nonce(&self, sequence: u64) -> Nonce {
        let mut nonce = self.iv;
        nonce[4..].iter_mut().zip(sequence.to_be_bytes()).for_each(|(byte, with)| *byte ^= with);
        Nonce::assume_unique_for_key(nonce)
    }

    /// Masks or unmasks the number of a record (RFC 9147 section 4.2.3).
    #[inline]
    fn mask(&self, record: &mut [u8], header_bytes: usize, sequence_bytes: usize) -> Option<()> {
        let sample = record.get(header_bytes..header_bytes + SAMPLE_BYTES)?;
        let mask = self.mask.new_mask(sample).ok()?;
        let number = record.get_mut(1..1 + sequence_bytes)?;
        number.iter_mut().zip(mask).for_each(|(byte, with)| *byte ^= with);
        Some(())
    }
}

impl std::fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EpochKey").finish_non_exhaustive()
    }
}

/// Encrypts in one epoch. All our records in it get their numbers here.
#[derive(Debug)]
pub(in crate::dtls) struct Writer {
    key: Box<EpochKey>,
    epoch: u64,
    /// The number of the next record. Each is used only once, so that nonces are unique.
    next_sequence: u64,
    /// The number from which on another key is requested.
    worn_at: u64,
    /// Plaintext encrypted.
    sealed_bytes: u64,
}

impl Writer {
    pub(in crate::dtls) fn new(epoch: u64, key: EpochKey, next_sequence: u64) -> Self {
        let worn_at = next_sequence + RECORDS_PER_KEY;
        Self { key: Box::new(key), epoch, next_sequence, worn_at, sealed_bytes: 0 }
    }

    pub(in crate::dtls) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(in crate::dtls) fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Whether nothing more may be encrypted with this key: "implementations MUST NOT allow the sequence number
    /// to wrap" (RFC 9147 section 4.2.1).
    #[inline]
    pub(in crate::dtls) fn is_exhausted(&self) -> bool {
        self.next_sequence > SEQUENCE_MAX || self.sealed_bytes >= KEY_BYTES_MAX
    }

    /// Whether a key update is due.
    #[inline]
    pub(in crate::dtls) fn is_worn(&self) -> bool {
        self.next_sequence >= self.worn_at
    }

    /// Pretends that the maximum number of records was encrypted.
    #[cfg(test)]
    pub(in crate::dtls) fn wear_out(&mut self) {
        self.worn_at = 0;
    }

    /// Pretends that the key has encrypted this much.
    #[cfg(test)]
    pub(in crate::dtls) fn set_sealed_bytes(&mut self, bytes: u64) {
        self.sealed_bytes = bytes;
    }

    /// Encrypts `length` bytes at `HEADER_BYTES` in `buffer`. Returns the length of the record. `None` if
    /// nothing was written: the buffer is too short, the plaintext exceeds 2^14 bytes, or all sequence
    /// numbers are used.
    #[inline]
    pub(in crate::dtls) fn seal(&mut self, content: u8, buffer: &mut [u8], length: usize) -> Option<usize> {
        if length > PLAINTEXT_BYTES_MAX || self.is_exhausted() {
            return None;
        }
        let total = HEADER_BYTES + length + AFTER_BYTES;
        let record = buffer.get_mut(..total)?;
        let (head, rest) = record.split_first_chunk_mut::<HEADER_BYTES>()?;
        let (text, tag) = rest.split_at_mut_checked(length + 1)?;
        *text.last_mut()? = content;
        // Not read back from the record, which would stall until earlier writes of the packet have reached
        // the cache.
        let header = header(self.epoch, self.next_sequence, (length + AFTER_BYTES) as u16);
        *head = header;
        let (nonce, aad) = (self.key.nonce(self.next_sequence), Aad::from(header));
        self.key.aead.seal_in_place_scatter(nonce, aad, text, &[], tag).ok()?;
        self.next_sequence += 1;
        self.sealed_bytes += length as u64;
        self.key.mask(record, HEADER_BYTES, 2)?;
        Some(total)
    }

    /// A record with our own content.
    pub(in crate::dtls) fn sealed(&mut self, content: u8, fragment: &[u8]) -> Vec<u8> {
        let mut record = vec![0; HEADER_BYTES];
        record.extend_from_slice(fragment);
        record.resize(record.len() + AFTER_BYTES, 0);
        let length = self.seal(content, &mut record, fragment.len()).unwrap_or(0);
        record.truncate(length);
        record
    }
}

/// A decrypted record.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::dtls) struct Opened<'a> {
    pub content: u8,
    pub epoch: u64,
    pub sequence: u64,
    pub text: &'a mut [u8],
}

/// Decrypts records of one epoch.
#[derive(Debug)]
pub(in crate::dtls) struct Reader {
    key: Box<EpochKey>,
    epoch: u64,
    window: ReplayWindow,
    /// Records with an invalid tag.
    forgeries: u64,
}

impl Reader {
    pub(in crate::dtls) fn new(epoch: u64, key: EpochKey) -> Self {
        Self { key: Box::new(key), epoch, window: ReplayWindow::default(), forgeries: 0 }
    }

    /// One more than the highest received number.
    pub(in crate::dtls) fn expected(&self) -> u64 {
        self.window.expected()
    }

    /// Decrypts a record in place. `None`: of another epoch, and then unchanged; or replayed, too old, or
    /// forged.
    #[inline]
    pub(in crate::dtls) fn open<'a>(&mut self, header: Unified, record: &'a mut [u8]) -> Option<Opened<'a>> {
        let sequence = self.unmask(header, record)?;
        if !self.window.is_new(sequence) {
            return None;
        }
        let (head, sealed) = record.split_at_mut_checked(header.header_bytes)?;
        let Ok(text) = self.key.aead.open_in_place(self.key.nonce(sequence), Aad::from(&*head), sealed)
        else {
            self.forgeries += 1;
            return None;
        };
        self.window.mark(sequence);
        let (content, text) = inner(text)?;
        Some(Opened { content, epoch: self.epoch, sequence, text })
    }

    /// Whether a record is authentic and newer than all received ones. Destroys the record.
    fn is_newest(&self, header: Unified, record: &mut [u8]) -> bool {
        let sequence = self.unmask(header, record).filter(|sequence| *sequence >= self.window.expected());
        sequence.zip(record.split_at_mut_checked(header.header_bytes)).is_some_and(
            |(sequence, (head, sealed))| {
                let nonce = self.key.nonce(sequence);
                self.key.aead.open_in_place(nonce, Aad::from(&*head), sealed).is_ok()
            },
        )
    }

    /// Unmasks the number of a record in place, and returns it in full. `None`: of another epoch, and then
    /// unchanged.
    #[inline]
    fn unmask(&self, header: Unified, record: &mut [u8]) -> Option<u64> {
        if !header.is_of(self.epoch) || !header.fits(record) {
            return None;
        }
        let Unified { header_bytes, sequence_bytes, .. } = header;
        self.key.mask(record, header_bytes, sequence_bytes)?;
        let (partial, bits) = match sequence_bytes {
            2 => (u64::from(record[1]) << 8 | u64::from(record[2]), 16),
            _ => (u64::from(record[1]), 8),
        };
        Some(reconstruct(partial, bits, self.window.expected())).filter(|sequence| *sequence <= SEQUENCE_MAX)
    }
}

/// The protection of application data: one epoch for sending, and the last two for receiving.
#[derive(Debug)]
pub(in crate::dtls) struct Protection {
    pub(in crate::dtls) write: Writer,
    read: Reader,
    /// The previous epoch, for records overtaken by the key update.
    before: Option<Box<Reader>>,
}

impl Protection {
    pub(in crate::dtls) fn new(write: EpochKey, read: EpochKey) -> Self {
        let write = Writer::new(APPLICATION_EPOCH, write, 0);
        Self { write, read: Reader::new(APPLICATION_EPOCH, read), before: None }
    }

    #[inline]
    pub(in crate::dtls) fn seal(&mut self, content: u8, buffer: &mut [u8], length: usize) -> Option<usize> {
        self.write.seal(content, buffer, length)
    }

    /// Like [`Reader::open`], for any possible epoch.
    #[inline]
    pub(in crate::dtls) fn open<'a>(&mut self, header: Unified, record: &'a mut [u8]) -> Option<Opened<'a>> {
        if header.is_of(self.read.epoch) {
            return self.read.open(header, record);
        }
        self.before.as_mut()?.open(header, record)
    }

    /// Like [`Reader::is_newest`], in the newest epoch.
    pub(in crate::dtls) fn is_newest(&self, header: Unified, record: &mut [u8]) -> bool {
        self.read.is_newest(header, record)
    }

    /// Sets the key of a new epoch for receiving.
    pub(super) fn next_read(&mut self, key: EpochKey) {
        let next = Reader::new(self.read.epoch + 1, key);
        self.before = Some(Box::new(std::mem::replace(&mut self.read, next)));
    }

    /// Sets the key of a new epoch for sending.
    pub(super) fn next_write(&mut self, key: EpochKey) {
        self.write = Writer::new(self.write.epoch + 1, key, 0);
    }

    /// Whether the number of forgeries has reached its limit.
    pub(super) fn is_besieged(&self) -> bool {
        self.read.forgeries >= FORGERIES_MAX
    }
}

const _: () = assert!(AFTER_BYTES <= TAILROOM);

#[cfg(test)]
mod tests;
