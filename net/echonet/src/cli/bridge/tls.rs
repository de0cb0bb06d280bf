//! TLS to the broker: who is believed, who we are, and what a failure means.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use crate::cli::Failure;

/// Files that TLS is done with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tls<'a> {
    /// Those who may have signed the broker's certificate; `None`: those whom the system trusts.
    pub(crate) authorities: Option<&'a Path>,
    /// Our own certificate, and its key.
    pub(crate) own: Option<(&'a Path, &'a Path)>,
}

impl Tls<'_> {
    /// An option that was given.
    pub(super) fn option(&self) -> Option<&'static str> {
        self.authorities.map(|_| CA.name).or(self.own.map(|_| CERTIFICATE.name))
    }

    /// TLS 1.2 or 1.3.
    pub(super) fn config(&self) -> Result<ClientConfig, Failure> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| Failure::told(format!("--mqtt: no TLS: {error}")))?;
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
            return Err(Failure::told(
                "--mqtt: this system trusts no authority: install its certificates (Debian: ca-certificates), or give the broker's by \
                 --mqtt-ca FILE",
            ));
        }
        Ok(roots)
    }
}

/// An option that names a file, and what has to be in that.
struct File {
    name: &'static str,
    contents: &'static str,
}

const CA: File = File { name: "--mqtt-ca", contents: "the certificate of who signed the broker's" };
const CERTIFICATE: File =
    File { name: "--mqtt-cert", contents: "the certificate that this bridge is to show the broker" };
const KEY: File = File { name: "--mqtt-key", contents: "the key of --mqtt-cert, not encrypted" };

impl File {
    fn wrong(&self, path: &Path, why: &dyn Display) -> Failure {
        let Self { name, contents } = self;
        Failure::told(format!("{name}: {}: {why}: give the file of {contents}, in PEM", path.display()))
    }

    /// The certificates in it, of which there is at least one.
    fn read_all(&self, path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
        let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        let certificates: Vec<_> = certificates.map_err(|error| self.wrong(path, &cause(error)))?;
        if certificates.is_empty() {
            return Err(self.wrong(path, &"no certificate is in it"));
        }
        Ok(certificates)
    }
}

/// What the system says of a file, without what the parser says of that.
fn cause(error: pem::Error) -> String {
    match error {
        pem::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// What helps, if TLS is what failed.
pub(super) fn remedy(error: &(dyn Error + 'static)) -> Option<(String, &'static str)> {
    use CertificateError as Bad;
    let error = of_tls(error)?;
    let remedy = match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::UnknownIssuer | Bad::BadSignature => {
                "name the certificate of the authority that signed the broker's by --mqtt-ca FILE"
            }
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "write the broker's host in --mqtt as its certificate has it"
            }
            Bad::Expired | Bad::ExpiredContext { .. } => {
                "renew the broker's certificate, or set this machine's clock"
            }
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => {
                "set this machine's clock, or wait until the broker's certificate is valid"
            }
            Bad::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
                "the broker shows an authority's own certificate: have the authority sign one for the broker"
            }
            _ => "give the broker another certificate",
        },
        rustls::Error::InvalidMessage(_) => {
            "that port does not speak TLS: use mqtt:// there, or the broker's port for TLS, 8883 as a rule"
        }
        rustls::Error::AlertReceived(
            AlertDescription::CertificateRequired
            | AlertDescription::HandshakeFailure
            | AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown,
        ) => {
            "the broker may want a certificate of its clients: give one that it trusts by --mqtt-cert FILE --mqtt-key FILE"
        }
        _ => "look into the broker's log",
    };
    Some((error.to_string(), remedy))
}

/// Of what lies below an error that of TLS.
fn of_tls<'e>(mut error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    loop {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // What an error of the system wraps is not its source, but it itself.
        error = match error.downcast_ref::<io::Error>() {
            Some(wraps) => wraps.get_ref()?,
            None => error.source()?,
        };
    }
}
