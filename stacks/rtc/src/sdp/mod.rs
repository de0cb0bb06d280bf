//! Session descriptions for data channels: SDP (RFC 8866) with RFC 8841 (SCTP over DTLS), RFC 8839 (ICE), RFC
//! 8122 (fingerprints), RFC 4145 (setup) and RFC 8843 (BUNDLE), in the subset of RFC 8829.
//!
//! | does | does not |
//! |---|---|
//! | one data section, in the current form and that of 2015 (`DTLS/SCTP 5000` with `sctpmap`) | audio and video: such sections are rejected in the answer, in order |
//! | transport attributes in the section, in the bundle's tagged section, or at session level | several data sections: all but the first are rejected |
//! | SHA-256 fingerprints, possibly among others | descriptions without a SHA-256 fingerprint |
//! | UDP candidates with an IP address; writes passive TCP candidates | the peer's TCP candidates, names, zones: such lines are skipped; netdyno-rtc resolves names |

mod candidate;
mod names;
mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

pub use candidate::{Candidate, CandidateKind, CandidateTransport, RelayProtocol};
pub(crate) use names::hide;

use crate::dtls::Fingerprint;

/// A session description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// `<sess-id>` of the `o=` line.
    pub session_id: u64,
    /// `<sess-version>`: increases by one per description (RFC 8829 section 5.2.2).
    pub session_version: u64,
    /// The side is ICE-lite: it answers checks and sends none.
    pub ice_lite: bool,
    /// More candidates may follow (RFC 8840).
    pub trickle: bool,
    /// The mids of the BUNDLE group.
    pub bundle: Vec<String>,
    /// All sections, in order; one of them is [`Section::Data`].
    pub sections: Vec<Section>,
    /// The data section.
    pub data: DataSection,
}

/// A section, which begins with an m= line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// The data channel section.
    Data,
    /// Another section, written with port 0: rejected.
    Rejected {
        /// `<media> <proto> <fmt> ...`: the m= line without the port.
        media: [String; 3],
        /// Its mid.
        mid: Option<String>,
    },
}

/// The data channel section. `Debug` does not reveal the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DataSection {
    /// Its mid; required by RFC 8843, but missing in old implementations.
    pub mid: Option<String>,
    /// The form of its m= line.
    pub form: Form,
    /// ICE user name fragment: 4 to 256 ice-chars.
    pub ufrag: String,
    /// ICE password: 22 to 256 ice-chars.
    pub password: String,
    /// SHA-256 fingerprint of the certificate.
    pub fingerprint: Fingerprint,
    /// The DTLS role.
    pub setup: Setup,
    /// SCTP port.
    pub sctp_port: u16,
    /// Longest message that the side accepts: 65,536 if missing, any length if 0 (RFC 8841 section 6.1).
    pub max_message_bytes: u64,
    /// The candidates known so far.
    pub candidates: Vec<Candidate>,
    /// No more candidates will follow.
    pub end_of_candidates: bool,
}

/// Form of the data section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `m=application 9 UDP/DTLS/SCTP webrtc-datachannel` (RFC 8841).
    Rfc8841,
    /// `m=application 9 DTLS/SCTP 5000` with `a=sctpmap`, as browsers sent until 2019.
    Sctpmap,
}

/// `a=setup` (RFC 4145 section 4, RFC 8842 section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setup {
    /// Either role; the answer chooses. Only in offers.
    ActPass,
    /// This side sends ClientHello.
    Active,
    /// This side waits for it.
    Passive,
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ActPass => "actpass",
            Self::Active => "active",
            Self::Passive => "passive",
        })
    }
}

impl fmt::Display for Description {
    /// As SDP with CRLF.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { session_id, session_version, .. } = self;
        write!(f, "v=0\r\no=- {session_id} {session_version} IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n")?;
        if !self.bundle.is_empty() {
            write!(f, "a=group:BUNDLE {}\r\n", self.bundle.join(" "))?;
        }
        if self.ice_lite {
            f.write_str("a=ice-lite\r\n")?;
        }
        if self.trickle {
            f.write_str("a=ice-options:trickle\r\n")?;
        }
        for section in &self.sections {
            match section {
                Section::Data => self.data.fmt(f)?,
                Section::Rejected { media: [media, protocol, formats], mid } => {
                    write!(f, "m={media} 0 {protocol} {formats}\r\nc=IN IP4 0.0.0.0\r\na=inactive\r\n")?;
                    write_mid(f, mid.as_deref())?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for DataSection {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataSection")
            .field("mid", &self.mid)
            .field("form", &self.form)
            .field("ufrag", &self.ufrag)
            .field("fingerprint", &self.fingerprint)
            .field("setup", &self.setup)
            .field("sctp_port", &self.sctp_port)
            .field("max_message_bytes", &self.max_message_bytes)
            .field("candidates", &self.candidates)
            .field("end_of_candidates", &self.end_of_candidates)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for DataSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.sctp_port;
        // Port 9 and 0.0.0.0 mean that ICE determines the address (RFC 8840 section 4.1.1).
        match self.form {
            Form::Rfc8841 => f.write_str("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n")?,
            Form::Sctpmap => write!(f, "m=application 9 DTLS/SCTP {port}\r\n")?,
        }
        f.write_str("c=IN IP4 0.0.0.0\r\n")?;
        write_mid(f, self.mid.as_deref())?;
        write!(f, "a=ice-ufrag:{}\r\na=ice-pwd:{}\r\n", self.ufrag, self.password)?;
        write!(f, "a=fingerprint:sha-256 {}\r\na=setup:{}\r\n", self.fingerprint, self.setup)?;
        match self.form {
            Form::Rfc8841 => write!(f, "a=sctp-port:{port}\r\n")?,
            Form::Sctpmap => write!(f, "a=sctpmap:{port} webrtc-datachannel 65535\r\n")?,
        }
        write!(f, "a=max-message-size:{}\r\n", self.max_message_bytes)?;
        for candidate in &self.candidates {
            write!(f, "a={candidate}\r\n")?;
        }
        if self.end_of_candidates {
            f.write_str("a=end-of-candidates\r\n")?;
        }
        Ok(())
    }
}

fn write_mid(f: &mut fmt::Formatter<'_>, mid: Option<&str>) -> fmt::Result {
    match mid {
        Some(mid) => write!(f, "a=mid:{mid}\r\n"),
        None => Ok(()),
    }
}
