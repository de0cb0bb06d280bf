//! DTLS versions, and the set that a connection supports.

/// A version of DTLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// RFC 6347.
    Dtls12,
    /// RFC 9147.
    Dtls13,
}

impl Version {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dtls12 => "DTLS 1.2",
            Self::Dtls13 => "DTLS 1.3",
        }
    }

    /// As encoded, in hexadecimal: `tlsVersion` of the W3C's statistics.
    pub fn tls_version(self) -> &'static str {
        match self {
            Self::Dtls12 => "FEFD",
            Self::Dtls13 => "FEFC",
        }
    }
}

/// The versions that a connection supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Versions {
    /// 1.3 if the peer supports it, otherwise 1.2.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only: connections to peers that support only 1.2 fail.
    Only13,
}
