//! The local certificate, and fingerprints.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use super::provider;
use crate::error::Error;

/// Length of a SHA-256 hash in bytes.
const FINGERPRINT_BYTES: usize = 32;
/// Maximum length of a certificate in bytes.
pub(super) const CERTIFICATE_BYTES_MAX: usize = 16_384;
/// Length of a serial number in bytes: RFC 5280 section 4.1.2.2 allows 20.
const SERIAL_BYTES: usize = 16;
/// Maximum length of a handshake datagram in bytes: with IPv6 and UDP headers 1,200, which every WebRTC path
/// carries.
pub(super) const HANDSHAKE_DATAGRAM_BYTES: usize = 1150;
/// Initial retransmission timeout. RFC 6347 section 4.2.4.1 recommends 1 s for an unknown path; here ICE has
/// just measured it, and losses are usually due to a peer that was not ready yet.
pub(super) const FIRST_RETRANSMISSION: Duration = Duration::from_millis(100);
/// Retransmissions of one flight, with exponential backoff.
pub(super) const RETRANSMISSIONS_MAX: usize = 8;
/// Time limit of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Handshake datagrams that are buffered while an earlier one is missing.
const QUEUE_MAX: usize = 30;

/// A certificate with its key and SHA-256 fingerprint: self-signed and generated once per process,
/// [stored](Self::to_pem), or [provided](Self::from_pem).
pub struct Certificate {
    pub(super) key_pair: Arc<EcdsaKeyPair>,
    pub(super) der: Vec<u8>,
    /// Settings of every handshake with this certificate. They are created once, because `dimpl` then tests
    /// all of its cryptography, which takes longer than a handshake.
    pub(super) config: Arc<dimpl::Config>,
    fingerprint: Fingerprint,
}

impl Certificate {
    /// Generates an ECDSA P-256 certificate (RFC 8827 section 6.5). Key and serial number use the system's
    /// random bytes.
    pub fn generate() -> Result<Self, Error> {
        let failed = |what: &dyn fmt::Display| Error::Certificate(what.to_string());
        let key_pair =
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|error| failed(&error))?;
        let key_pair = Arc::new(key_pair);
        let der = sign(&key_pair).map_err(|error| failed(&error))?;
        Self::new(key_pair, der)
    }

    /// From a key and its certificate.
    pub(super) fn new(key_pair: Arc<EcdsaKeyPair>, der: Vec<u8>) -> Result<Self, Error> {
        let config = config().map_err(|error| Error::Certificate(error.to_string()))?;
        let fingerprint = Fingerprint::of(&der);
        Ok(Self { key_pair, der, config: Arc::new(config), fingerprint })
    }

    /// The certificate in DER, as sent to the peer.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Its SHA-256 fingerprint, as the peer verifies it.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

/// A key pair of aws-lc-rs for rcgen, so that the private key is never exported.
struct Signer<'a>(&'a EcdsaKeyPair);

impl rcgen::PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_ECDSA_P256_SHA256
    }
}

impl rcgen::SigningKey for Signer<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let signature = self.0.sign(&SystemRandom::new(), message);
        Ok(signature.map_err(|_| rcgen::Error::RemoteKeyError)?.as_ref().to_vec())
    }
}

fn sign(key_pair: &EcdsaKeyPair) -> Result<Vec<u8>, rcgen::Error> {
    let mut serial = [0; SERIAL_BYTES];
    aws_lc_rs::rand::fill(&mut serial).map_err(|_| rcgen::Error::RingUnspecified)?;
    // A positive number without leading zeros. Firefox rejects two certificates with the same issuer and
    // serial number.
    serial[0] = serial[0] & 0x7F | 0x40;
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "WebRTC");
    params.serial_number = Some(serial.to_vec().into());
    // A core reads no clock, so the dates are fixed, with the widest range of two-digit years (RFC 5280
    // section 4.1.2.5). Peers ignore them: only the fingerprint matters (RFC 8827 section 6.5).
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(2049, 12, 31);
    Ok(params.self_signed(&Signer(key_pair))?.der().to_vec())
}

fn config() -> Result<dimpl::Config, dimpl::Error> {
    dimpl::Config::builder()
        .with_crypto_provider(provider::provider())
        .require_client_certificate(true)
        // ICE has proved that the peer is reachable; a cookie would prove it again, at the cost of a round
        // trip.
        .use_server_cookie(false)
        .mtu(HANDSHAKE_DATAGRAM_BYTES)
        .max_queue_rx(QUEUE_MAX)
        .flight_start_rto(FIRST_RETRANSMISSION)
        // Replies to the peer's retransmissions count towards the same limit, and there are as many of them.
        .flight_retries(2 * RETRANSMISSIONS_MAX)
        .handshake_timeout(HANDSHAKE_TIMEOUT)
        .build()
}

/// SHA-256 of a certificate, as in `a=fingerprint` (RFC 8122).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; FINGERPRINT_BYTES]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    pub(crate) fn of(der: &[u8]) -> Self {
        let mut bytes = [0; FINGERPRINT_BYTES];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, der).as_ref());
        Self(bytes)
    }
}

impl fmt::Display for Fingerprint {
    /// "AB:CD:.." without the name of the hash.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

impl FromStr for Fingerprint {
    type Err = Error;

    /// Pairs of hexadecimal digits, of either case, with colons between (RFC 8122 section 5).
    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong =
            || Error::Dtls("a SHA-256 fingerprint is 32 pairs of hexadecimal digits with colons".into());
        let mut bytes = [0; FINGERPRINT_BYTES];
        let mut pairs = text.split(':');
        for byte in &mut bytes {
            let pair = pairs.next().filter(|pair| pair.len() == 2).ok_or_else(wrong)?;
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        if pairs.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_round_trip() {
        let certificate = Certificate::generate().unwrap();
        let text = certificate.fingerprint().to_string();
        assert_eq!(text.len(), 95);
        assert_eq!(&text.parse::<Fingerprint>().unwrap(), certificate.fingerprint());
        assert_eq!(&text.to_lowercase().parse::<Fingerprint>().unwrap(), certificate.fingerprint());
        let long = format!("{text}:00");
        let plus = text.replacen(&text[..2], "+1", 1);
        for wrong in ["", "AB", &text[1..], &text[..94], &long, &plus, &text.replace(':', "-"), "é:"] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn certificates_differ_and_hide_their_key() {
        let (a, b) = (Certificate::generate().unwrap(), Certificate::generate().unwrap());
        assert_ne!(a.fingerprint(), b.fingerprint());
        assert!(a.der.len() < 400, "{}", a.der.len());
        assert_eq!(format!("{a:?}"), format!("Certificate {{ fingerprint: {:?}, .. }}", a.fingerprint()));
    }
}
