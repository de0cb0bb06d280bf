//! Our credentials.

use is::IceCreds;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::limits::UFRAG_CHARS;

/// With a password of 144 bits (RFC 8445 section 5.3 asks for 128).
pub(super) fn credentials(rng: &mut ChaCha20Rng) -> IceCreds {
    IceCreds { ufrag: ice_chars(rng, UFRAG_CHARS), pass: ice_chars(rng, 24) }
}

fn ice_chars(rng: &mut ChaCha20Rng, count: usize) -> String {
    const CHARS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (0..count).map(|_| char::from(CHARS[(rng.next_u32() & 63) as usize])).collect()
}
