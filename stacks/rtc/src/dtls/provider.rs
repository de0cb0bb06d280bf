//! The cryptography for `dimpl`: its own provider based on aws-lc-rs, with hooks. This file covers DTLS 1.2;
//! for 1.3 see [`thirteen::secrets`](super::thirteen::secrets).
//!
//! - The PRF's HMAC ([`hashes`](super::hashes)). When `dimpl` expands the master secret into keys, the input
//!   of the first HMAC is, by RFC 5246 sections 5 and 6.3, "key expansion" and the two random values. From this
//!   input, the same key block is computed here.
//! - The cipher factory reveals the negotiated suite, and its key must be part of our key block. The result
//!   therefore does not depend on the order of operations in `dimpl`; with an incompatible version, the
//!   handshake fails and never continues with wrong keys. (Reading the fixed part of the nonce off the first
//!   record would reveal the peer's key too late, since the peer's Finished is verified before `dimpl` receives
//!   it.)
//! - The private key loader returns the certificate's key, which is parsed once.
//! - Hashes, which continue from the last state.
//!
//! The recorded values are on the thread's [`desk`](super::desk).

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::EcdsaKeyPair;
use dimpl::crypto::{
    Buf, Cipher as DimplCipher, CryptoProvider, Dtls12CipherSuite, HashAlgorithm, KeyProvider,
    SignatureAlgorithm, SigningKey, SupportedDtls12CipherSuite, aws_lc_rs as inner,
};
use dimpl::{CryptoError, CryptoOperation};

use super::deferred::DeferringVerifier;
use super::desk::with_desk;
use super::hashes::{Continued, WatchedHmac};
use super::key_block::expand;
use super::protection::{Cipher, Key, Keys};
use super::thirteen::provider as thirteen;

/// The provider for `dimpl::ConfigBuilder::with_crypto_provider`.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: SUITES,
        dtls13_cipher_suites: thirteen::SUITES,
        key_provider: &CertificateKey,
        hash_provider: &Continued,
        hmac_provider: &WatchedHmac,
        signature_verification: &DeferringVerifier,
        ..inner::default_provider()
    }
}

/// In a client's order of preference: the fastest first.
static SUITES: &[&dyn SupportedDtls12CipherSuite] = &[
    &WatchedSuite(Dtls12CipherSuite::ECDHE_ECDSA_AES128_GCM_SHA256, Cipher::Aes128Gcm),
    &WatchedSuite(Dtls12CipherSuite::ECDHE_ECDSA_AES256_GCM_SHA384, Cipher::Aes256Gcm),
    &WatchedSuite(Dtls12CipherSuite::ECDHE_ECDSA_CHACHA20_POLY1305_SHA256, Cipher::ChaCha20Poly1305),
];

#[derive(Debug)]
struct WatchedSuite(Dtls12CipherSuite, Cipher);

impl WatchedSuite {
    fn inner(&self) -> &'static dyn SupportedDtls12CipherSuite {
        let suites = inner::default_provider().cipher_suites;
        *suites.iter().find(|suite| suite.suite() == self.0).expect("dimpl supports the suites that it lists")
    }

    /// Records the keys, one of which this is. `None` if it is neither.
    fn note(&self, key: &[u8]) -> Option<()> {
        let cipher = self.1;
        let (key_bytes, iv_bytes) = (cipher.key_bytes(), cipher.iv_bytes());
        let noted = with_desk(|desk| {
            if let Some(expansion) = desk.expansion.take() {
                desk.key_block = Some(expand(expansion, 2 * (key_bytes + iv_bytes))?);
            }
            // RFC 5246 section 6.3: client_write_key, server_write_key, client_write_IV, server_write_IV.
            let block = &desk.key_block.as_ref()?.0;
            let (client, rest) = block.split_at_checked(key_bytes)?;
            let (server, rest) = rest.split_at_checked(key_bytes)?;
            let (client_iv, rest) = rest.split_at_checked(iv_bytes)?;
            let server_iv = rest.get(..iv_bytes)?;
            let is_ours =
                subtle::ConstantTimeEq::ct_eq(key, client) | subtle::ConstantTimeEq::ct_eq(key, server);
            if !bool::from(is_ours) {
                return None;
            }
            if desk.keys.is_none() {
                let client = Key::new(cipher, client, client_iv)?;
                let server = Key::new(cipher, server, server_iv)?;
                desk.keys = Some(Keys { cipher, client, server });
            }
            Some(())
        });
        // Without a desk, behaves like `dimpl`.
        noted.unwrap_or(Some(()))
    }
}

impl SupportedDtls12CipherSuite for WatchedSuite {
    fn suite(&self) -> Dtls12CipherSuite {
        self.0
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.inner().hash_algorithm()
    }

    fn key_lengths(&self) -> (usize, usize, usize) {
        self.inner().key_lengths()
    }

