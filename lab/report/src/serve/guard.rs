//! Access control: host names and the token.
//!
//! A website can point its name at this machine (DNS rebinding) and read our responses unless the `Host`
//! header is checked. Addresses and `localhost` are safe; other names must be configured. Beyond loopback
//! every request needs the token, as `Authorization: Bearer` or as the cookie that the form sets, which holds
//! a hash of it. Tokens are compared by their hashes in constant time and are never logged. HTTP is not
//! encrypted: use `ssh -L` over untrusted networks.

use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::limits;
use netdyno_lab_manifest::hex;

/// The access token of a server.
#[derive(Clone)]
pub struct Token {
    hash: [u8; 32],
    cookie: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Creates a token from text. Leading and trailing whitespace is ignored.
    pub fn new(text: &str) -> Result<Token, String> {
        let text = text.trim();
        if !limits::TOKEN_BYTES.contains(&text.len()) || !text.bytes().all(|b| b.is_ascii_graphic()) {
            let (least, most) = (limits::TOKEN_BYTES.start(), limits::TOKEN_BYTES.end());
            return Err(format!(
                "a token must have {least} to {most} visible ASCII characters, without spaces"
            ));
        }
        let cookie = hex(&Sha256::new().chain_update("netdyno cookie ").chain_update(text).finalize());
        Ok(Token { hash: Sha256::digest(text).into(), cookie })
    }

    /// Reads a token from a file.
    pub fn from_file(path: &Path) -> Result<Token, String> {
        let error = |e: &dyn std::fmt::Display| {
            format!("{}: {e}; to generate a token: `head -c 16 /dev/urandom | xxd -p`", path.display())
        };
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(|e| error(&e))?;
        let most = *limits::TOKEN_BYTES.end() as u64 + 2;
        file.take(most).read_to_string(&mut text).map_err(|e| error(&e))?;
        Token::new(&text).map_err(|e| error(&e))
    }

    /// Generates a random token. Returns it and its text.
    pub fn generate() -> std::io::Result<(Token, String)> {
        let mut bytes = [0; 16];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text = hex(&bytes);
        Ok((Token::new(&text).expect("32 digits are a valid token"), text))
    }

    /// Whether this text is the token.
    pub fn matches(&self, text: &str) -> bool {
        let hash: [u8; 32] = Sha256::digest(text.trim()).into();
        hash.ct_eq(&self.hash).into()
    }

    /// Value of the cookie that is equivalent to the token.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether a request presents the token in its `Authorization` header or in the cookie `name`.
    pub fn is_presented(&self, authorization: Option<&str>, cookies: Option<&str>, name: &str) -> bool {
        let bearer = authorization.and_then(|a| {
            let (scheme, token) = a.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token)
        });
        let mut cookies = cookies.unwrap_or_default().split(';').filter_map(|c| c.trim().split_once('='));
        bearer.is_some_and(|text| self.matches(text))
            || cookies.any(|(n, value)| n == name && value.as_bytes().ct_eq(self.cookie.as_bytes()).into())
    }
}

/// Whether a `Host` header is accepted: an address, `localhost`, or one of `names`.
pub(super) fn is_accepted_host(host: &str, names: &[String]) -> bool {
    let name = match host.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((address, port))) if port.is_empty() || port.starts_with(':') => address,
        Some(_) => return false,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|accepted| accepted.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_host_names_are_rejected() {
        let names = ["lab.example".to_owned()];
        for (host, is_accepted) in [
            ("localhost", true),
            ("LOCALHOST:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::1]", true),
            ("192.0.2.7", true),
            ("Lab.Example:80", true),
            ("rebound.example:8080", false),
            ("localhost.rebound.example", false),
            ("127.0.0.1.rebound.example", false),
            ("lab.example.", false),
            ("[::1]x", false),
            ("[::1", false),
            ("", false),
            (":80", false),
        ] {
            assert_eq!(is_accepted_host(host, &names), is_accepted, "{host}");
        }
    }

    #[test]
    fn a_token_is_found_in_a_header_or_in_a_cookie() {
        let text = "0123456789abcdef";
        let token = Token::new(&format!("{text}\n")).unwrap();
        let cookie = format!("other=1; netdyno-1={}", token.cookie());
        for (authorization, cookies, is_valid) in [
            (Some(format!("Bearer {text}")), None, true),
            (Some(format!("bearer {text}")), None, true),
            (Some(text.to_owned()), None, false),
            (Some("Bearer 0123456789abcdeF".to_owned()), None, false),
            (Some("Bearer ".to_owned()), None, false),
            (None, Some(cookie.clone()), true),
            (None, Some(cookie.replace("-1", "-2")), false),
            (None, Some(format!("netdyno-1={text}")), false),
            (None, Some("netdyno-1=".to_owned()), false),
            (None, None, false),
        ] {
            let found = token.is_presented(authorization.as_deref(), cookies.as_deref(), "netdyno-1");
            assert_eq!(found, is_valid, "{authorization:?} {cookies:?}");
        }
        assert!(!format!("{token:?}").contains(text));
        assert!(!token.cookie().contains(text));
    }

    #[test]
    fn an_invalid_token_is_rejected_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        for content in ["", "short", "with spaces in it all", "Umläute-sind-keine", &"x".repeat(300)] {
            std::fs::write(&file, content).unwrap();
            let error = Token::from_file(&file).unwrap_err();
            assert!(error.contains("16 to 256") && error.contains("/dev/urandom"), "{error}");
        }
        assert!(Token::from_file(&folder.path().join("none")).unwrap_err().contains("none"));
        std::fs::write(&file, "  0123456789abcdef\n").unwrap();
        assert!(Token::from_file(&file).unwrap().matches("0123456789abcdef"));
        let [(a, text), (b, _)] = [Token::generate().unwrap(), Token::generate().unwrap()];
        assert!(a.matches(&text) && !b.matches(&text) && text.len() == 32);
    }
}
