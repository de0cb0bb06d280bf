//! TLS to the broker: who is believed, and what a failure means.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use crate::cli::Failure;

/// TLS 1.2 or 1.3 with a broker whose certificate was signed by one of these authorities, or else by one that the system trusts.
pub(super) fn config(authorities: Option<&Path>) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(path) => {
            let wrong = |why: &dyn Display| {
                Failure::told(format!(
                    "--mqtt-ca: {}: {why}: give the file of the certificate of who signed the broker's, in PEM",
                    path.display()
                ))
            };
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&cause(error)))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| wrong(&cause(error)))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"no certificate is in it"));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err(Failure::told(
                    "--mqtt: this system trusts no authority: install its certificates (Debian: ca-certificates), or give the broker's by \
                     --mqtt-ca FILE",
                ));
            }
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| Failure::told(format!("--mqtt: no TLS: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
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
            AlertDescription::CertificateRequired | AlertDescription::HandshakeFailure,
        ) => {
            "the broker may want a certificate of its clients, and this bridge has none: let it ask for a password"
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
