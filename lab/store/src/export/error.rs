//! Why an exported file is rejected.

use super::FORMAT;
use super::limits::{LINE_BYTES_MAX, TEXT_BYTES_MAX};

/// Why an exported file is rejected. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum ExportError {
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Io(std::io::Error),
    /// It is not an exported run.
    #[error("is not an exported run ({0}); `netdyno export` writes them")]
    Foreign(String),
    /// A newer netdyno wrote it.
    #[error(
        "has format {found}, this netdyno reads up to {FORMAT}: use the newer netdyno {netdyno} that wrote it"
    )]
    Newer { found: u32, netdyno: String },
    /// The end is missing.
    #[error("is truncated after line {0}: copy it again")]
    CutShort(usize),
    /// Its content differs from what was written.
    #[error("is damaged: line {line}: {what}; copy it again")]
    Damaged { line: usize, what: String },
    /// No run can have this content.
    #[error("contains an invalid run: {0}")]
    Impossible(String),
    /// It is longer than [`TEXT_BYTES_MAX`].
    #[error("has more than {} MiB when decompressed, which no run has", TEXT_BYTES_MAX >> 20)]
    TooLarge,
    /// A line is longer than [`LINE_BYTES_MAX`].
    #[error("has more than {} MiB in line {line}, which no run has", LINE_BYTES_MAX >> 20)]
    LineTooLong { line: usize },
}
