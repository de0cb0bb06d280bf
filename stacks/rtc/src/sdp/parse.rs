//! Parsing a session description: first into sections line by line, then the data section.

use std::ops::RangeInclusive;

use super::candidate::is_ice_char;
use super::{Candidate, DataSection, Description, Form, Section, Setup};
use crate::dtls::Fingerprint;
use crate::error::SignalingError;
use crate::limits::{Limits, UFRAG_CHARS};

/// Default message size of a peer (RFC 8841 section 6.1).
const DEFAULT_MAX_MESSAGE_BYTES: u64 = 65_536;

/// The agent writes user names of up to 128 bytes: the peer's fragment, a colon, and ours. RFC 8839 section
/// 5.4 allows fragments of 256; fragments in use are far shorter.
const UFRAG_CHARS_MAX: usize = 128 - 1 - UFRAG_CHARS;

type Rule = &'static str;

impl Description {
    /// Parses a description. Unknown attributes are skipped. Errors name the line and the rule.
    pub fn parse(text: &str, limits: &Limits) -> Result<Self, SignalingError> {
        if text.len() > limits.max_sdp_bytes {
            return Err(SignalingError::Limit("length of a session description"));
        }
        let mut parser = Parser { candidates_max: limits.max_remote_candidates, ..Parser::default() };
        for (index, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.is_empty() {
                parser.line(line).map_err(|rule| SignalingError::Syntax { line: index + 1, rule })?;
            }
        }
        parser.finish().map_err(|rule| SignalingError::Syntax { line: 0, rule })
    }
}

/// Transport attributes at any level.
#[derive(Default)]
struct Transport {
    ufrag: Option<String>,
    password: Option<String>,
    fingerprint: Option<Fingerprint>,
    setup: Option<Setup>,
    candidates: Vec<Candidate>,
    end_of_candidates: bool,
}

/// A section as parsed.
struct Media {
    words: [String; 3],
    port: u16,
    bundle_only: bool,
    mid: Option<String>,
    sctp_port: Option<u16>,
    max_message_bytes: Option<u64>,
    transport: Transport,
}

/// What was parsed so far.
#[derive(Default)]
struct Parser {
    has_version: bool,
    origin: Option<(u64, u64)>,
    ice_lite: bool,
    trickle: bool,
    bundle: Vec<String>,
    session: Transport,
    media: Vec<Media>,
    candidates_max: usize,
}

