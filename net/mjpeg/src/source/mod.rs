//! Sources of pictures.
//!
//! | does | does not |
//! |---|---|
//! | provide JPEG files unchanged, one per call | validate them: the packetizer does |
//! | state whether their pictures arrive on their own schedule | pace: the sender does |

#[cfg(all(feature = "camera", target_os = "linux"))]
mod camera;
mod child;
mod files;
#[cfg(feature = "pattern")]
mod pattern;
mod pictures;
mod stream;

use std::time::Duration;

#[cfg(all(feature = "camera", target_os = "linux"))]
pub use camera::{Camera, CameraSettings};
pub use files::Files;
#[cfg(feature = "pattern")]
pub use pattern::{Pattern, PatternSettings};
pub use stream::StreamSource;

/// Maximum wait of a source before it returns [`Next::Pending`], so that the caller can handle other events.
pub const SOURCE_WAIT: Duration = Duration::from_millis(200);

/// A source of JPEG files. Calls block for at most [`SOURCE_WAIT`] while waiting for external events.
pub trait Source: Send {
    /// Clears `into` and copies the next picture to it.
    ///
    /// # Errors
    /// A picture cannot be read or is too large. Later calls may succeed.
    fn next(&mut self, into: &mut Vec<u8>) -> Result<Next, SourceError>;

    /// The timing of the pictures.
    fn timing(&self) -> Timing;
}

/// Result of [`Source::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A picture.
    Picture,
    /// No picture is available yet.
    Pending,
    /// The source has ended.
    End,
}

/// The timing of a source's pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Pictures arrive on their own schedule, as from a camera, and are sent on arrival.
    Live,
    /// Pictures are read on demand, at the sender's rate.
    OnDemand,
}

/// An error of a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// An operation of the system failed.
    #[error("{name}: {error}")]
    Io {
        /// The file, device or command.
        name: String,
        /// The system's error.
        #[source]
        error: std::io::Error,
    },
    /// The source or its data cannot be used.
    #[error("{name}: {reason}")]
    Unusable {
        /// The file, device or command.
        name: String,
        /// The cause and its remedy.
        reason: String,
    },
}

impl SourceError {
    pub(crate) fn io(name: impl ToString, error: std::io::Error) -> Self {
        Self::Io { name: name.to_string(), error }
    }

    pub(crate) fn unusable(name: impl ToString, reason: String) -> Self {
        Self::Unusable { name: name.to_string(), reason }
    }
}
