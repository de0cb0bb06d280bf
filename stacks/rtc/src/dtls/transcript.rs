//! Hashes and HMACs for `dimpl`, which does much of the same work again and again: it hashes the transcript of a handshake from its
//! beginning each time, seven times a side, and prepares the key of an HMAC anew for each of several in a row. What was hashed last is
//! kept, and goes on where the next begins with the same bytes; so is the key that was used last.

use aws_lc_rs::{digest, hmac};
use dimpl::crypto::{Buf, HashAlgorithm, HashContext, HashProvider, aws_lc_rs as inner};
use dimpl::{CryptoError, CryptoOperation};

use super::provider::with_desk;
use super::thirteen::schedule::Secret;

/// Shorter ones are hashed anew.
const TRANSCRIPT_BYTES_MIN: usize = 64;
/// Longer keys are not kept. The longest secret of either version is that of a hash.
const KEY_BYTES_MAX: usize = 48;

/// What was hashed last. It is no secret: both sides, and of DTLS 1.2 everyone, have seen it.
pub(super) struct Transcript {
    algorithm: HashAlgorithm,
    bytes: Vec<u8>,
    context: digest::Context,
}

impl Transcript {
    /// Goes on until `data` was hashed. None: that does not begin as this does.
    fn go_on(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> Option<digest::Context> {
        let more = data.strip_prefix(&self.bytes[..]).filter(|_| self.algorithm == algorithm)?;
        self.context.update(more);
        self.bytes.extend_from_slice(more);
        Some(self.context.clone())
    }
}

impl std::fmt::Debug for Transcript {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcript").finish_non_exhaustive()
    }
}

/// Makes the hashes.
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
    /// None: nothing was hashed yet.
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
                desk.transcript = Some(Transcript {
                    algorithm: self.algorithm,
                    bytes: data.to_vec(),
                    context: context.clone(),
                });
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

/// The key that was used last.
pub(super) struct LastKey {
    hash: HashAlgorithm,
    bytes: Secret<KEY_BYTES_MAX>,
    length: usize,
    key: hmac::Key,
}

/// HMAC, with the key that is in `last` if it is the same. Gives the length.
pub(super) fn hmac(
    last: &mut Option<LastKey>,
    hash: HashAlgorithm,
    key: &[u8],
    data: &[u8],
    out: &mut [u8],
) -> Result<usize, CryptoError> {
    let (Some(algorithm), true) = (hmac_of(hash), key.len() <= KEY_BYTES_MAX) else {
        return inner::default_provider().hmac_provider.hmac(hash, key, data, out);
    };
    let is_last = |last: &LastKey| {
        let same = subtle::ConstantTimeEq::ct_eq(&last.bytes.0[..last.length], key);
        last.hash == hash && bool::from(same)
    };
    let fresh = || {
        let mut bytes = Secret([0; KEY_BYTES_MAX]);
        bytes.0[..key.len()].copy_from_slice(key);
        LastKey { hash, bytes, length: key.len(), key: hmac::Key::new(algorithm, key) }
    };
    let last = match last.take_if(|last| is_last(last)) {
        Some(same) => last.insert(same),
        None => last.insert(fresh()),
    };
    let tag = hmac::sign(&last.key, data);
    let tag = tag.as_ref();
    out.get_mut(..tag.len())
        .ok_or(CryptoError::OperationFailed(CryptoOperation::DeriveKey))?
        .copy_from_slice(tag);
    Ok(tag.len())
}

fn digest_of(algorithm: HashAlgorithm) -> Option<&'static digest::Algorithm> {
    match algorithm {
        HashAlgorithm::SHA256 => Some(&digest::SHA256),
        HashAlgorithm::SHA384 => Some(&digest::SHA384),
        _ => None,
    }
}

fn hmac_of(algorithm: HashAlgorithm) -> Option<hmac::Algorithm> {
    match algorithm {
        HashAlgorithm::SHA256 => Some(hmac::HMAC_SHA256),
        HashAlgorithm::SHA384 => Some(hmac::HMAC_SHA384),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};

    use super::super::provider::watch;
    use super::*;

    fn hash(provider: &dyn HashProvider, algorithm: HashAlgorithm, parts: &[&[u8]]) -> Vec<u8> {
        let (mut hash, mut out) = (provider.create_hash(algorithm), Buf::new());
        parts.iter().for_each(|part| hash.update(part));
        hash.clone_and_finalize(&mut out);
        out.into_vec()
    }

    /// Transcripts that grow, shrink, begin in another way, end in pieces, and by another hash.
    #[test]
    fn hashes_are_those_of_dimpl_whatever_was_hashed_before() {
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

    #[test]
    fn hmacs_are_those_of_dimpl_whatever_key_was_used_before() {
        let theirs = inner::default_provider().hmac_provider;
        let mut last = None;
        for hash in [HashAlgorithm::SHA256, HashAlgorithm::SHA384] {
            for (key, bytes) in
                [(1, 32), (1, 32), (1, 31), (2, 32), (2, 48), (2, 49), (2, 48), (3, 0), (2, 200)]
            {
                let (key, mut out, mut expected) = (vec![key; bytes], [0; 48], [0; 48]);
                let length = hmac(&mut last, hash, &key, b"data", &mut out).unwrap();
                assert_eq!(theirs.hmac(hash, &key, b"data", &mut expected).unwrap(), length);
                assert_eq!(out, expected);
            }
        }
        assert!(hmac(&mut last, HashAlgorithm::SHA256, &[1; 32], b"data", &mut [0; 31]).is_err());
    }
}
