//! TLS to a server: whom we believe, and one connection's records.

use std::io::{BufRead, Write};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore};

use super::Loss;

/// What it takes to speak TLS to a server.
#[derive(Debug, Clone)]
pub(crate) struct Secure {
    config: Arc<ClientConfig>,
    /// What its certificate has to name.
    name: ServerName<'static>,
}

impl Secure {
    /// TLS 1.2 or 1.3 with the server of this name. `roots`: those who may have signed its certificate, in PEM; `None`: whom the
    /// system trusts.
    pub(crate) fn new(host: &str, roots: Option<&str>) -> Result<Self, &'static str> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| "no certificate can be for that host: write a name or an address")?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|_| "the cryptography at hand has no TLS 1.2 or 1.3")?;
        let config = builder.with_root_certificates(trusted(roots)?).with_no_client_auth();
        Ok(Self { config: Arc::new(config), name })
    }
}

fn trusted(pem: Option<&str>) -> Result<RootCertStore, &'static str> {
    let mut roots = RootCertStore::empty();
    let Some(pem) = pem else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(
                "this system trusts no authority: install its certificates (Debian: ca-certificates), or set \
                 `server_roots`",
            );
        }
        return Ok(roots);
    };
    let wrong = "`server_roots` has to be certificates of authorities, in PEM";
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|_| wrong)?).map_err(|_| wrong)?;
    }
    if roots.is_empty() { Err(wrong) } else { Ok(roots) }
}

/// One connection's TLS.
#[derive(Debug)]
pub(super) struct Tls {
    connection: ClientConnection,
    /// What has come and is not consumed, in clear.
    clear: Vec<u8>,
}

impl Tls {
    pub(super) fn new(secure: &Secure) -> Result<Self, Loss> {
        let mut connection = ClientConnection::new(secure.config.clone(), secure.name.clone())
            .map_err(|error| loss(&error))?;
        // What is written is taken at once, and nothing before the handshake is made.
        connection.set_buffer_limit(None);
        Ok(Self { connection, clear: Vec::new() })
    }

    /// Takes all that has arrived, and appends what TLS itself has to say. Gives whether the handshake is made.
    pub(super) fn receive(&mut self, mut arrived: &[u8], into: &mut Vec<u8>) -> Result<bool, Loss> {
        let mut result = Ok(());
        while !arrived.is_empty() && result.is_ok() {
            // It takes a part each time; what is in clear is taken at once, so that its own bound is never met.
            if let Err(error) = self.connection.read_tls(&mut arrived) {
                result = Err(Loss { why: format!("TLS: {error}"), is_final: true });
                break;
            }
            result = self.connection.process_new_packets().map(|_| ()).map_err(|error| loss(&error));
            self.take_clear();
        }
        // Also where it is an alert that tells the server why.
        self.write_records(into);
        result.map(|()| !self.connection.is_handshaking())
    }

    pub(super) fn clear(&self) -> &[u8] {
        &self.clear
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.clear.drain(..count);
    }

    /// Appends this, encrypted; the handshake is made.
    pub(super) fn send(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        // Its buffer has no bound, and is emptied at once.
        let _ = self.connection.writer().write_all(bytes);
        self.write_records(into);
    }

    /// Appends that this is the end.
    pub(super) fn end(&mut self, into: &mut Vec<u8>) {
        self.connection.send_close_notify();
        self.write_records(into);
    }

    fn take_clear(&mut self) {
        let mut reader = self.connection.reader();
        while let Ok(part) = reader.fill_buf()
            && !part.is_empty()
        {
            let count = part.len();
            self.clear.extend_from_slice(part);
            reader.consume(count);
        }
    }

    fn write_records(&mut self, into: &mut Vec<u8>) {
        while self.connection.wants_write() {
            // A vector takes everything.
            if self.connection.write_tls(into).is_err() {
                return;
            }
        }
    }
}

/// What a failure of TLS means, and what helps. To try again does not.
fn loss(error: &rustls::Error) -> Loss {
    use CertificateError as Bad;
    let remedy = match error {
        rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "give the certificate of the authority that signed the server's by `Settings::server_roots`"
        }
        rustls::Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "write the host in the URL as the server's certificate has it"
        }
        rustls::Error::InvalidCertificate(
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. },
        ) => "renew the server's certificate, or set this machine's clock",
        rustls::Error::InvalidCertificate(_) => "give the server another certificate",
        rustls::Error::InvalidMessage(_) => {
            "that port does not speak TLS: use turn: with ?transport=tcp there, or the server's port for TLS, 5349 as a rule"
        }
        _ => "look into the server's log",
    };
    Loss { why: format!("TLS: {error}: {remedy}"), is_final: true }
}
