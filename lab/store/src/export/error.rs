//! Why an exported file is rejected.

use super::FORMAT;
use super::limits::{LINE_BYTES_MAX, TEXT_BYTES_MAX};

/// Why an exported file is rejected. Nothing of it is stored.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum ExportError {
    #[error("cannot be read: {0}")]
    Io(std::io::Error),
    #[error("is not an exported run ({0}); `netdyno export` writes them")]
    Foreign(String),
    #[error(
        "has format {found}, this netdyno reads up to {FORMAT}: use the newer netdyno {netdyno} that wrote it"
    )]
    Newer { found: u32, netdyno: String },
    #[error("is truncated after line {0}: copy it again")]
    CutShort(usize),
    #[error("is damaged: line {line}: {what}; copy it again")]
    Damaged { line: usize, what: String },
    #[error("contains an invalid run: {0}")]
    Impossible(String),
    #[error("has more than {} MiB when decompressed, which no run has", TEXT_BYTES_MAX >> 20)]
    TooLarge,
    #[error("has more than {} MiB in line {line}, which no run has", LINE_BYTES_MAX >> 20)]
    LineTooLong { line: usize },
}
