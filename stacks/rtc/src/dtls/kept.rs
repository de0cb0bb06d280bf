//! Stored or provided certificates, as PEM and DER.
//!
//! | accepts | does not accept |
//! |---|---|
//! | ECDSA keys of P-256, in PKCS#8 or SEC1 (`PRIVATE KEY`, `EC PRIVATE KEY`) | RSA, other curves, encrypted keys |
//! | one X.509 certificate, with any signature | chains: the peer checks only the fingerprint (RFC 8827 section 6.5) |

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64ct::{Base64, Encoding};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_cert::der::Decode;

use super::certificate::{CERTIFICATE_BYTES_MAX, Certificate};
use crate::error::Error;

/// Characters in a line of PEM (RFC 7468 section 2).
const PEM_LINE_CHARS: usize = 64;

impl Certificate {
    /// Loads a certificate and its private key, both in DER; the key in PKCS#8 or SEC1.
    ///
    /// Returns an [`Error::Certificate`] if one of them is invalid or unsupported, or if they do not match.
    /// Whether it has [expired](Self::expires) is not checked, since a core has no clock.
    pub fn from_der(certificate: &[u8], private_key: &[u8]) -> Result<Self, Error> {
        if certificate.len() > CERTIFICATE_BYTES_MAX {
            return Err(wrong(format!("it is longer than {CERTIFICATE_BYTES_MAX} bytes")));
        }
        let read = x509_cert::Certificate::from_der(certificate)
            .map_err(|error| wrong(format!("it is not an X.509 certificate in DER: {error}")))?;
        let key_pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_ASN1_SIGNING, private_key);
        let key_pair = key_pair.map_err(|_| {
            wrong("the private key must be an unencrypted ECDSA key with P-256 (openssl ecparam -name prime256v1 -genkey)")
        })?;
        let public_key = read.tbs_certificate().subject_public_key_info().subject_public_key.raw_bytes();
        if public_key != key_pair.public_key().as_ref() {
            return Err(wrong("it does not match the private key"));
        }
        Self::new(Arc::new(key_pair), certificate.to_vec())
    }

    /// The same from PEM (RFC 7468): one text with both, in either order, as written by
    /// [`to_pem`](Self::to_pem), or two concatenated files. The first certificate and the first key are used.
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| wrong(format!("no section CERTIFICATE in the PEM: {error}")))?;
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| wrong(format!("no section PRIVATE KEY in the PEM: {error}")))?;
        Self::from_der(&certificate, key.secret_der())
    }

    /// Certificate and private key as PEM, for [`from_pem`](Self::from_pem). Protect it like a password: it
    /// allows impersonation.
    pub fn to_pem(&self) -> Result<String, Error> {
        let key = self
            .key_pair
            .to_pkcs8v1()
            .map_err(|error| wrong(format!("the key cannot be written: {error}")))?;
        Ok(section("CERTIFICATE", self.der()) + &section("PRIVATE KEY", key.as_ref()))
    }

    /// The expiry date (`notAfter`), as time since 1970-01-01 00:00 UTC. [Generated](Self::generate)
    /// certificates expire at the end of 2049. WebRTC peers ignore it (RFC 8827 section 6.5); an endpoint
    /// refuses to start with an expired certificate, as W3C requires.
    pub fn expires(&self) -> Duration {
        // It was parsed on construction.
        x509_cert::Certificate::from_der(self.der())
            .map(|read| read.tbs_certificate().validity().not_after.to_unix_duration())
            .unwrap_or_default()
    }
}

fn wrong(what: impl fmt::Display) -> Error {
    Error::Certificate(what.to_string())
}

fn section(label: &str, der: &[u8]) -> String {
    let text = Base64::encode_string(der);
    // Base64 is ASCII.
    let lines = text.as_bytes().chunks(PEM_LINE_CHARS).map(String::from_utf8_lossy);
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `openssl ecparam -name prime256v1 -genkey -noout`, and `openssl req -x509 -key - -subj /CN=test
    /// -not_before 20250101000000Z -not_after 20260101000000Z`.
    const OF_OPENSSL: &str = include_str!("tests/openssl.pem");

    #[test]
    fn stored_certificates_round_trip() {
        let certificate = Certificate::generate().unwrap();
        let pem = certificate.to_pem().unwrap();
        assert!(pem.lines().all(|line| line.len() <= PEM_LINE_CHARS), "{pem}");
        let (first, second) = pem.split_at(pem.find("-----BEGIN PRIVATE KEY").unwrap());
        for text in
            [pem.clone(), format!("{second}{first}"), format!("# ours\n{}", pem.replace('\n', "\r\n"))]
        {
            let again = Certificate::from_pem(&text).unwrap();
            assert_eq!(again.fingerprint(), certificate.fingerprint());
            assert_eq!(again.to_pem().unwrap(), pem);
            let shown = format!("{again:?}");
            assert!(!shown.contains("key") && shown.ends_with(".. }"), "{shown}");
        }
        // 2049-12-31.
        assert_eq!(certificate.expires(), Duration::from_secs(2_524_521_600));
    }

    #[test]
    fn accepts_a_certificate_of_openssl() {
        let certificate = Certificate::from_pem(OF_OPENSSL).unwrap();
        assert_eq!(certificate.expires(), Duration::from_secs(1_767_225_600));
        assert!(certificate.to_pem().unwrap().contains("BEGIN PRIVATE KEY"), "from SEC1 to PKCS#8");
    }

    #[test]
    fn errors_name_the_problem() {
        let pem = Certificate::generate().unwrap().to_pem().unwrap();
        let other = Certificate::generate().unwrap().to_pem().unwrap();
        let key = pem.find("-----BEGIN PRIVATE KEY").unwrap();
        let other_key = other.find("-----BEGIN PRIVATE KEY").unwrap();
        let mixed = format!("{}{}", &pem[..key], &other[other_key..]);
        for (text, expected) in [
            ("", "no section CERTIFICATE"),
            (&pem[..key], "no section PRIVATE KEY"),
            (&pem[key..], "no section CERTIFICATE"),
            (&mixed, "does not match the private key"),
        ] {
            let error = Certificate::from_pem(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let der = Certificate::generate().unwrap();
        for (certificate, key, expected) in [
            (&[0x30, 0][..], &[][..], "not an X.509 certificate"),
            (&[0; CERTIFICATE_BYTES_MAX + 1], &[], "longer than 16384 bytes"),
            (der.der(), b"no key", "an unencrypted ECDSA key with P-256"),
        ] {
            let error = Certificate::from_der(certificate, key).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
