//! A signature whose verification waits until our flight is out.
//!
//! To verify takes as long as all else that a client does for its second flight. So a client sends that flight first,
//! and verifies while it travels. Nobody is deceived: the flight is worth nothing to anybody but the owner of the keys
//! that were agreed upon; the certificate that the signature is by was compared with the fingerprint before; and until
//! the signature is verified the connection is not connected: nothing is read, and nothing of the application is said.
//! What a stranger with a copy of that certificate learns is our certificate, which DTLS 1.2 shows to all.

use dimpl::CryptoError;
use dimpl::crypto::{HashAlgorithm, SignatureAlgorithm, SignatureVerifier};

use super::desk::with_desk;
use super::unverified::Unverified;

/// Verifies at once, unless who is at the desk will do it later.
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
        // One at a time: there is one place for it.
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
