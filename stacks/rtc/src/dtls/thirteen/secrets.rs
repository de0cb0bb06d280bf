//! Records the traffic secrets that `dimpl` derives.
//!
//! `dimpl` derives a secret by one HMAC, whose input contains its label: "c hs traffic", "s hs traffic", "c
//! ap traffic" or "s ap traffic" (RFC 8446 section 7.1). The output is recorded. A pair is valid once ciphers
//! with both keys were created.

use dimpl::crypto::HashAlgorithm;

use super::schedule::{LABEL_PREFIX, TrafficSecret};
use crate::dtls::protection::Cipher;

/// The secrets of both directions in one epoch.
#[derive(Debug)]
pub(in crate::dtls) struct Secrets {
    pub cipher: Cipher,
    pub client: TrafficSecret,
    pub server: TrafficSecret,
}

/// The recorded secrets of one epoch.
#[derive(Debug, Default)]
pub(in crate::dtls) struct Noted {
    client: Option<TrafficSecret>,
    server: Option<TrafficSecret>,
    /// The suite of the cipher with the client's key, and of the one with the server's.
    seen: [Option<Cipher>; 2],
}

impl Noted {
    /// The pair, if ciphers with both keys were created.
    pub(in crate::dtls) fn secrets(self) -> Option<Secrets> {
        let [Some(cipher), Some(other)] = self.seen else { return None };
        let (client, server) = self.client.zip(self.server)?;
        (cipher == other).then_some(Secrets { cipher, client, server })
    }

    /// A cipher is created with this key. False: it is neither the client's nor the server's.
    pub(super) fn see(&mut self, cipher: Cipher, key: &[u8]) -> bool {
        for (secret, seen) in [&self.client, &self.server].into_iter().zip(&mut self.seen) {
            // Each is created once and not checked again.
            if seen.is_none() && secret.as_ref().is_some_and(|secret| secret.has_key(cipher, key)) {
                *seen = Some(cipher);
                return true;
            }
        }
        false
    }
}

/// Both epochs.
#[derive(Debug, Default)]
pub(in crate::dtls) struct Epochs {
    pub handshake: Noted,
    pub application: Noted,
}

impl Epochs {
    /// An HMAC was computed: possibly the last step of HKDF-Expand-Label for a traffic secret.
    pub(in crate::dtls) fn note(&mut self, hash: HashAlgorithm, data: &[u8], out: &[u8]) {
        // uint16 length; opaque label<..>; opaque context<..>; and the 1 of HKDF-Expand's first block.
        let Some((length, rest)) = data.split_first_chunk::<2>() else { return };
        let Some((&label_bytes, rest)) = rest.split_first() else { return };
        let Some(label) = rest.get(..label_bytes.into()).and_then(|label| label.strip_prefix(LABEL_PREFIX))
        else {
            return;
        };
        let place = match label {
            b"c hs traffic" => &mut self.handshake.client,
            b"s hs traffic" => &mut self.handshake.server,
            b"c ap traffic" => &mut self.application.client,
            b"s ap traffic" => &mut self.application.server,
            _ => return,
        };
        let length = usize::from(u16::from_be_bytes(*length));
        *place = out.get(..length).and_then(|secret| TrafficSecret::new(hash, secret));
    }
}
