//! Which versions of DTLS there are, and which a connection may speak.

/// A version of DTLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 6347.
    Dtls12,
    /// RFC 9147.
    Dtls13,
}

impl Version {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dtls12 => "DTLS 1.2",
            Self::Dtls13 => "DTLS 1.3",
        }
    }

    /// As on the wire, in hexadecimal: `tlsVersion` of the W3C's statistics.
    pub fn tls_version(self) -> &'static str {
        match self {
            Self::Dtls12 => "FEFD",
            Self::Dtls13 => "FEFC",
        }
    }
}

/// Which versions a connection may speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Versions {
    /// 1.3 with a peer that has it, 1.2 with all others.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only: a peer that has only 1.2 cannot be reached.
    Only13,
}
