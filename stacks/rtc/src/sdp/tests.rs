//! Descriptions of other implementations, and rejected ones.

use proptest::prelude::*;

use super::*;
use crate::error::SignalingError;
use crate::limits::Limits;

const BYTES: &str =
    "0A:1B:2C:3D:4E:5F:60:71:82:93:A4:B5:C6:D7:E8:F9:0A:1B:2C:3D:4E:5F:60:71:82:93:A4:B5:C6:D7:E8:F9";

/// The form of an offer by Chrome with one data channel.
fn chrome() -> String {
    format!(
        "v=0\r\no=- 4962303333179871722 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n\
         a=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
         m=application 55330 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 192.0.2.7\r\n\
         a=candidate:3302366163 1 udp 2122260223 192.0.2.7 55330 typ host generation 0 network-id 1 network-cost 10\r\n\
         a=candidate:2325739 1 udp 2122187263 0a1b2c3d-1111-4222-8333-444455556666.local 55331 typ host generation 0\r\n\
         a=candidate:1841136 1 udp 1686052607 203.0.113.9 55330 typ srflx raddr 192.0.2.7 rport 55330 generation 0\r\n\
         a=candidate:344579997 1 tcp 1518280447 192.0.2.7 9 typ host tcptype active generation 0\r\n\
         a=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlJh\r\na=ice-options:trickle\r\n\
         a=fingerprint:sha-256 {BYTES}\r\na=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\n\
         a=max-message-size:262144\r\n"
    )
}

/// Firefox: session-level fingerprint and options, maximum message size, end of candidates.
fn firefox() -> String {
    format!(
        "v=0\r\no=mozilla...THIS_IS_SDPARTA-99.0 7710052215259647220 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n\
         a=fingerprint:sha-256 {BYTES}\r\na=group:BUNDLE 0\r\na=ice-options:trickle\r\na=msid-semantic:WMS *\r\n\
         m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
         a=candidate:0 1 UDP 2122252543 2001:db8::7 42000 typ host\r\na=sendrecv\r\na=end-of-candidates\r\n\
         a=ice-pwd:58b99ead82a8b9a1b3b4e1c7a1d0dc50\r\na=ice-ufrag:81b9e2f5\r\na=mid:0\r\na=setup:actpass\r\n\
         a=sctp-port:5000\r\na=max-message-size:1073741823\r\n"
    )
}

/// Pion: SHA-256 in the section, no maximum message size, LF line ends (as left by programs that print it).
fn pion() -> String {
    format!(
        "v=0\no=- 8442113236512153254 1713449800 IN IP4 0.0.0.0\ns=-\nt=0 0\na=msid-semantic:WMS*\n\
         a=fingerprint:sha-256 {BYTES}\na=extmap-allow-mixed\na=group:BUNDLE 0\n\
         m=application 9 UDP/DTLS/SCTP webrtc-datachannel\nc=IN IP4 0.0.0.0\na=setup:actpass\na=mid:0\n\
         a=sendrecv\na=sctp-port:5000\na=ice-ufrag:OgYkQkvXQAlYgpJm\na=ice-pwd:IqbDOiAqpoDMdTLFkuYkdSbAgMfyKtTT\n\
         a=candidate:2540286183 1 udp 2130706431 198.51.100.4 50000 typ host\n\
         a=candidate:2540286183 2 udp 2130706431 198.51.100.4 50000 typ host\na=end-of-candidates\n"
    )
}

/// libdatachannel: the mid of the section is a word, ICE options in the section.
fn libdatachannel() -> String {
    format!(
        "v=0\r\no=rtc 3767197920 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE data\r\n\
         a=group:LS data\r\na=msid-semantic:WMS *\r\na=ice-options:ice2,trickle\r\n\
         a=fingerprint:sha-256 {BYTES}\r\n\
         m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:data\r\na=sendrecv\r\n\
         a=setup:active\r\na=ice-ufrag:E9qd\r\na=ice-pwd:sWm0VYMUVfLq1+C2XX9yzk\r\na=sctp-port:5000\r\n\
         a=max-message-size:262144\r\n"
    )
}

