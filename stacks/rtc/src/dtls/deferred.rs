//! Verification of a signature after our flight was sent.
//!
//! Verification takes as long as all other work of a client for its second flight, so the client sends that
//! flight first. This is safe: the flight is useful only to the owner of the agreed keys; the signing
//! certificate was compared with the fingerprint before; and until the signature is verified, the connection
//! is not established: nothing is read, and no application data is sent. An attacker with a copy of that
//! certificate learns our certificate, which DTLS 1.2 reveals anyway.

use dimpl::CryptoError;
use dimpl::crypto::{HashAlgorithm, SignatureAlgorithm, SignatureVerifier};

use super::desk::with_desk;
use super::unverified::Unverified;

/// Verifies at once, unless the owner of the desk will do so later.
#[derive(Debug)]
pub(super) struct DeferringVerifier;

impl SignatureVerifier for DeferringVerifier {
    fn verify_signature(
        &self,
        certificate: &[u8],
        data: &[u8],
        signature: &[u8],
        hash: HashAlgorithm,
        algorithm: SignatureAlgorithm,
    ) -> Result<(), CryptoError> {
        let unverified = || Unverified {
            certificate: certificate.to_vec(),
            data: data.to_vec(),
            signature: signature.to_vec(),
            hash,
            algorithm,
        };
        // Only one verification can be deferred.
        let deferred = with_desk(|desk| {
            let waits = desk.defers && desk.unverified.is_none();
            if waits {
                desk.unverified = Some(unverified());
            }
            waits
        });
        match deferred {
            Some(true) => Ok(()),
            _ => unverified().verify(),
        }
    }
}
