//! Clients that are refused, and the errors they receive.

use std::net::IpAddr;

/// `maxclients` is reached.
pub(crate) const FULL: &[u8] = b"-ERR max number of clients reached\r\n";

/// A remote client, while no password is set.
pub(crate) const PROTECTED: &[u8] = b"-DENIED This server is in protected mode: it has no password and therefore serves only clients on its own \
machine. To serve others, either 1) set a password, with --requirepass at startup or with CONFIG SET requirepass on that machine; \
or 2) disable protected mode, with --protected-mode no, if only trusted clients can reach this port.\r\n";

/// Checks protected mode: without a password, only clients of this machine are accepted.
pub(crate) fn admit(protected: bool, from: IpAddr) -> Result<(), &'static [u8]> {
    if protected && !from.to_canonical().is_loopback() { Err(PROTECTED) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_mode_admits_local_clients() {
        for (protected, from, enters_it) in [
            (true, "127.0.0.1", true),
            (true, "127.8.7.6", true),
            (true, "::1", true),
            (true, "::ffff:127.0.0.1", true),
            (true, "10.0.0.1", false),
            (true, "::ffff:10.0.0.1", false),
            (true, "fe80::1", false),
            (false, "10.0.0.1", true),
        ] {
            assert_eq!(admit(protected, from.parse().unwrap()).is_ok(), enters_it, "{from}");
        }
    }

    #[test]
    fn a_refusal_is_one_line() {
        for text in [FULL, PROTECTED] {
            assert!(text.starts_with(b"-") && text.ends_with(b"\r\n"));
            assert_eq!(text.iter().filter(|byte| byte.is_ascii_control()).count(), 2);
        }
    }
}
