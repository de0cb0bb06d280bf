//! Picture loss indication ([RFC 4585 section 6.3.1](https://www.rfc-editor.org/rfc/rfc4585#section-6.3.1)): feedback
//! without control information.

use super::Feedback;
use crate::error::Malformed;
use crate::types::Ssrc;

/// A picture loss indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pli {
    /// The SSRC of the receiver.
    pub sender: Ssrc,
    /// The SSRC of the picture.
    pub media: Ssrc,
}

impl Pli {
    /// Feedback message type.
    pub const FORMAT: u8 = 1;

    pub(super) fn parse(feedback: Feedback<'_>) -> Result<Self, Malformed> {
        if !feedback.fci.is_empty() {
            return Err(Malformed::new("RTCP PLI", "unexpected parameters"));
        }
        Ok(Self { sender: feedback.sender, media: feedback.media })
    }
}
