//! Hashes and HMACs for `dimpl`, which repeats much of its work: it hashes the transcript of a handshake from
//! its start seven times on each side, and prepares the key of an HMAC again for each of several in a row.
//! The last hash state is kept and continued if the next input starts with the same bytes; the last HMAC key
//! is kept too ([`transcript`](super::transcript)).

use aws_lc_rs::digest;
use dimpl::CryptoError;
use dimpl::crypto::{Buf, HashAlgorithm, HashContext, HashProvider, HmacProvider, aws_lc_rs as inner};

use super::desk::with_desk;
use super::key_block::{Expansion, KEY_EXPANSION};
use super::thirteen::schedule::Secret;
use super::transcript::{Transcript, hmac};

/// Shorter inputs are hashed from the start.
const TRANSCRIPT_BYTES_MIN: usize = 64;

/// Creates the hashes.
#[derive(Debug)]
pub(super) struct Continued;

impl HashProvider for Continued {
    fn create_hash(&self, algorithm: HashAlgorithm) -> Box<dyn HashContext> {
        match digest_of(algorithm) {
            Some(digest) => Box::new(Hashing { algorithm, digest, context: None }),
            None => inner::default_provider().hash_provider.create_hash(algorithm),
        }
    }
}

struct Hashing {
    algorithm: HashAlgorithm,
    digest: &'static digest::Algorithm,
    /// `None`: nothing was hashed yet.
    context: Option<digest::Context>,
}

impl Hashing {
    /// The first bytes.
    fn begin(&self, data: &[u8]) -> digest::Context {
        let anew = || {
            let mut context = digest::Context::new(self.digest);
            context.update(data);
            context
        };
        if data.len() < TRANSCRIPT_BYTES_MIN {
            return anew();
        }
        let known = with_desk(|desk| {
            let known = desk.transcript.as_mut().and_then(|known| known.go_on(self.algorithm, data));
            known.unwrap_or_else(|| {
                let context = anew();
                desk.transcript = Some(Transcript::new(self.algorithm, data, context.clone()));
                context
            })
        });
        known.unwrap_or_else(anew)
    }
}

impl HashContext for Hashing {
    fn update(&mut self, data: &[u8]) {
        match &mut self.context {
            Some(context) => context.update(data),
            None => self.context = Some(self.begin(data)),
        }
    }

    fn clone_and_finalize(&self, out: &mut Buf) {
        let context = self.context.clone().unwrap_or_else(|| digest::Context::new(self.digest));
        out.clear();
        out.extend_from_slice(context.finish().as_ref());
    }
}

impl std::fmt::Debug for Hashing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hashing").finish_non_exhaustive()
    }
}

fn digest_of(algorithm: HashAlgorithm) -> Option<&'static digest::Algorithm> {
    match algorithm {
        HashAlgorithm::SHA256 => Some(&digest::SHA256),
        HashAlgorithm::SHA384 => Some(&digest::SHA384),
        _ => None,
    }
}

/// Computes the HMACs, and records the secrets among their inputs and outputs.
#[derive(Debug)]
pub(super) struct WatchedHmac;

impl HmacProvider for WatchedHmac {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        let randoms = data.strip_prefix(KEY_EXPANSION.as_bytes()).and_then(|rest| rest.try_into().ok());
        if let (Some(randoms), Ok(secret)) = (randoms, key.try_into()) {
            let master_secret = Secret(secret);
            with_desk(|desk| desk.expansion = Some(Expansion { master_secret, randoms, hash }));
        }
        let made = with_desk(|desk| {
            let length = hmac(&mut desk.last_key, hash, key, data, out)?;
            desk.epochs.note(hash, data, out.get(..length).unwrap_or_default());
            Ok(length)
        });
        made.unwrap_or_else(|| hmac(&mut None, hash, key, data, out))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};

    use super::super::desk::watch;
    use super::*;

    fn hash(provider: &dyn HashProvider, algorithm: HashAlgorithm, parts: &[&[u8]]) -> Vec<u8> {
        let (mut hash, mut out) = (provider.create_hash(algorithm), Buf::new());
        parts.iter().for_each(|part| hash.update(part));
        hash.clone_and_finalize(&mut out);
        out.into_vec()
    }

    /// Transcripts that grow, shrink, start differently, arrive in parts, and use another hash.
    #[test]
    fn hashes_equal_those_of_dimpl_after_any_history() {
        let key_pair = Arc::new(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap());
        let theirs = inner::default_provider().hash_provider;
        let transcript: Vec<u8> = (0..2000_u32).map(|at| (at * 7) as u8).collect();
        let mut other = transcript.clone();
        other[10] ^= 1;
        let check = || {
            for algorithm in [HashAlgorithm::SHA256, HashAlgorithm::SHA384] {
                for length in [0, 10, 63, 64, 100, 1000, 1000, 1500, 900, 1999, 2000] {
                    for whole in [&transcript, &other] {
                        let (head, tail) = whole[..length].split_at(length * 2 / 3);
                        let ours = hash(&Continued, algorithm, &[&whole[..length]]);
                        assert_eq!(ours, hash(theirs, algorithm, &[&whole[..length]]), "{length}");
                        assert_eq!(ours, hash(&Continued, algorithm, &[head, tail]), "{length}");
                    }
                }
            }
            assert_eq!(
                hash(&Continued, HashAlgorithm::SHA256, &[]),
                hash(theirs, HashAlgorithm::SHA256, &[])
            );
        };
        check();
        let ((), made) = watch(&key_pair, false, check);
        assert!(made.transcript.is_some());
    }
}
