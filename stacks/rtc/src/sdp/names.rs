//! mDNS names for local addresses (draft-ietf-mmusic-mdns-ice-candidates section 3.1).

use std::net::IpAddr;

/// Replaces the addresses of host candidates by these names in a description or candidate line, and removes
/// the bases of reflexive ones (section 3.1.2.2), which would reveal the hidden addresses.
pub(crate) fn hide(text: &str, names: &[(IpAddr, String)]) -> String {
    if names.is_empty() {
        return text.to_owned();
    }
    text.split_inclusive('\n').map(|line| hide_line(line, names)).collect()
}

fn hide_line(line: &str, names: &[(IpAddr, String)]) -> String {
    let bare = line.trim_end();
    if !bare.strip_prefix("a=").unwrap_or(bare).starts_with("candidate:") {
        return line.to_owned();
    }
    let mut words: Vec<&str> = bare.split(' ').collect();
    let is_host = words.get(7) == Some(&"host");
    let name = words.get(4).and_then(|word| word.parse().ok()).and_then(|ip: IpAddr| {
        names.iter().find(|(address, _)| is_host && *address == ip).map(|(_, name)| name.as_str())
    });
    if let Some(name) = name {
        words[4] = name;
    }
    if let Some(at) = words.iter().position(|word| *word == "raddr")
        && let Some([_, related, _, port]) = words.get_mut(at..at + 4)
    {
        (*related, *port) = (if related.contains(':') { "::" } else { "0.0.0.0" }, "0");
    }
    format!("{}{}", words.join(" "), &line[bare.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_candidates_have_names_and_reflexive_ones_no_base() {
        let names = [
            ("192.0.2.1".parse().unwrap(), "a.local".to_owned()),
            ("2001:db8::1".parse().unwrap(), "b.local".to_owned()),
        ];
        for (line, hidden) in [
            ("candidate:1 1 udp 7 192.0.2.1 5000 typ host", "candidate:1 1 udp 7 a.local 5000 typ host"),
            (
                "a=candidate:1 1 udp 7 2001:db8::1 5000 typ host ufrag x\r\n",
                "a=candidate:1 1 udp 7 b.local 5000 typ host ufrag x\r\n",
            ),
            ("candidate:1 1 udp 7 192.0.2.9 5000 typ host", "candidate:1 1 udp 7 192.0.2.9 5000 typ host"),
            (
                "candidate:1 1 udp 7 192.0.2.1 5000 typ srflx raddr 192.0.2.1 rport 5000",
                "candidate:1 1 udp 7 192.0.2.1 5000 typ srflx raddr 0.0.0.0 rport 0",
            ),
            ("o=- 1 2 IN IP4 127.0.0.1\r\n", "o=- 1 2 IN IP4 127.0.0.1\r\n"),
            ("candidate:1 1 udp 7 192.0.2.1", "candidate:1 1 udp 7 192.0.2.1"),
        ] {
            assert_eq!(hide(line, &names), hidden);
            assert_eq!(hide(line, &[]), line);
        }
    }
}
