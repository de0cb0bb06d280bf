//! A signature that is not verified yet.

use dimpl::CryptoError;
use dimpl::crypto::{HashAlgorithm, SignatureAlgorithm, aws_lc_rs as inner};

/// The arguments of a verification.
#[derive(Debug)]
pub(super) struct Unverified {
    pub certificate: Vec<u8>,
    pub data: Vec<u8>,
    pub signature: Vec<u8>,
    pub hash: HashAlgorithm,
    pub algorithm: SignatureAlgorithm,
}

impl Unverified {
    /// Verifies it now.
    pub(super) fn verify(&self) -> Result<(), CryptoError> {
        let Self { certificate, data, signature, hash, algorithm } = self;
        let verifier = inner::default_provider().signature_verification;
        verifier.verify_signature(certificate, data, signature, *hash, *algorithm)
    }
}
