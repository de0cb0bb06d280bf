//! TLS to a server: trusted authorities, and the records of one connection.

use std::io::{BufRead, Write};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore};

use super::event::StreamError;

/// The TLS configuration for one server.
#[derive(Debug, Clone)]
pub(crate) struct Secure {
    config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    name: ServerName<'static>,
}

impl Secure {
    /// TLS 1.2 or 1.3 to the server of this name. `roots`: trusted authorities in PEM; `None`: those that the
    /// system trusts.
    pub(crate) fn new(host: &str, roots: Option<&str>) -> Result<Self, &'static str> {
        let name = ServerName::try_from(host.to_owned());
        let name =
            name.map_err(|_| "no certificate can be issued for that host: use a name or an address")?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|_| "the cryptography library supports neither TLS 1.2 nor 1.3")?;
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
                "this system has no trusted certificate authorities: install them (Debian: ca-certificates), or set \
                 `server_roots`",
            );
        }
        return Ok(roots);
    };
    let wrong = "`server_roots` must contain certificates of authorities in PEM";
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.map_err(|_| wrong)?).map_err(|_| wrong)?;
    }
    if roots.is_empty() { Err(wrong) } else { Ok(roots) }
}

/// The TLS session of one connection.
#[derive(Debug)]
pub(super) struct Tls {
    connection: ClientConnection,
    /// Decrypted bytes that are not consumed yet.
    clear: Vec<u8>,
}

impl Tls {
    pub(super) fn new(secure: &Secure) -> Result<Self, StreamError> {
        let mut connection = ClientConnection::new(secure.config.clone(), secure.name.clone())
            .map_err(|error| loss(&error))?;
        // Written data is encrypted at once, and nothing is written before the handshake is complete.
        connection.set_buffer_limit(None);
        Ok(Self { connection, clear: Vec::new() })
    }

    /// Decrypts received bytes and appends TLS records to send. Returns whether the handshake is complete.
    pub(super) fn receive(&mut self, mut arrived: &[u8], into: &mut Vec<u8>) -> Result<bool, StreamError> {
        let mut result = Ok(());
        while !arrived.is_empty() && result.is_ok() {
            result = self.receive_some(&mut arrived);
        }
        // After an error too: an alert tells the server the reason.
        self.write_records(into);
        result.map(|()| !self.connection.is_handshaking())
    }

    /// rustls takes a part of the input; decrypted data is moved out each time, so that its buffer limit is
    /// never reached.
    fn receive_some(&mut self, arrived: &mut &[u8]) -> Result<(), StreamError> {
        let read = self.connection.read_tls(arrived);
        read.map_err(|error| StreamError { why: format!("TLS: {error}"), is_final: true })?;
        let state = self.connection.process_new_packets().map_err(|error| loss(&error))?;
        // Nothing can be read after this.
        let has_closed = state.peer_has_closed();
        self.take_clear();
        match has_closed {
            true => {
                Err(StreamError { why: "TLS: the server has closed the session".to_owned(), is_final: false })
            }
            false => Ok(()),
        }
    }

    pub(super) fn clear(&self) -> &[u8] {
        &self.clear
    }

    /// Moves the first `count` decrypted bytes into `to`, which is empty.
    pub(super) fn take(&mut self, count: usize, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.clear[count..]);
        std::mem::swap(&mut self.clear, to);
        to.truncate(count);
    }

    /// Appends these bytes encrypted; the handshake is complete.
    pub(super) fn send(&mut self, bytes: &[u8], into: &mut Vec<u8>) {
        // The buffer has no limit and is emptied at once.
        let _ = self.connection.writer().write_all(bytes);
        self.write_records(into);
    }

    /// Appends a close_notify alert.
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
            // Writing to a vector cannot fail.
            if self.connection.write_tls(into).is_err() {
                return;
            }
        }
    }
}

