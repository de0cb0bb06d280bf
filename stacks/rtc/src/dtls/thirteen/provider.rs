//! The suites of DTLS 1.3 that `dimpl` is given, and the traffic secrets that are noted as it makes them.
//!
//! `dimpl` derives a secret by one HMAC, whose input names it: "c hs traffic", "s hs traffic", "c ap traffic" or "s ap
//! traffic" (RFC 8446 section 7.1). What comes out is noted. When it makes ciphers, their keys must be those that
//! follow from a pair of noted secrets, each once; a pair counts when both were seen. So what we derive is what `dimpl`
//! uses, whatever the order of its work, and a version that works in another way fails the handshake.

use dimpl::crypto::{
    Cipher as DimplCipher, Dtls13CipherSuite, HashAlgorithm, SupportedDtls13CipherSuite, aws_lc_rs as inner,
};
use dimpl::{CryptoError, CryptoOperation};

use super::schedule::{LABEL_PREFIX, TrafficSecret};
use crate::dtls::protection::Cipher;
use crate::dtls::provider::with_desk;

/// In the order in which a client of ours offers them: the fastest first.
pub(in crate::dtls) static SUITES: &[&dyn SupportedDtls13CipherSuite] = &[
    &WatchedSuite(Dtls13CipherSuite::AES_128_GCM_SHA256, Cipher::Aes128Gcm),
    &WatchedSuite(Dtls13CipherSuite::AES_256_GCM_SHA384, Cipher::Aes256Gcm),
    &WatchedSuite(Dtls13CipherSuite::CHACHA20_POLY1305_SHA256, Cipher::ChaCha20Poly1305),
];

/// The secrets of both directions in one epoch.
#[derive(Debug)]
pub(in crate::dtls) struct Secrets {
    pub cipher: Cipher,
    pub client: TrafficSecret,
    pub server: TrafficSecret,
}

/// What is known of one epoch.
#[derive(Debug, Default)]
pub(in crate::dtls) struct Noted {
    client: Option<TrafficSecret>,
    server: Option<TrafficSecret>,
    /// The suite whose ciphers had the client's key, and the server's.
    seen: [Option<Cipher>; 2],
}

impl Noted {
    /// The pair, if ciphers with both keys were made.
    pub(in crate::dtls) fn secrets(self) -> Option<Secrets> {
        let [Some(cipher), Some(other)] = self.seen else { return None };
        let (client, server) = self.client.zip(self.server)?;
        (cipher == other).then_some(Secrets { cipher, client, server })
    }

    /// A cipher is made with this key. False: it is neither the client's nor the server's.
    fn see(&mut self, cipher: Cipher, key: &[u8]) -> bool {
        for (secret, seen) in [&self.client, &self.server].into_iter().zip(&mut self.seen) {
            // Each is made once: who was seen is not asked again.
            if seen.is_none() && secret.as_ref().is_some_and(|secret| secret.has_key(cipher, key)) {
                *seen = Some(cipher);
                return true;
            }
        }
        false
    }
}

/// Both epochs.
#[derive(Debug, Default)]
pub(in crate::dtls) struct Epochs {
    pub handshake: Noted,
    pub application: Noted,
}

impl Epochs {
    /// An HMAC was computed: the last step of HKDF-Expand-Label, perhaps, of a traffic secret.
    pub(in crate::dtls) fn note(&mut self, hash: HashAlgorithm, data: &[u8], out: &[u8]) {
        // uint16 length; opaque label<..>; opaque context<..>; and the 1 of HKDF-Expand's first block.
        let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
        let Some((&label_bytes, rest)) = rest.split_first() else { return };
        let Some(label) = rest.get(..label_bytes.into()).and_then(|label| label.strip_prefix(LABEL_PREFIX))
        else {
            return;
        };
        let place = match label {
            b"c hs traffic" => &mut self.handshake.client,
            b"s hs traffic" => &mut self.handshake.server,
            b"c ap traffic" => &mut self.application.client,
            b"s ap traffic" => &mut self.application.server,
            _ => return,
        };
        let length = usize::from(u16::from_be_bytes(*length));
        *place = out.get(..length).and_then(|secret| TrafficSecret::new(hash, secret));
    }
}

#[derive(Debug)]
struct WatchedSuite(Dtls13CipherSuite, Cipher);

impl WatchedSuite {
    fn inner(&self) -> &'static dyn SupportedDtls13CipherSuite {
        let suites = inner::default_provider().dtls13_cipher_suites;
        *suites.iter().find(|suite| suite.suite() == self.0).expect("dimpl has the suites that it names")
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
        // Nobody watches: as `dimpl` has it.
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

    use super::*;
    use crate::dtls::provider::{provider, watch};

    /// What `dimpl` does for one secret. Gives the key that follows.
    fn derive(suite: &dyn SupportedDtls13CipherSuite, label: &[u8], master: u8) -> Vec<u8> {
        let (hmac, hash) = (provider().hmac_provider, suite.hash_algorithm());
        let bytes = hash.output_len();
        let (mut secret, mut key) = (Buf::new(), Buf::new());
        let expand = prf_hkdf::hkdf_expand_label_dtls13;
        expand(hmac, hash, &vec![master; bytes], label, &vec![9; bytes], &mut secret, bytes).unwrap();
        expand(hmac, hash, &secret, b"key", &[], &mut key, suite.key_len()).unwrap();
        key.into_vec()
    }

    #[test]
    fn a_pair_is_noted_when_both_keys_were_used() {
        let key_pair = Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap());
        for &suite in provider().dtls13_cipher_suites {
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
