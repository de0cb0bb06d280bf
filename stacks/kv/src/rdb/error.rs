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
    #[error("it is not a snapshot: it does not start with REDIS and four digits")]
    NotRdb,
    /// The version is not supported.
    #[error("format version {0} is not supported; the newest supported one is {max} (Redis 7.2)", max = super::VERSION_MAX)]
    Version(u16),
    /// The type is not supported.
    #[error("{0} (type {1}) is not supported: delete the key before saving the snapshot")]
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
    #[error("it is in database {0}, but there are only {1}: start the server with more (--databases)")]
    Database(u64, usize),
    /// The checksum does not match.
    #[error("the checksum does not match")]
    Checksum,
    /// The data is incomplete.
    #[error("the data ends unexpectedly")]
    CutOff,
}

/// Why a parsing step stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepError {
    /// More bytes are needed.
    Partial,
    Fault(RdbFault),
}

impl From<RdbFault> for StepError {
    fn from(fault: RdbFault) -> Self {
        Self::Fault(fault)
    }
}
