//! The state cookie. It holds everything needed to establish the association, is carried by the peer and
//! authenticated by us, so that an INIT uses no memory (RFC 9260 section 5.1.3).

use std::fmt;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use rand::Rng;
use sha2::Sha256;

use super::terms::Terms;
use crate::types::Tsn;

/// Valid.Cookie.Life (RFC 9260 section 16).
pub(super) const COOKIE_LIFE: Duration = Duration::from_secs(60);

const KEY_BYTES: usize = 32;
const MAC_BYTES: usize = 32;
const FIELD_BYTES: usize = 41;

/// Length of a cookie on the wire.
pub(super) const COOKIE_BYTES: usize = FIELD_BYTES + MAC_BYTES;

/// The cookie key. `Debug` does not reveal it.
pub(super) struct Key([u8; KEY_BYTES]);

impl Key {
    /// Draws a new key.
    pub(super) fn new(rng: &mut impl Rng) -> Self {
        let mut key = [0; KEY_BYTES];
        rng.fill_bytes(&mut key);
        Self(key)
    }

    fn sign(&self, fields: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        mac.update(fields);
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The contents of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cookie {
    /// Creation time, relative to the creation of the association.
    pub(super) made_at: Duration,
    /// Our verification tag.
    pub(super) local_tag: u32,
    /// Our first TSN.
    pub(super) local_tsn: Tsn,
    /// Tie-tags: the tags of an association that existed already, ours and the peer's; 0 without one (RFC
    /// 9260 section 5.2.2).
    pub(super) tie_tags: (u32, u32),
    /// The peer's offer, and what was negotiated from it.
    pub(super) terms: Terms,
}

impl Cookie {
    /// Serialises and signs the cookie for an INIT ACK.
    pub(super) fn seal(&self, key: &Key) -> [u8; COOKIE_BYTES] {
        let mut out = [0; COOKIE_BYTES];
        let (fields, mac) = out.split_at_mut(FIELD_BYTES);
        let terms = &self.terms;
        // Whole microseconds; 2^64 of them outlast any association.
        fields[0..8].copy_from_slice(&(self.made_at.as_micros() as u64).to_be_bytes());
        let numbers = [
            self.local_tag,
            self.local_tsn.0,
            self.tie_tags.0,
            self.tie_tags.1,
            terms.peer_tag,
            terms.peer_tsn.0,
            terms.window_bytes,
        ];
        for (place, number) in fields[8..36].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        fields[36..38].copy_from_slice(&terms.outbound_streams.to_be_bytes());
        fields[38..40].copy_from_slice(&terms.inbound_streams.to_be_bytes());
        fields[40] = terms.flags();
        mac.copy_from_slice(&key.sign(fields).finalize().into_bytes());
        out
    }

    /// Verifies and parses a cookie in constant time.
    pub(super) fn open(bytes: &[u8], key: &Key) -> Option<Self> {
        let bytes = <&[u8; COOKIE_BYTES]>::try_from(bytes).ok()?;
        let (fields, mac) = bytes.split_at(FIELD_BYTES);
        key.sign(fields).verify_slice(mac).ok()?;
        let number =
            |at: usize| u32::from_be_bytes([fields[at], fields[at + 1], fields[at + 2], fields[at + 3]]);
        let micros = u64::from(number(0)) << 32 | u64::from(number(4));
        let mut terms = Terms::from_flags(fields[40]);
        terms.peer_tag = number(24);
        terms.peer_tsn = Tsn(number(28));
        terms.window_bytes = number(32);
        terms.outbound_streams = u16::from_be_bytes([fields[36], fields[37]]);
        terms.inbound_streams = u16::from_be_bytes([fields[38], fields[39]]);
        Some(Self {
            made_at: Duration::from_micros(micros),
            local_tag: number(8),
            local_tsn: Tsn(number(12)),
            tie_tags: (number(16), number(20)),
            terms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key([7; KEY_BYTES]);

    fn cookie(flags: u8) -> Cookie {
        let terms = Terms {
            peer_tag: 3,
            peer_tsn: Tsn(u32::MAX),
            window_bytes: 1 << 20,
            outbound_streams: 65_535,
            inbound_streams: 9,
            ..Terms::from_flags(flags)
        };
        let made_at = Duration::from_micros((1 << 40) + 17);
        Cookie { made_at, local_tag: 1, local_tsn: Tsn(2), tie_tags: (4, 5), terms }
    }

    #[test]
    fn a_cookie_comes_back_as_it_was() {
        for flags in 0..16 {
            let cookie = cookie(flags);
            assert_eq!(Cookie::open(&cookie.seal(&KEY), &KEY), Some(cookie));
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{KEY:?}"), "Key(..)");
    }

    #[test]
    fn a_cookie_with_one_wrong_bit_is_refused() {
        let sealed = cookie(5).seal(&KEY);
        for bit in 0..8 * COOKIE_BYTES {
            let mut forged = sealed;
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Cookie::open(&forged, &KEY), None, "bit {bit}");
        }
        assert_eq!(Cookie::open(&sealed, &Key([8; KEY_BYTES])), None);
        assert_eq!(Cookie::open(&sealed[1..], &KEY), None);
        assert_eq!(Cookie::open(&[], &KEY), None);
    }
}
