//! INIT ([RFC 9260 section 3.3.2](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2)) and INIT ACK
//! ([section 3.3.3](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 1, 2  |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                         initiate tag                          |
//! +---------------------------------------------------------------+
//! |              advertised receiver window credit                |
//! +-------------------------------+-------------------------------+
//! |       outbound streams        |        inbound streams        |
//! +-------------------------------+-------------------------------+
//! |                          initial TSN                          |
//! +---------------------------------------------------------------+
//! |                           parameters                          |
//! +---------------------------------------------------------------+
//! ```
//!
//! Parameters that are read: the state cookie, the supported extensions, FORWARD-TSN and zero checksum.
//! Address parameters are known and ignored, because DTLS provides the only path; so are those of ECN and
//! authentication.

use super::bytes::{u16_at, u32_at};
use super::cursor::Cursor;
use super::forward_tsn::ForwardTsn;
use super::parameter::{Parameter, Parameters};
use super::{Data, Malformed, PacketWriter, RawChunk, ReConfig};
use crate::types::Tsn;

/// Length of the fields after the chunk header.
const FIELD_BYTES: usize = 16;

/// State Cookie (RFC 9260 section 3.3.3.1).
const STATE_COOKIE: u16 = 7;
/// Unrecognized Parameter (RFC 9260 section 3.3.3.1): holds a parameter of the INIT.
const UNRECOGNIZED: u16 = 8;
/// Zero Checksum Acceptable (RFC 9653 section 4).
const ZERO_CHECKSUM: u16 = 0x8001;
/// Supported Extensions (RFC 5061 section 4.2.7): one byte per chunk type.
const SUPPORTED_EXTENSIONS: u16 = 0x8008;
/// Forward-TSN-Supported (RFC 3758 section 3.1).
const FORWARD_TSN: u16 = 0xc000;

/// Types that are not reported: those above, addresses (5, 6, 11, 12), cookie preservative (9), ECN (0x8000),
/// and authentication and padding (0x8002 to 0x8005).
const KNOWN: [u16; 15] = [
    5,
    6,
    STATE_COOKIE,
    UNRECOGNIZED,
    9,
    11,
    12,
    0x8000,
    ZERO_CHECKSUM,
    0x8002,
    0x8003,
    0x8004,
    0x8005,
    SUPPORTED_EXTENSIONS,
    FORWARD_TSN,
];

/// The protection that replaces the checksum: SCTP over DTLS (RFC 9653 section 6).
const SCTP_OVER_DTLS: [u8; 4] = [0, 0, 0, 1];

/// The parameters that each side announces at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Init<'a> {
    /// Verification tag of packets to the sender; never 0.
    pub initiate_tag: u32,
    /// The sender's receive window in bytes.
    pub window_bytes: u32,
    /// Number of outgoing streams that the sender requests.
    pub outbound_streams: u16,
    /// Number of incoming streams that the sender supports.
    pub inbound_streams: u16,
    /// TSN of the sender's first DATA chunk.
    pub initial_tsn: Tsn,
    /// The sender's extensions.
    pub extensions: Extensions,
    /// In an INIT ACK: the cookie that COOKIE ECHO must return. Opaque to this side.
    pub cookie: Option<&'a [u8]>,
    /// Unknown parameters that the sender wants reported. Not written.
    pub unrecognized: Unrecognized<'a>,
}

/// Extensions of SCTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions {
    /// RE-CONFIG (RFC 6525).
    pub re_config: bool,
    /// FORWARD-TSN (RFC 3758).
    pub forward_tsn: bool,
    /// I-DATA (RFC 8260).
    pub interleaving: bool,
    /// I-FORWARD-TSN (RFC 8260).
    pub interleaved_forward_tsn: bool,
    /// The sender accepts packets with a checksum of zero, since DTLS protects them (RFC 9653). INIT and
    /// COOKIE ECHO still need a correct one.
    pub zero_checksum: bool,
}

/// Unknown parameters of an INIT or INIT ACK whose type requests a report (RFC 9260 section 3.2.1). Ends
/// after an unknown one whose type stops processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unrecognized<'a> {
    parameters: Parameters<'a>,
}

impl<'a> Iterator for Unrecognized<'a> {
    type Item = Parameter<'a>;

    fn next(&mut self) -> Option<Parameter<'a>> {
        loop {
            let parameter = self.parameters.find(|parameter| !KNOWN.contains(&parameter.kind))?;
            if !parameter.skips_if_unknown() {
                self.parameters = Parameters::default();
            }
            if parameter.reports_if_unknown() {
                return Some(parameter);
            }
        }
    }
}

impl<'a> Init<'a> {
    /// Chunk type INIT.
    pub const KIND: u8 = 1;
    /// Chunk type INIT ACK.
    pub const KIND_ACK: u8 = 2;
    /// Smallest receive window allowed in an INIT or INIT ACK (RFC 9260 section 6), in bytes.
    pub const WINDOW_BYTES_MIN: u32 = 1500;

