//! The suites of DTLS 1.3 for `dimpl`.
//!
//! The keys of its ciphers must be derived from a recorded pair of secrets ([`secrets`](super::secrets)),
//! each once; a pair is valid when both were used. Our keys are therefore those of `dimpl`, whatever the
//! order of its operations, and with an incompatible version the handshake fails.

use dimpl::crypto::{
    Cipher as DimplCipher, Dtls13CipherSuite, HashAlgorithm, SupportedDtls13CipherSuite, aws_lc_rs as inner,
};
use dimpl::{CryptoError, CryptoOperation};

use crate::dtls::desk::with_desk;
use crate::dtls::protection::Cipher;

/// In a client's order of preference: the fastest first.
pub(in crate::dtls) static SUITES: &[&dyn SupportedDtls13CipherSuite] = &[
    &WatchedSuite(Dtls13CipherSuite::AES_128_GCM_SHA256, Cipher::Aes128Gcm),
    &WatchedSuite(Dtls13CipherSuite::AES_256_GCM_SHA384, Cipher::Aes256Gcm),
    &WatchedSuite(Dtls13CipherSuite::CHACHA20_POLY1305_SHA256, Cipher::ChaCha20Poly1305),
];

#[derive(Debug)]
struct WatchedSuite(Dtls13CipherSuite, Cipher);

impl WatchedSuite {
    fn inner(&self) -> &'static dyn SupportedDtls13CipherSuite {
        let suites = inner::default_provider().dtls13_cipher_suites;
        *suites.iter().find(|suite| suite.suite() == self.0).expect("dimpl supports the suites that it lists")
    }
}

impl SupportedDtls13CipherSuite for WatchedSuite {
    fn suite(&self) -> Dtls13CipherSuite {
        self.0
    }

    fn hash_algorithm(&self) -> HashAlgorithm {
        self.inner().hash_algorithm()
    }

    fn key_len(&self) -> usize {
        self.inner().key_len()
    }

    fn iv_len(&self) -> usize {
        self.inner().iv_len()
    }

    fn tag_len(&self) -> usize {
        self.inner().tag_len()
    }

    fn create_cipher(&self, key: &[u8]) -> Result<Box<dyn DimplCipher>, CryptoError> {
        // Without a desk, behaves like `dimpl`.
        let known = with_desk(|desk| {
            desk.epochs.handshake.see(self.1, key) || desk.epochs.application.see(self.1, key)
        });
        if known == Some(false) {
            return Err(CryptoError::OperationFailed(CryptoOperation::DeriveKey));
        }
        self.inner().create_cipher(key)
    }

    fn encrypt_sn(&self, sn_key: &[u8], sample: &[u8; 16]) -> [u8; 16] {
        self.inner().encrypt_sn(sn_key, sample)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
    use dimpl::crypto::{Buf, prf_hkdf};

    use super::super::secrets::Secrets;
    use super::*;
    use crate::dtls::desk::watch;
    use crate::dtls::hashes::WatchedHmac;

    /// Derives a key from a secret as `dimpl` does, and returns it.
    fn derive(suite: &dyn SupportedDtls13CipherSuite, label: &[u8], master: u8) -> Vec<u8> {
        let (hmac, hash) = (&WatchedHmac, suite.hash_algorithm());
        let bytes = hash.output_len();
        let (mut secret, mut key) = (Buf::new(), Buf::new());
        let expand = prf_hkdf::hkdf_expand_label_dtls13;
        expand(hmac, hash, &vec![master; bytes], label, &vec![9; bytes], &mut secret, bytes).unwrap();
        expand(hmac, hash, &secret, b"key", &[], &mut key, suite.key_len()).unwrap();
        key.into_vec()
    }

    #[test]
    fn a_pair_is_valid_when_both_keys_were_used() {
        let key_pair = Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap());
        for &suite in SUITES {
            let bytes = suite.key_len();
            assert!(suite.create_cipher(&vec![9; bytes]).is_ok(), "nobody watches");
            let labels: [&[u8]; 4] = [b"c hs traffic", b"s hs traffic", b"s ap traffic", b"c ap traffic"];
            let (keys, noted) = watch(&key_pair, false, || {
                let keys = labels.map(|label| derive(suite, label, 3));
                keys.iter().for_each(|key| drop(suite.create_cipher(key).unwrap()));
                assert!(suite.create_cipher(&vec![9; bytes]).is_err(), "a key from elsewhere");
                keys
            });
            for (secrets, client, server) in [(noted.handshake, 0, 1), (noted.application, 3, 2)] {
                let Secrets { cipher, client: c, server: s } = secrets.unwrap();
                assert!(c.has_key(cipher, &keys[client]) && s.has_key(cipher, &keys[server]));
            }
            let ((), noted) = watch(&key_pair, false, || {
                let key = derive(suite, b"c ap traffic", 3);
                derive(suite, b"s ap traffic", 3);
                suite.create_cipher(&key).unwrap();
            });
            assert!(noted.application.is_none() && noted.handshake.is_none(), "one was not used");
            let (result, _) =
                watch(&key_pair, false, || suite.create_cipher(&derive(suite, b"exp master", 3)).map(drop));
            assert!(result.is_err(), "of no traffic");
        }
    }
}
