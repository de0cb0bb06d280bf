//! Errors of the RDB format.

/// An error in a snapshot, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}{}: {fault}", key.as_ref().map(|key| format!(", key '{key}'")).unwrap_or_default())]
pub struct RdbError {
    /// Offset of the element that could not be read.
    pub at: u64,
    /// The key whose value was being read.
    pub key: Option<String>,
    /// The fault.
    pub fault: RdbFault,
}

/// A fault in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RdbFault {
    /// The data is not a snapshot.
    #[error("it does not begin as a snapshot does, with REDIS and four digits")]
    NotRdb,
    /// The version is not supported.
    #[error("version {0} of the format is not known; up to {max} is, which Redis 7.2 writes", max = super::VERSION_MAX)]
    Version(u16),
    /// The type is not supported.
    #[error("{0} (type {1}) cannot be kept here: delete the key before the snapshot is made")]
    Unsupported(&'static str, u8),
    /// The type is unknown.
    #[error("type {0} is not known")]
    UnknownType(u8),
    /// A length or code is invalid.
    #[error("{0}")]
    Damaged(&'static str),
    /// A length exceeds the limit.
    #[error("a string of {0} bytes is too long")]
    TooLong(u64),
    /// A duplicate.
    #[error("{0} comes twice")]
    Twice(&'static str),
    /// The database does not exist here.
    #[error("it is in database {0}, and there are {1}: start the server with more (--databases)")]
    Database(u64, usize),
    /// The checksum does not match.
    #[error("the checksum is wrong: the bytes are not those that were written")]
    Checksum,
    /// The data is incomplete.
    #[error("it ends there, before its end")]
    CutOff,
}

/// Why a parsing step stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// More bytes are needed.
    Partial,
    Fault(RdbFault),
}

impl From<RdbFault> for Stop {
    fn from(fault: RdbFault) -> Self {
        Self::Fault(fault)
    }
}