impl Parser {
    fn line(&mut self, line: &str) -> Result<(), Rule> {
        // RFC 8866 section 9, byte-string. Text repeated in the answer can thus not start a line of its
        // own.
        if line.bytes().any(|byte| matches!(byte, 0 | b'\r')) {
            return Err("no NUL, and CR only before LF");
        }
        let Some((kind, value)) = line.split_once('=').filter(|(kind, _)| kind.len() == 1) else {
            return Err("a line is a letter, =, and a value");
        };
        if !self.has_version && (kind, value) != ("v", "0") {
            return Err("the first line is v=0");
        }
        match kind {
            "v" => self.has_version = true,
            "o" => self.origin = Some(origin(value)?),
            "m" => self.media.push(media(value)?),
            "a" => {
                let (name, value) = value.split_once(':').unwrap_or((value, ""));
                self.attribute(name, value)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn attribute(&mut self, name: &str, value: &str) -> Result<(), Rule> {
        match (name, self.media.last_mut()) {
            ("ice-lite", None) => self.ice_lite = true,
            ("ice-options", _) => self.trickle |= value.split(' ').any(|option| option == "trickle"),
            ("group", None) => {
                if let Some(mids) = value.strip_prefix("BUNDLE ") {
                    self.bundle = mids.split_ascii_whitespace().map(String::from).collect();
                }
            }
            ("mid", Some(media)) => media.mid = Some(token(value)?.into()),
            ("bundle-only", Some(media)) => media.bundle_only = true,
            ("sctp-port", Some(media)) => media.sctp_port = Some(port(value)?),
            ("max-message-size", Some(media)) => media.max_message_bytes = Some(number(value)?),
            ("candidate", Some(media)) => {
                // The value begins after the first colon: restore what precedes it.
                let candidate = Candidate::parse(&format!("candidate:{value}"))?;
                media.transport.candidates.extend(candidate);
            }
            (_, Some(media)) => media.transport.attribute(name, value)?,
            (_, None) => self.session.attribute(name, value)?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Description, Rule> {
        let (session_id, session_version) = self.origin.ok_or("a description has an o= line")?;
        let data_at = self.media.iter().position(Media::is_for_data);
        let data_at = data_at.ok_or("a data section: m=application with DTLS/SCTP, not rejected")?;
        // Transport attributes may be in this section, in the bundle's tagged section (RFC 8843 section
        // 7.1.3: the others may omit them), or at session level.
        let tagged_at = self.bundle.first().and_then(|tag| self.at_mid(tag));
        let bundled = self.media[data_at].mid.as_ref().is_some_and(|mid| self.bundle.contains(mid));
        let mut transport = std::mem::take(&mut self.media[data_at].transport);
        if let Some(tagged_at) = tagged_at.filter(|at| bundled && *at != data_at) {
            transport.complete(std::mem::take(&mut self.media[tagged_at].transport));
        }
        transport.complete(std::mem::take(&mut self.session));
        // Excess usable candidates are ignored (RFC 8445 section 6.1.2.5 permits omitting pairs).
        transport.candidates.truncate(self.candidates_max);
        let data = self.media[data_at].data_section(transport)?;
        let mut sections = Vec::with_capacity(self.media.len());
        for (at, media) in self.media.into_iter().enumerate() {
            sections.push(match at == data_at {
                true => Section::Data,
                false => Section::Rejected { media: media.words, mid: media.mid },
            });
        }
        let Self { ice_lite, trickle, bundle, .. } = self;
        Ok(Description { session_id, session_version, ice_lite, trickle, bundle, sections, data })
    }

    fn at_mid(&self, mid: &str) -> Option<usize> {
        self.media.iter().position(|media| media.mid.as_deref() == Some(mid))
    }
}

impl Transport {
    fn attribute(&mut self, name: &str, value: &str) -> Result<(), Rule> {
        match name {
            "ice-ufrag" => {
                let rule = "a user name fragment is 4 to 119 ice-chars";
                self.ufrag = Some(ice_chars(value, 4..=UFRAG_CHARS_MAX, rule)?.into());
            }
            "ice-pwd" => {
                self.password = Some(ice_chars(value, 22..=256, "a password is 22 to 256 ice-chars")?.into());
            }
            "fingerprint" => {
                let (hash, bytes) =
                    value.split_once(' ').ok_or("a fingerprint is the name of a hash and bytes")?;
                // Other hashes may be present for other peers (RFC 8122 section 5): one SHA-256
                // fingerprint suffices.
                if hash.eq_ignore_ascii_case("sha-256") && self.fingerprint.is_none() {
                    let bytes = bytes.trim().parse();
                    self.fingerprint = Some(bytes.map_err(|_| "a SHA-256 fingerprint has 32 bytes")?);
                }
            }
            "setup" => {
                self.setup = Some(match value {
                    "actpass" => Setup::ActPass,
                    "active" => Setup::Active,
                    "passive" => Setup::Passive,
                    _ => return Err("setup is actpass, active or passive"),
                });
            }
            "end-of-candidates" => self.end_of_candidates = true,
            _ => {}
        }
        Ok(())
    }

    /// Takes missing attributes from `other`. Credentials and candidates are only taken together.
    fn complete(&mut self, other: Self) {
        if self.ufrag.is_none() && self.password.is_none() {
            self.ufrag = other.ufrag;
            self.password = other.password;
            self.candidates.extend(other.candidates);
        }
        self.end_of_candidates |= other.end_of_candidates;
        self.fingerprint = self.fingerprint.or(other.fingerprint);
        self.setup = self.setup.or(other.setup);
    }
}

impl Media {
    fn is_for_data(&self) -> bool {
        let [media, protocol, _] = &self.words;
        let protocols = ["UDP/DTLS/SCTP", "TCP/DTLS/SCTP", "DTLS/SCTP"];
        media == "application"
            && protocols.contains(&protocol.as_str())
            && (self.port != 0 || self.bundle_only)
    }

    fn data_section(&self, transport: Transport) -> Result<DataSection, Rule> {
        let [_, _, format] = &self.words;
        let (form, sctp_port) = match format.as_str() {
            "webrtc-datachannel" => {
                (Form::Rfc8841, self.sctp_port.ok_or("the data section has a=sctp-port")?)
            }
            format => (Form::Sctpmap, port(format)?),
        };
        Ok(DataSection {
            mid: self.mid.clone(),
            form,
            ufrag: transport.ufrag.ok_or("it must have a=ice-ufrag")?,
            password: transport.password.ok_or("it must have a=ice-pwd")?,
            fingerprint: transport.fingerprint.ok_or("it must have a=fingerprint with SHA-256")?,
            setup: transport.setup.ok_or("it must have a=setup")?,
            sctp_port,
            max_message_bytes: self.max_message_bytes.unwrap_or(DEFAULT_MAX_MESSAGE_BYTES),
            candidates: transport.candidates,
            end_of_candidates: transport.end_of_candidates,
        })
    }
}

/// `<username> <sess-id> <sess-version> <nettype> <addrtype> <unicast-address>`.
fn origin(value: &str) -> Result<(u64, u64), Rule> {
    let mut words = value.split(' ').skip(1);
    let mut next = || words.next().and_then(|word| word.parse().ok());
    next().zip(next()).ok_or("an o= line has a number for the session and one for its version")
}

/// `<media> <port> <proto> <fmt> ...`.
fn media(value: &str) -> Result<Media, Rule> {
    let mut words = value.splitn(4, ' ');
    let mut word =
        || words.next().filter(|word| !word.is_empty()).ok_or("m= has media, port, protocol, format");
    let (media, port, protocol, formats) = (word()?, word()?, word()?, word()?);
    // A number of ports may follow after a slash.
    let port = port.split('/').next().and_then(|port| port.parse().ok()).ok_or("a port is below 65,536")?;
    Ok(Media {
        words: [media, protocol, formats].map(String::from),
        port,
        bundle_only: false,
        mid: None,
        sctp_port: None,
        max_message_bytes: None,
        transport: Transport::default(),
    })
}

fn token(value: &str) -> Result<&str, Rule> {
    let is_token = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
    if is_token { Ok(value) } else { Err("a mid is a token") }
}

fn ice_chars(value: &str, length: RangeInclusive<usize>, rule: Rule) -> Result<&str, Rule> {
    let holds = length.contains(&value.len()) && value.bytes().all(is_ice_char);
    if holds { Ok(value) } else { Err(rule) }
}

fn port(value: &str) -> Result<u16, Rule> {
    value.trim().parse().ok().filter(|port| *port != 0).ok_or("an SCTP port is 1 to 65,535")
}

/// A number of any length; excessive values count as the maximum.
fn number(value: &str) -> Result<u64, Rule> {
    let value = value.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { Ok(value.parse().unwrap_or(u64::MAX)) } else { Err("max-message-size is a number") }
}
