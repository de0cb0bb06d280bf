//! Key derivation of DTLS 1.2 from the master secret: RFC 5246 sections 5 and 6.3.

use dimpl::crypto::{Buf, HashAlgorithm, aws_lc_rs as inner, prf_hkdf};

use super::thirteen::schedule::Secret;

/// Length of a master secret in bytes (RFC 5246 section 8.1).
pub(super) const MASTER_SECRET_BYTES: usize = 48;
/// Length of the two random values in bytes.
pub(super) const RANDOMS_BYTES: usize = 64;
/// Two keys and two nonces of the longest suite (AES-256-GCM: 2 * (32 + 4), ChaCha20-Poly1305: 2 * (32 +
/// 12)).
pub(super) const KEY_BLOCK_BYTES_MAX: usize = 88;
/// The label of the expansion.
pub(super) const KEY_EXPANSION: &str = "key expansion";

/// The arguments of a key expansion.
pub(super) struct Expansion {
    pub master_secret: Secret<MASTER_SECRET_BYTES>,
    pub randoms: [u8; RANDOMS_BYTES],
    pub hash: HashAlgorithm,
}

/// The key block: RFC 5246 section 6.3.
pub(super) fn expand(expansion: Expansion, bytes: usize) -> Option<Secret<KEY_BLOCK_BYTES_MAX>> {
    let Expansion { master_secret, randoms, hash } = expansion;
    let (mut out, mut scratch) = (Buf::new(), Buf::new());
    let hmac = inner::default_provider().hmac_provider;
    let secret = &master_secret.0;
    prf_hkdf::prf_tls12(hmac, secret, KEY_EXPANSION, &randoms, &mut out, bytes, &mut scratch, hash).ok()?;
    let mut block = Secret([0; KEY_BLOCK_BYTES_MAX]);
    block.0.get_mut(..bytes)?.copy_from_slice(out.get(..bytes)?);
    out.fill(0);
    std::hint::black_box(&mut out);
    Some(block)
}