/// As written by browsers until 2019.
fn sctpmap() -> String {
    format!(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE data\r\n\
         m=application 9 DTLS/SCTP 5001\r\nc=IN IP4 0.0.0.0\r\nb=AS:30\r\na=ice-ufrag:abcd\r\n\
         a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {BYTES}\r\na=setup:actpass\r\na=mid:data\r\n\
         a=sctpmap:5001 webrtc-datachannel 1024\r\n"
    )
}

/// Audio comes first and carries the bundle; the data section uses its transport.
fn bundled_behind_audio() -> String {
    format!(
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE a d\r\n\
         m=audio 9 UDP/TLS/RTP/SAVPF 111 63\r\nc=IN IP4 0.0.0.0\r\na=ice-ufrag:abcd\r\n\
         a=ice-pwd:0123456789012345678901\r\na=fingerprint:sha-256 {BYTES}\r\na=setup:actpass\r\na=mid:a\r\n\
         a=candidate:1 1 udp 1 192.0.2.1 1 typ host\r\na=rtpmap:111 opus/48000/2\r\n\
         m=video 0 UDP/TLS/RTP/SAVPF 96\r\na=mid:v\r\n\
         m=application 0 UDP/DTLS/SCTP webrtc-datachannel\r\na=bundle-only\r\na=mid:d\r\na=sctp-port:5000\r\n"
    )
}

fn parse(text: &str) -> Result<Description, SignalingError> {
    Description::parse(text, &Limits::default())
}

#[test]
fn offers_of_other_implementations() {
    #[rustfmt::skip]
    let rows = [
        // text, setup, candidates, size, mid, port, ufrag, end of candidates
        (chrome(), Setup::ActPass, 2, 262_144, "0", 5000, "4ZcD", false),
        (firefox(), Setup::ActPass, 1, 1_073_741_823, "0", 5000, "81b9e2f5", true),
        (pion(), Setup::ActPass, 1, 65_536, "0", 5000, "OgYkQkvXQAlYgpJm", true),
        (libdatachannel(), Setup::Active, 0, 262_144, "data", 5000, "E9qd", false),
        (sctpmap(), Setup::ActPass, 0, 65_536, "data", 5001, "abcd", false),
        (bundled_behind_audio(), Setup::ActPass, 1, 65_536, "d", 5000, "abcd", false),
    ];
    for (text, setup, candidates, size, mid, port, ufrag, end) in rows {
        let data = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).data;
        assert_eq!(data.setup, setup, "{text}");
        assert_eq!(data.candidates.len(), candidates, "{text}");
        assert_eq!(data.max_message_bytes, size, "{text}");
        assert_eq!(data.mid.as_deref(), Some(mid), "{text}");
        assert_eq!(
            (data.sctp_port, data.ufrag.as_str(), data.end_of_candidates),
            (port, ufrag, end),
            "{text}"
        );
        assert_eq!(data.fingerprint.to_string(), BYTES, "{text}");
    }
}

#[test]
fn rejected_sections_are_written_with_port_0_in_order() {
    let mut description = parse(&bundled_behind_audio()).unwrap();
    description.bundle = vec!["d".into()];
    let text = description.to_string();
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("m=")).collect();
    let data = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel";
    assert_eq!(lines, ["m=audio 0 UDP/TLS/RTP/SAVPF 111 63", "m=video 0 UDP/TLS/RTP/SAVPF 96", data]);
    assert!(text.contains("a=group:BUNDLE d\r\n"));
}

#[test]
fn descriptions_round_trip() {
    for text in [chrome(), firefox(), pion(), libdatachannel(), sctpmap(), bundled_behind_audio()] {
        let description = parse(&text).unwrap();
        assert_eq!(parse(&description.to_string()).as_ref(), Ok(&description), "{text}");
    }
}

