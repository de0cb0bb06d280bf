//! TLS to the broker: trusted authorities, client certificate, explanations of failures.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use crate::cli::Failure;

/// The files of a TLS configuration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tls<'a> {
    /// Trusted certificate authorities; `None` for those of the system.
    pub(crate) authorities: Option<&'a Path>,
    /// The client certificate and its key.
    pub(crate) own: Option<(&'a Path, &'a Path)>,
}

impl Tls<'_> {
    /// The name of an option that was given.
    pub(super) fn option(&self) -> Option<&'static str> {
        self.authorities.map(|_| CA.name).or(self.own.map(|_| CERTIFICATE.name))
    }

    /// TLS 1.2 or 1.3.
    pub(super) fn config(&self) -> Result<ClientConfig, Failure> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| Failure::new(format!("--mqtt: no TLS: {error}")))?;
        let builder = builder.with_root_certificates(self.roots()?);
        let Some((certificate, key)) = self.own else { return Ok(builder.with_no_client_auth()) };
        let chain = CERTIFICATE.read_all(certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| KEY.wrong(key, &cause(error)))?;
        builder.with_client_auth_cert(chain, secret).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => KEY.wrong(key, &"it is not the key of --mqtt-cert"),
            error => KEY.wrong(key, &error),
        })
    }

    fn roots(&self) -> Result<RootCertStore, Failure> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = self.authorities {
            for certificate in CA.read_all(path)? {
                roots.add(certificate).map_err(|error| CA.wrong(path, &error))?;
            }
            return Ok(roots);
        }
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(Failure::new(
                "--mqtt: this system has no trusted certificate authorities: install them (Debian: ca-certificates), or pass the \
                 broker's with --mqtt-ca FILE",
            ));
        }
        Ok(roots)
    }
}

/// An option that names a file, and the expected contents.
struct File {
    name: &'static str,
    contents: &'static str,
}

const CA: File =
    File { name: "--mqtt-ca", contents: "the certificate of the authority that signed the broker's" };
const CERTIFICATE: File =
    File { name: "--mqtt-cert", contents: "the certificate that the bridge presents to the broker" };
const KEY: File = File { name: "--mqtt-key", contents: "the unencrypted key of --mqtt-cert" };

impl File {
    fn wrong(&self, path: &Path, why: &dyn Display) -> Failure {
        let Self { name, contents } = self;
        Failure::new(format!("{name}: {}: {why}: expected a PEM file of {contents}", path.display()))
    }

    /// The certificates in the file, at least one.
    fn read_all(&self, path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
        let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let certificates: Vec<_> = certificates.map_err(|error| self.wrong(path, &cause(error)))?;
        if certificates.is_empty() {
            return Err(self.wrong(path, &"it contains no certificate"));
        }
        Ok(certificates)
    }
}

/// The system's error, without the parser's wording.
fn cause(error: pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The remedy for a TLS failure.
pub(super) fn remedy(error: &(dyn Error + 'static)) -> Option<(String, &'static str)> {
    use CertificateError as Bad;
    let error = tls_error(error)?;
    let remedy = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer | Bad::BadSignature => {
                "pass the certificate of the authority that signed the broker's with --mqtt-ca FILE"
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "use the host name of the broker's certificate in --mqtt"
            }
            Bad::Expired | Bad::ExpiredContext { .. } => {
                "renew the broker's certificate, or set this machine's clock"
            }
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "set this machine's clock, or wait until the broker's certificate is valid"
            }
            Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "the broker uses the certificate of an authority: have the authority sign one for the broker"
            }
            _ => "give the broker another certificate",
        },
        rustls::Error::InvalidMessage(_) => {
            "that port does not use TLS: use mqtt://, or the broker's TLS port, usually 8883"
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown,
        ) => {
            "the broker may require a client certificate: pass one that it trusts with --mqtt-cert FILE --mqtt-key FILE"
        }
        _ => "see the broker's log",
    };
    Some((error.to_string(), remedy))
}

/// The TLS error among the causes of an error.
fn tls_error<'e>(mut error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // The error that a system error wraps is not its source: it must be unwrapped.
        error = match error.downcast_ref::<io::Error>() {
            Some(wraps) => wraps.get_ref()?,
            None => error.source()?,
        };
    }
}