    /// Parses a chunk of either type.
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let Some((fields, rest)) = chunk.value.split_first_chunk::<FIELD_BYTES>() else {
            return Err(Malformed { what: "INIT", rule: "must have its fields" });
        };
        let initiate_tag = u32_at(fields, 0);
        if initiate_tag == 0 {
            return Err(Malformed { what: "INIT", rule: "must have a nonzero tag" });
        }
        let parameters = Parameters::new(rest);
        let (extensions, cookie) = read_parameters(parameters);
        Ok(Self {
            initiate_tag,
            window_bytes: u32_at(fields, 4),
            outbound_streams: u16_at(fields, 8),
            inbound_streams: u16_at(fields, 10),
            initial_tsn: Tsn(u32_at(fields, 12)),
            extensions,
            cookie,
            unrecognized: Unrecognized { parameters },
        })
    }

    /// The rule that the numbers violate, if any. Such a chunk does not establish an association but must not
    /// be ignored: it is answered with an ABORT whose verification tag is the initiate tag (RFC 9260 sections
    /// 3.3.2 and 3.3.3).
    pub fn broken_rule(&self) -> Option<&'static str> {
        if self.outbound_streams == 0 {
            return Some("no outbound streams");
        }
        if self.inbound_streams == 0 {
            return Some("no inbound streams");
        }
        (self.window_bytes < Self::WINDOW_BYTES_MIN).then_some("a receive window below 1,500 bytes")
    }

    /// Writes an INIT. Returns false and writes nothing if it does not fit.
    #[must_use]
    pub fn write(&self, packet: &mut PacketWriter<'_>) -> bool {
        self.write_as(Self::KIND, packet, Unrecognized::default())
    }

    /// Writes an INIT ACK that reports unknown parameters of the INIT, as far as they fit. Returns false and
    /// writes nothing if the rest does not fit.
    #[must_use]
    pub fn write_ack(&self, packet: &mut PacketWriter<'_>, unrecognized: Unrecognized<'_>) -> bool {
        self.write_as(Self::KIND_ACK, packet, unrecognized)
    }

    fn write_as(&self, kind: u8, packet: &mut PacketWriter<'_>, reports: Unrecognized<'_>) -> bool {
        packet.chunk_within(kind, 0, |value| {
            let mut cursor = Cursor::new(value);
            cursor.u32(self.initiate_tag)?;
            cursor.u32(self.window_bytes)?;
            cursor.u16(self.outbound_streams)?;
            cursor.u16(self.inbound_streams)?;
            cursor.u32(self.initial_tsn.0)?;
            if let Some(cookie) = self.cookie {
                cursor.parameter(STATE_COOKIE, |value| value.bytes(cookie))?;
            }
            self.extensions.write(&mut cursor)?;
            for report in reports {
                // One that does not fit changes nothing; a shorter one after it may fit.
                let _ = cursor.parameter(UNRECOGNIZED, |value| report.write(value));
            }
            Some(cursor.length())
        })
    }
}

impl Extensions {
    /// Adds the extension that a chunk type in Supported Extensions announces.
    fn add_chunk(&mut self, kind: u8) {
        match kind {
            ReConfig::KIND => self.re_config = true,
            ForwardTsn::KIND => self.forward_tsn = true,
            Data::KIND_INTERLEAVED => self.interleaving = true,
            ForwardTsn::KIND_INTERLEAVED => self.interleaved_forward_tsn = true,
            _ => {}
        }
    }

    fn write(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        let chunks = [
            (self.re_config, ReConfig::KIND),
            (self.forward_tsn, ForwardTsn::KIND),
            (self.interleaving, Data::KIND_INTERLEAVED),
            (self.interleaved_forward_tsn, ForwardTsn::KIND_INTERLEAVED),
        ];
        if chunks.iter().any(|(can, _)| *can) {
            cursor.parameter(SUPPORTED_EXTENSIONS, |value| {
                chunks.iter().filter(|(can, _)| *can).try_for_each(|(_, kind)| value.bytes(&[*kind]))
            })?;
        }
        if self.forward_tsn {
            cursor.parameter(FORWARD_TSN, |_| Some(()))?;
        }
        if self.zero_checksum {
            cursor.parameter(ZERO_CHECKSUM, |value| value.bytes(&SCTP_OVER_DTLS))?;
        }
        Some(())
    }
}

/// Reads the extensions and the first cookie, as far as the types of unknown parameters allow.
fn read_parameters<'a>(parameters: Parameters<'a>) -> (Extensions, Option<&'a [u8]>) {
    let (mut extensions, mut cookie) = (Extensions::default(), None);
    for parameter in parameters {
        match parameter.kind {
            STATE_COOKIE => cookie = cookie.or(Some(parameter.value)),
            SUPPORTED_EXTENSIONS => {
                parameter.value.iter().for_each(|&kind| extensions.add_chunk(kind));
            }
            FORWARD_TSN => extensions.forward_tsn = true,
            ZERO_CHECKSUM => extensions.zero_checksum |= parameter.value == SCTP_OVER_DTLS,
            kind if !parameter.skips_if_unknown() && !KNOWN.contains(&kind) => break,
            _ => {}
        }
    }
    (extensions, cookie)
}

#[cfg(test)]
mod tests;