#[test]
fn a_fingerprint_by_sha_256_is_found_among_others() {
    let sha512 = format!("a=fingerprint:sha-512 {BYTES}:{BYTES}\r\na=fingerprint:SHA-256 ");
    let text = chrome().replace("a=fingerprint:sha-256 ", &sha512);
    assert_eq!(parse(&text).unwrap().data.fingerprint.to_string(), BYTES);
}

/// Chrome's offer with one text replaced by another must fail at this line with a rule that contains these
/// words.
fn refused(from: &str, to: &str, line: usize, words: &str) {
    let text = chrome();
    assert!(text.contains(from), "{from}");
    match parse(&text.replace(from, to)) {
        Err(SignalingError::Syntax { line: at, rule }) => {
            assert!(rule.contains(words), "{rule}");
            assert_eq!(at, line, "{rule}");
        }
        other => panic!("{from} -> {to}: {other:?}"),
    }
}

#[test]
fn invalid_descriptions_are_rejected() {
    #[rustfmt::skip]
    let rows = [
        ("v=0", "v=1", 1, "v=0"),
        ("v=0\r\n", "", 1, "v=0"),
        ("o=- 4962303333179871722 2", "o=- x 2", 2, "number"),
        ("o=- 4962303333179871722 2", "o=-", 2, "number"),
        ("s=-", "s", 3, "letter"),
        ("s=-", "ss=-", 3, "letter"),
        ("s=-", "s=\0", 3, "NUL"),
        ("s=-", "s=a\rb", 3, "CR"),
        ("m=application 55330", "m=application 99999", 8, "port"),
        ("m=application 55330 UDP/DTLS/SCTP webrtc-datachannel", "m=application 55330 UDP/DTLS/SCTP", 8, "format"),
        ("webrtc-datachannel", "x", 0, "SCTP port"),
        ("m=application 55330 ", "m=application 0 ", 0, "not rejected"),
        ("UDP/DTLS/SCTP", "UDP/SCTP", 0, "data section"),
        ("udp 2122260223", "udp 0", 10, "priority"),
        ("udp 2122260223", "udp 4294967296", 10, "priority"),
        ("55330 typ host", "65536 typ host", 10, "port"),
        ("55330 typ host", "55330 host", 10, "typ"),
        ("candidate:3302366163 1", "candidate:33_02 1", 10, "foundation"),
        ("ice-ufrag:4ZcD", "ice-ufrag:4Zc", 14, "4 to 119"),
        ("ice-ufrag:4ZcD", "ice-ufrag:4Z D", 14, "ice-chars"),
        ("ice-pwd:2/1muCWoOi3uLifh0NuRHlJh", "ice-pwd:2", 15, "22 to 256"),
        ("a=ice-ufrag:4ZcD\r\n", "", 0, "ice-ufrag"),
        ("a=ice-pwd", "a=ice-no", 0, "ice-pwd"),
        ("0A:1B", "0A:XX", 17, "32 bytes"),
        ("0A:1B:2C:", "", 17, "32 bytes"),
        ("fingerprint:sha-256", "fingerprint:sha-1", 0, "SHA-256"),
        ("actpass", "holdconn", 18, "actpass"),
        ("a=setup:actpass\r\n", "", 0, "setup"),
        ("mid:0", "mid:", 19, "token"),
        ("mid:0", "mid:a b", 19, "token"),
        ("sctp-port:5000", "sctp-port:0", 20, "1 to 65,535"),
        ("a=sctp-port:5000\r\n", "", 0, "sctp-port"),
        ("size:262144", "size:-1", 21, "number"),
    ];
    for (from, to, line, words) in rows {
        refused(from, to, line, words);
    }
}

#[test]
fn descriptions_beyond_the_limits_are_rejected() {
    let limits = Limits { max_sdp_bytes: 1000, ..Limits::default() };
    let long = format!("{}a={}\r\n", chrome(), "x".repeat(1000));
    let refused = Err(SignalingError::Limit("length of a session description"));
    assert_eq!(Description::parse(&long, &limits), refused);
}

