//! Messages in a TCP stream: they follow one another, with nothing between them, and only reading one tells where the next
//! begins.

use core::iter::FusedIterator;

use crate::error::FrameError;
use crate::frame::read::Frame;

/// The whole messages at the front of what has come of a stream, each to be handed on as a datagram is.
///
/// Keep what is [`left`](Self::left) in front of what comes next: less than
/// [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX) bytes, so that a peer cannot make one keep more. After an error nobody
/// knows where the next message would begin: close the connection.
///
/// ```
/// use netdyno_echonet_core::Messages;
///
/// let get = [0x10, 0x81, 0, 1, 0x05, 0xFF, 1, 0x02, 0x91, 1, 0x62, 1, 0x80, 0];
/// let stream = [&get[..], &get[..], &get[..5]].concat();
/// let mut messages = Messages::new(&stream);
/// assert_eq!(messages.by_ref().collect::<Vec<_>>(), [Ok(&get[..]), Ok(&get[..])]);
/// assert_eq!(messages.left(), &get[..5]);
/// ```
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    left: &'a [u8],
    is_over: bool,
}

impl<'a> Messages<'a> {
    /// Of what has come and was not handed on yet.
    pub fn new(stream: &'a [u8]) -> Self {
        Self { left: stream, is_over: false }
    }

    /// What follows the messages that were given: the beginning of one, or, after an error, what is none.
    pub fn left(&self) -> &'a [u8] {
        self.left
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<&'a [u8], FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        match Frame::parse(self.left) {
            Ok(frame) => {
                let (message, left) = self.left.split_at(self.left.len() - frame.trailing_bytes);
                self.left = left;
                Some(Ok(message))
            }
            Err(error) => {
                self.is_over = true;
                (!matches!(error, FrameError::Truncated(_))).then_some(Err(error))
            }
        }
    }
}

impl FusedIterator for Messages<'_> {}
