//! Kept state of hashes and HMACs: the last hash state, and the last key.

use aws_lc_rs::{digest, hmac};
use dimpl::crypto::{HashAlgorithm, aws_lc_rs as inner};
use dimpl::{CryptoError, CryptoOperation};

use super::thirteen::schedule::Secret;

/// Longer keys are not kept. The longest secret of either version has the length of a hash.
const KEY_BYTES_MAX: usize = 48;

/// The last hash state. It is not secret: both sides, and for DTLS 1.2 every observer, have the input.
pub(super) struct Transcript {
    algorithm: HashAlgorithm,
    bytes: Vec<u8>,
    context: digest::Context,
}

impl Transcript {
    /// `data` was hashed, with this resulting state.
    pub(super) fn new(algorithm: HashAlgorithm, data: &[u8], context: digest::Context) -> Self {
        Self { algorithm, bytes: data.to_vec(), context }
    }

    /// Continues until `data` is hashed. `None`: `data` does not start with the previous input.
    pub(super) fn go_on(&mut self, algorithm: HashAlgorithm, data: &[u8]) -> Option<digest::Context> {
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

/// The last key.
pub(super) struct LastKey {
    hash: HashAlgorithm,
    bytes: Secret<KEY_BYTES_MAX>,
    length: usize,
    key: hmac::Key,
}

/// HMAC, with the key state in `last` if the key is the same. Returns the length.
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

fn hmac_of(algorithm: HashAlgorithm) -> Option<hmac::Algorithm> {
    match algorithm {
        HashAlgorithm::SHA256 => Some(hmac::HMAC_SHA256),
        HashAlgorithm::SHA384 => Some(hmac::HMAC_SHA384),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmacs_equal_those_of_dimpl_after_any_key() {
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