#[test]
fn sizes_without_bounds() {
    for (text, bytes) in [("0", 0), ("99999999999999999999999", u64::MAX)] {
        let text = chrome().replace("size:262144", &format!("size:{text}"));
        assert_eq!(parse(&text).unwrap().data.max_message_bytes, bytes);
    }
}

/// Candidates beyond the limit are dropped; unusable ones do not count.
#[test]
fn candidates_are_bounded_and_do_not_refuse_the_offer() {
    let lines = |count: u16, transport: &str| -> String {
        (1..=count)
            .map(|port| format!("a=candidate:1 1 {transport} 9 192.0.2.1 {port} typ host\r\n"))
            .collect()
    };
    // usable, skipped ones before -> accepted, including those of the description
    let own = parse(&chrome()).unwrap().data.candidates.len();
    for (usable, skipped, taken) in
        [(0, 200, own), (10, 200, own + 10), (64 - own as u16, 100, 64), (100, 0, 64)]
    {
        let text = format!("{}{}{}", chrome(), lines(skipped, "tcp"), lines(usable, "udp"));
        assert_eq!(parse(&text).unwrap().data.candidates.len(), taken, "{usable} {skipped}");
    }
}

#[test]
fn candidates() {
    let rows = [
        ("1 1 udp 2130706431 192.0.2.1 5000 typ host", Some("192.0.2.1:5000")),
        ("a+/9 1 UDP 1 2001:db8::1 5000 typ relay raddr 0.0.0.0 rport 0", Some("[2001:db8::1]:5000")),
        ("1 1 udp 1 192.0.2.1 5000 typ prflx raddr name.local rport 0 x y", Some("192.0.2.1:5000")),
        // Unsupported, but no error.
        ("1 1 tcp 1 192.0.2.1 9 typ host tcptype active", None),
        ("1 1 udp 1 0a1b2c3d-1111-4222-8333-444455556666.local 5000 typ host", None),
        ("1 1 udp 1 fe80::1%eth0 5000 typ host", None),
        ("1 2 udp 1 192.0.2.1 5000 typ host", None),
        ("1 1 udp 1 192.0.2.1 5000 typ other", None),
        ("1 1 udp 1 192.0.2.1 0 typ host", None),
        ("1 1 udp 1 0.0.0.0 5000 typ host", None),
        ("1 1 udp 1 224.0.0.1 5000 typ host", None),
        ("1 1 udp 1 255.255.255.255 5000 typ host", None),
    ];
    for (text, address) in rows {
        let candidate =
            Candidate::parse(&format!("candidate:{text}")).unwrap_or_else(|e| panic!("{text}: {e}"));
        let found = candidate.map(|candidate| candidate.address.to_string());
        assert_eq!(found.as_deref(), address, "{text}");
    }
    for text in ["", "candidate", "candidate:", "candidate:1 1 udp 1 192.0.2.1 5000 typ host odd"] {
        assert!(Candidate::parse(text).is_err(), "{text}");
    }
}

#[test]
fn debug_output_contains_no_password() {
    let description = parse(&chrome()).unwrap();
    let text = format!("{description:?}");
    assert!(text.contains("4ZcD") && !text.contains(&description.data.password), "{text}");
}

/// Unlike any::<String>(), without a regular expression, which takes minutes under Miri.
fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<char>(), 0..100).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any_text()) {
        let _ = parse(&text);
        let _ = Candidate::parse(&format!("candidate:{text}"));
    }

    #[test]
    fn no_change_of_bytes_makes_it_panic(at in 0..700usize, byte: u8, cut in 0..700usize) {
        let mut bytes = chrome().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(cut.max(at));
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(description) = parse(&text) {
            prop_assert_eq!(parse(&description.to_string()), Ok(description));
        }
    }
}