    fn explicit_nonce_len(&self) -> usize {
        self.inner().explicit_nonce_len()
    }

    fn tag_len(&self) -> usize {
        self.inner().tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn DimplCipher>, CryptoError> {
        self.note(key).ok_or(CryptoError::OperationFailed(CryptoOperation::DeriveKey))?;
        self.inner().create_cipher(key)
    }
}

/// Returns the key pair on the desk, whatever bytes `dimpl` loads.
#[derive(Debug)]
struct CertificateKey;

impl KeyProvider for CertificateKey {
    fn load_private_key(&self, _key_der: &[u8]) -> Result<Box<dyn SigningKey>, CryptoError> {
        let key_pair = with_desk(|desk| desk.key_pair.clone()).flatten();
        Ok(Box::new(SharedKey(key_pair.ok_or(CryptoError::InvalidPrivateKey)?)))
    }
}

/// An ECDSA key on P-256, which signs with SHA-256.
#[derive(Debug)]
struct SharedKey(Arc<EcdsaKeyPair>);

impl SigningKey for SharedKey {
    fn sign(&mut self, data: &[u8], hash: HashAlgorithm, out: &mut Buf) -> Result<(), CryptoError> {
        if hash != self.hash_algorithm() {
            let key_hash = self.hash_algorithm();
            return Err(CryptoError::SigningKeyHashMismatch { key_hash, requested: hash });
        }
        let signature = self.0.sign(&SystemRandom::new(), data);
        out.clear();
        out.extend_from_slice(
            signature.map_err(|_| CryptoError::OperationFailed(CryptoOperation::Sign))?.as_ref(),
        );
        Ok(())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ECDSA
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        HashAlgorithm::SHA256
    }

    fn supported_hash_algorithms(&self) -> &[HashAlgorithm] {
        &[HashAlgorithm::SHA256]
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::ECDSA_P256_SHA256_ASN1_SIGNING;
    use dimpl::crypto::{HmacProvider, prf_hkdf};

    use super::super::desk::watch;
    use super::super::key_block::{KEY_BLOCK_BYTES_MAX, KEY_EXPANSION, MASTER_SECRET_BYTES, RANDOMS_BYTES};
    use super::*;

    const MASTER_SECRET: [u8; MASTER_SECRET_BYTES] = [3; MASTER_SECRET_BYTES];
    const RANDOMS: [u8; RANDOMS_BYTES] = [4; RANDOMS_BYTES];

    /// The key block, computed by `dimpl`'s PRF.
    fn key_block(hash: HashAlgorithm) -> Vec<u8> {
        let (mut out, mut scratch) = (Buf::new(), Buf::new());
        let hmac = inner::default_provider().hmac_provider;
        let (bytes, scratch) = (KEY_BLOCK_BYTES_MAX, &mut scratch);
        prf_hkdf::prf_tls12(hmac, &MASTER_SECRET, KEY_EXPANSION, &RANDOMS, &mut out, bytes, scratch, hash)
            .unwrap();
        out.into_vec()
    }

    fn expand_watched(hash: HashAlgorithm) {
        let data = [KEY_EXPANSION.as_bytes(), &RANDOMS].concat();
        WatchedHmac.hmac(hash, &MASTER_SECRET, &data, &mut [0; 48]).unwrap();
    }

    #[test]
    fn keys_are_recorded_in_any_order_and_wrong_ones_refused() {
        let key_pair = Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap());
        for suite in provider().cipher_suites {
            let block = key_block(suite.hash_algorithm());
            let bytes = suite.key_lengths().1;
            let (client, server) = (&block[..bytes], &block[bytes..2 * bytes]);
            // Without a desk, behaves like `dimpl`.
            assert!(suite.create_cipher(&vec![9; bytes]).is_ok());
            for order in [[client, server], [server, client]] {
                let ((), made) = watch(&key_pair, false, || {
                    expand_watched(suite.hash_algorithm());
                    order.iter().for_each(|key| drop(suite.create_cipher(key).unwrap()));
                });
                assert!(made.keys.is_some());
            }
            // Keys from elsewhere, or from another position in the block.
            for wrong in [&vec![9; bytes][..], &block[1..=bytes], &block[bytes - 1..2 * bytes - 1]] {
                let (result, made) = watch(&key_pair, false, || {
                    expand_watched(suite.hash_algorithm());
                    suite.create_cipher(wrong).map(drop)
                });
                assert!(result.is_err() && made.keys.is_none());
            }
            let (result, made) = watch(&key_pair, false, || suite.create_cipher(client).map(drop));
            assert!(result.is_err() && made.keys.is_none(), "no expansion was seen");
        }
    }

    #[test]
    fn the_private_key_is_available_only_with_a_desk() {
        let key_pair = Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap());
        let load = || CertificateKey.load_private_key(&[]);
        assert!(watch(&key_pair, false, load).0.is_ok());
        assert!(load().is_err());
    }
}
