//! Messages in a TCP stream. They follow one another without delimiters, so that a message must be parsed to
//! find the next.

use core::iter::FusedIterator;

use crate::error::FrameError;
use crate::frame::read::Frame;

/// The complete messages at the front of the received part of a stream. Handle each like a datagram.
///
/// Keep what is [`left`](Self::left) and append the next bytes to it. It is shorter than
/// [`MESSAGE_BYTES_MAX`](crate::MESSAGE_BYTES_MAX), which bounds the memory that a peer can occupy. After an
/// error the start of the next message is unknown: close the connection.
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
    /// The messages in the bytes that have been received and not yet handled.
    pub fn new(stream: &'a [u8]) -> Self {
        Self { left: stream, is_over: false }
    }

    /// The bytes after the returned messages: an incomplete message or, after an error, an invalid one.
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
