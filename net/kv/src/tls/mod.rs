//! TLS: loads certificates and keys, and translates between sockets and plaintext.

mod session;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

pub(crate) use wire::Wire;

/// TLS settings of a port (versions 1.2 and 1.3); see [`Builder::tls`](crate::Builder::tls). The PEM files
/// are read once, on startup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsSettings {
    /// The server's certificate chain (`tls-cert-file`).
    pub cert_file: PathBuf,
    /// Its private key (`tls-key-file`).
    pub key_file: PathBuf,
    /// CA certificates that verify client certificates (`tls-ca-cert-file`).
    pub ca_cert_file: Option<PathBuf>,
    /// Whether a client certificate is required (`tls-auth-clients`).
    pub auth_clients: AuthClients,
}

/// Whether a client certificate is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthClients {
    /// Required.
    #[default]
    Yes,
    /// Not requested.
    No,
    /// Requested, and verified if the client sends one.
    Optional,
}

/// An error in the TLS settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}: {option} requires a readable PEM file", path.display())]
    Read {
        /// The command-line option that names the file.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file lacks a certificate or key.
    #[error("{} contains no valid {what} in PEM format ({reason}), which {option} requires", path.display())]
    Content {
        /// The command-line option that names the file.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The missing object.
        what: &'static str,
        /// The fault.
        reason: String,
    },
    /// Certificate and key do not match, or are of an unsupported kind.
    #[error("{} and {} do not match: {reason}: use a certificate with its own key (--tls-cert-file, --tls-key-file)", cert_file.display(), key_file.display())]
    Pair {
        /// The certificate.
        cert_file: PathBuf,
        /// The key.
        key_file: PathBuf,
        /// The fault.
        reason: String,
    },
    /// Client certificates are required, but there is no CA certificate.
    #[error(
        "client certificates are required, but there is no CA certificate: set --tls-ca-cert-file, or use --tls-auth-clients no"
    )]
    NoAuthority,
}

const CERTIFICATE: (&str, &str) = ("--tls-cert-file", "certificate");
const AUTHORITY: (&str, &str) = ("--tls-ca-cert-file", "certificate");
const KEY: (&str, &str) = ("--tls-key-file", "private key");

impl TlsSettings {
    /// Settings with this certificate and key. Client certificates are required by default: set the CA file,
    /// or change [`auth_clients`](Self::auth_clients).
    pub fn new(cert_file: impl Into<PathBuf>, key_file: impl Into<PathBuf>) -> Self {
        let (cert_file, key_file) = (cert_file.into(), key_file.into());
        Self { cert_file, key_file, ca_cert_file: None, auth_clients: AuthClients::default() }
    }

    pub(crate) fn load(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let chain = certificates(CERTIFICATE, &self.cert_file)?;
        let key = private_key(&self.key_file)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let pair = |error: rustls::Error| TlsError::Pair {
            cert_file: self.cert_file.clone(),
            key_file: self.key_file.clone(),
            reason: error.to_string(),
        };
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions().map_err(pair)?;
        let builder = match self.auth_clients {
            AuthClients::No => builder.with_no_client_auth(),
            AuthClients::Yes | AuthClients::Optional => {
                let path = self.ca_cert_file.as_deref().ok_or(TlsError::NoAuthority)?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots(path)?, provider);
                let optional = self.auth_clients == AuthClients::Optional;
                let verifier = if optional { verifier.allow_unauthenticated() } else { verifier };
                let verifier = verifier.build().map_err(|error| content(AUTHORITY, path, &error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        Ok(Arc::new(builder.with_single_cert(chain, key).map_err(pair)?))
    }
}

/// TLS settings of the link to a primary; see [`Builder::replica_tls`](crate::Builder::replica_tls). The PEM files
/// are read once, on startup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaTlsSettings {
    /// CA certificates that verify the primary's certificate (`tls-ca-cert-file`).
    pub ca_cert_file: PathBuf,
    /// The replica's certificate chain and its private key (`tls-cert-file`, `tls-key-file`).
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl ReplicaTlsSettings {
    /// Settings without a client certificate.
    pub fn new(ca_cert_file: impl Into<PathBuf>) -> Self {
        Self { ca_cert_file: ca_cert_file.into(), certificate: None }
    }

    pub(crate) fn load(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let (cert_file, key_file) = self.certificate.clone().unwrap_or_default();
        let pair = |error: rustls::Error| TlsError::Pair {
            cert_file: cert_file.clone(),
            key_file: key_file.clone(),
            reason: error.to_string(),
        };
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(pair)?;
        let builder = builder.with_root_certificates(roots(&self.ca_cert_file)?);
        let config = match &self.certificate {
            None => builder.with_no_client_auth(),
            Some((cert_file, key_file)) => {
                let chain = certificates(CERTIFICATE, cert_file)?;
                builder.with_client_auth_cert(chain, private_key(key_file)?).map_err(pair)?
            }
        };
        Ok(Arc::new(config))
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(&read(KEY.0, path)?).map_err(|error| content(KEY, path, &error))
}

fn roots(path: &Path) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(AUTHORITY, path)? {
        roots.add(certificate).map_err(|error| content(AUTHORITY, path, &error))?;
    }
    Ok(Arc::new(roots))
}

fn certificates(
    kind: (&'static str, &'static str),
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(kind.0, path)?).collect();
    let found = found.map_err(|error| content(kind, path, &error))?;
    if found.is_empty() { Err(content(kind, path, &"there is none")) } else { Ok(found) }
}

fn read(option: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::Read { option, path: path.into(), source })
}

fn content(
    (option, what): (&'static str, &'static str),
    path: &Path,
    reason: &dyn std::fmt::Display,
) -> TlsError {
    TlsError::Content { option, path: path.into(), what, reason: reason.to_string() }
}
