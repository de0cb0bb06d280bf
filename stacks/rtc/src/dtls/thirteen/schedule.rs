//! Traffic secrets and the keys derived from them: RFC 8446 section 7, with the label prefix of RFC 9147
//! section 5.9.

use aws_lc_rs::aead::quic::{self, HeaderProtectionKey};
use aws_lc_rs::aead::{LessSafeKey, UnboundKey};
use aws_lc_rs::hkdf;
use dimpl::crypto::HashAlgorithm;

use super::protection::{EpochKey, IV_BYTES};
use crate::dtls::protection::Cipher;

/// Length of the longest hash in bytes.
const SECRET_BYTES_MAX: usize = 48;
/// Length of the longest cipher key in bytes.
const KEY_BYTES_MAX: usize = 32;
/// "the label prefix is "dtls13"", without a space (RFC 9147 section 5.9).
pub(in crate::dtls) const LABEL_PREFIX: &[u8] = b"dtls13";

/// Bytes that are overwritten when dropped. Without unsafe code this cannot be enforced; `black_box` makes
/// the compiler produce the zeros.
pub(in crate::dtls) struct Secret<const N: usize>(pub [u8; N]);

impl<const N: usize> Drop for Secret<N> {
    fn drop(&mut self) {
        self.0.fill(0);
        std::hint::black_box(&mut self.0);
    }
}

/// The secret of one direction in one epoch. `Debug` does not show it.
pub(in crate::dtls) struct TrafficSecret {
    bytes: Secret<SECRET_BYTES_MAX>,
    length: usize,
    algorithm: hkdf::Algorithm,
}

impl TrafficSecret {
    /// `None`: its length is not that of the hash, or TLS 1.3 does not use the hash.
    pub(in crate::dtls) fn new(hash: HashAlgorithm, secret: &[u8]) -> Option<Self> {
        let algorithm = match hash {
            HashAlgorithm::SHA256 => hkdf::HKDF_SHA256,
            HashAlgorithm::SHA384 => hkdf::HKDF_SHA384,
            _ => return None,
        };
        let mut bytes = Secret([0; SECRET_BYTES_MAX]);
        (secret.len() == hash.output_len()).then(|| bytes.0[..secret.len()].copy_from_slice(secret))?;
        Some(Self { bytes, length: secret.len(), algorithm })
    }

    /// The secret of the next epoch (RFC 8446 section 7.2).
    pub(in crate::dtls) fn next(&self) -> Option<Self> {
        let mut bytes = Secret([0; SECRET_BYTES_MAX]);
        self.expand(b"traffic upd", bytes.0.get_mut(..self.length)?)?;
        Some(Self { bytes, length: self.length, algorithm: self.algorithm })
    }

    /// The keys of records (RFC 8446 section 7.3, RFC 9147 section 4.2.3).
    pub(in crate::dtls) fn key(&self, cipher: Cipher) -> Option<EpochKey> {
        let aead =
            UnboundKey::new(cipher.algorithm(), &self.aead_key(cipher)?.0[..cipher.key_bytes()]).ok()?;
        let mut iv = [0; IV_BYTES];
        self.expand(b"iv", &mut iv)?;
        let mut sn = Secret([0; KEY_BYTES_MAX]);
        let sn = sn.0.get_mut(..cipher.key_bytes())?;
        self.expand(b"sn", sn)?;
        let mask = HeaderProtectionKey::new(mask_algorithm(cipher), sn).ok()?;
        Some(EpochKey::new(LessSafeKey::new(aead), mask, iv))
    }

    /// Whether this record key is derived from the secret.
    pub(in crate::dtls) fn has_key(&self, cipher: Cipher, key: &[u8]) -> bool {
        self.aead_key(cipher).is_some_and(|ours| {
            ours.0
                .get(..cipher.key_bytes())
                .is_some_and(|ours| subtle::ConstantTimeEq::ct_eq(ours, key).into())
        })
    }

    fn aead_key(&self, cipher: Cipher) -> Option<Secret<KEY_BYTES_MAX>> {
        let mut key = Secret([0; KEY_BYTES_MAX]);
        self.expand(b"key", key.0.get_mut(..cipher.key_bytes())?)?;
        Some(key)
    }

    /// HKDF-Expand-Label without context.
    fn expand(&self, label: &[u8], out: &mut [u8]) -> Option<()> {
        let length = u16::try_from(out.len()).ok()?.to_be_bytes();
        // Short, since the labels are constants.
        let label_bytes = [(LABEL_PREFIX.len() + label.len()) as u8];
        let info = [&length[..], &label_bytes, LABEL_PREFIX, label, &[0]];
        let secret = hkdf::Prk::new_less_safe(self.algorithm, self.bytes.0.get(..self.length)?);
        secret.expand(&info, Length(out.len())).ok()?.fill(out).ok()
    }
}

impl std::fmt::Debug for TrafficSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrafficSecret").finish_non_exhaustive()
    }
}

/// The output length.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// The mask of a sequence number is computed like QUIC's header protection (RFC 9001 sections 5.4.3 and
/// 5.4.4).
fn mask_algorithm(cipher: Cipher) -> &'static quic::Algorithm {
    match cipher {
        Cipher::Aes128Gcm => &quic::AES_128,
        Cipher::Aes256Gcm => &quic::AES_256,
        Cipher::ChaCha20Poly1305 => &quic::CHACHA20,
    }
}

#[cfg(test)]
mod tests {
    use dimpl::crypto::{Buf, aws_lc_rs as inner, prf_hkdf};

    use super::*;

    /// The derivation of `dimpl`.
    fn theirs(hash: HashAlgorithm, secret: &[u8], label: &[u8], bytes: usize) -> Vec<u8> {
        let hmac = inner::default_provider().hmac_provider;
        let mut out = Buf::new();
        prf_hkdf::hkdf_expand_label_dtls13(hmac, hash, secret, label, &[], &mut out, bytes).unwrap();
        out.into_vec()
    }

    #[test]
    fn derived_as_dimpl_derives() {
        for (hash, cipher) in [
            (HashAlgorithm::SHA256, Cipher::Aes128Gcm),
            (HashAlgorithm::SHA384, Cipher::Aes256Gcm),
            (HashAlgorithm::SHA256, Cipher::ChaCha20Poly1305),
        ] {
            let bytes: Vec<u8> = (0..hash.output_len() as u8).collect();
            let secret = TrafficSecret::new(hash, &bytes).unwrap();
            assert!(secret.has_key(cipher, &theirs(hash, &bytes, b"key", cipher.key_bytes())));
            assert!(!secret.has_key(cipher, &theirs(hash, &bytes, b"sn", cipher.key_bytes())));
            assert!(!secret.has_key(cipher, &[]) && secret.key(cipher).is_some());
            let next = secret.next().unwrap();
            assert_eq!(next.bytes.0[..next.length], theirs(hash, &bytes, b"traffic upd", hash.output_len()));
            assert!(TrafficSecret::new(hash, &bytes[1..]).is_none());
            assert_eq!(format!("{secret:?}"), "TrafficSecret { .. }");
        }
        assert!(TrafficSecret::new(HashAlgorithm::SHA1, &[0; 20]).is_none());
    }
}