/// Explains a TLS error. Trying again does not help.
fn loss(error: &rustls::Error) -> StreamError {
    use CertificateError as Bad;
    let remedy = match error {
        rustls::Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "put the certificate of the authority that signed the server's certificate in `server_roots`"
        }
        rustls::Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "use the host name that is in the server's certificate"
        }
        rustls::Error::InvalidCertificate(
            Bad::Expired | Bad::ExpiredContext { .. } | Bad::NotValidYet | Bad::NotValidYetContext { .. },
        ) => "renew the server's certificate, or set this machine's clock",
        rustls::Error::InvalidCertificate(_) => "install another certificate on the server",
        rustls::Error::InvalidMessage(_) => {
            "that port does not speak TLS: use turn: with ?transport=tcp there, or the server's TLS port, usually 5349"
        }
        _ => "check the server's log",
    };
    StreamError { why: format!("TLS: {error}: {remedy}"), is_final: true }
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, ServerConnection};

    use super::*;

    /// A client that expects `turn.example.org`, and a server with a certificate for `name`.
    fn pair(name: &str) -> (Tls, ServerConnection) {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate =
            rcgen::CertificateParams::new([name.to_owned()]).unwrap().self_signed(&key).unwrap();
        let secure = Secure::new("turn.example.org", Some(&certificate.pem())).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let builder = builder.unwrap().with_no_client_auth();
        let config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        (Tls::new(&secure).unwrap(), ServerConnection::new(Arc::new(config)).unwrap())
    }

    /// The output of the server after this input.
    fn answer(server: &mut ServerConnection, mut bytes: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        while !bytes.is_empty() {
            server.read_tls(&mut bytes).unwrap();
            // The result may be an alert.
            let _ = server.process_new_packets();
        }
        while server.wants_write() {
            server.write_tls(&mut said).unwrap();
        }
        said
    }

    /// Runs the handshake to its end; the input is split into pieces of this length.
    fn shake_hands(tls: &mut Tls, server: &mut ServerConnection, pieces: usize) -> Result<bool, StreamError> {
        let mut said = Vec::new();
        let mut is_open = tls.receive(&[], &mut said)?;
        while !said.is_empty() {
            for piece in answer(server, &std::mem::take(&mut said)).chunks(pieces) {
                is_open = tls.receive(piece, &mut said)?;
            }
        }
        Ok(is_open)
    }

    #[test]
    fn data_arrives_in_any_segmentation_until_the_server_closes() {
        for pieces in [1, 7, usize::MAX] {
            let (mut tls, mut server) = pair("turn.example.org");
            assert_eq!(shake_hands(&mut tls, &mut server, pieces), Ok(true));
            let mut said = Vec::new();
            tls.send(&[7; 10_000], &mut said);
            assert!(answer(&mut server, &said).is_empty());
            let mut seen = Vec::new();
            while let Ok(part) = server.reader().fill_buf()
                && !part.is_empty()
            {
                let count = part.len();
                seen.extend_from_slice(part);
                server.reader().consume(count);
            }
            assert_eq!(seen, [7; 10_000]);
            server.writer().write_all(&[9; 40_000]).unwrap();
            answer(&mut server, &[]).chunks(pieces).for_each(|piece| {
                assert_eq!(tls.receive(piece, &mut Vec::new()), Ok(true));
            });
            assert_eq!(tls.clear(), [9; 40_000]);
            let mut taken = Vec::new();
            tls.take(39_999, &mut taken);
            assert_eq!((taken, tls.clear()), (vec![9; 39_999], &[9][..]));
            // Data after the close_notify is ignored and does not block.
            server.send_close_notify();
            let mut last = answer(&mut server, &[]);
            last.extend([0; 100]);
            let ended = last.chunks(pieces).find_map(|piece| tls.receive(piece, &mut Vec::new()).err());
            assert!(ended.is_some_and(|loss| !loss.is_final && loss.why.contains("closed")));
        }
    }

    #[test]
    fn wrong_names_and_protocols_are_refused() {
        let (mut tls, mut server) = pair("other.example.org");
        let StreamError { why, is_final } = shake_hands(&mut tls, &mut server, usize::MAX).unwrap_err();
        assert!(is_final && why.contains("use the host name"), "{why}");
        let (mut tls, _) = pair("turn.example.org");
        let StreamError { why, is_final } =
            tls.receive(b"HTTP/1.1 400 Bad Request\r\n", &mut Vec::new()).unwrap_err();
        assert!(is_final && why.contains("does not speak TLS"), "{why}");
        assert!(Secure::new("turn.example.org", Some("no certificate")).is_err());
        assert!(Secure::new("", None).is_err());
    }
}
