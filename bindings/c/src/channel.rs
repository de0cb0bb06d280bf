//! The blocking interface: data channels.

use std::ffi::c_char;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use netdyno_rtc::blocking::DataChannel;
use netdyno_rtc::{Message, RecvError};

use crate::error::{Failure, call, guarded, nd_code, required};
use crate::memory::{Data, List, nd_bytes};
use crate::options::{kind_number, kind_of, limit};
use crate::stats::nd_channel_stats;

/// A data channel. Several threads may use it at the same time.
#[derive(Debug)]
pub struct nd_channel(DataChannel);

impl nd_channel {
    pub(crate) fn hand_over(channel: DataChannel, to: &mut MaybeUninit<*mut Self>) {
        to.write(Box::into_raw(Box::new(Self(channel))));
    }
}

/// A received message, in the library's memory: see nd_channel_recv().
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_message {
    /// The bytes; text is not NUL-terminated.
    pub data: *const c_void,
    /// Number of bytes.
    pub length: usize,
    /// ND_BINARY or ND_TEXT.
    pub kind: u32,
}

/// Holds received messages. One thread at a time may use it, for any channel.
#[derive(Debug, Default)]
pub struct nd_inbox {
    messages: Vec<Message>,
    /// The same messages, as C sees them.
    views: Vec<nd_message>,
}

/// Creates an inbox. Free it with nd_inbox_free(). NULL: out of memory.
#[unsafe(no_mangle)]
pub extern "C" fn nd_inbox_new() -> *mut nd_inbox {
    guarded(ptr::null_mut(), || Some(Box::into_raw(Box::default())))
}

/// Frees the inbox and the messages in it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_inbox_free(inbox: Option<Box<nd_inbox>>) {
    guarded((), || inbox.map(drop));
}

/// Frees the handle and closes the channel. Sent messages are still delivered if the connection lives on. No
/// other thread may be using the handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_free(channel: Option<Box<nd_channel>>) {
    guarded((), || channel.map(drop));
}

/// Returns the label, not NUL-terminated, and its length in bytes. Valid as long as the handle. Returns NULL
/// for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_label(
    channel: Option<&nd_channel>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    guarded(ptr::null(), || {
        let label = channel?.0.label();
        if let Some(length) = length {
            length.write(label.len());
        }
        Some(label.as_ptr().cast())
    })
}

/// Returns the SCTP stream (W3C `id`), 0 to 65,534, or -1 if it is not known yet.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_id(channel: Option<&nd_channel>) -> i32 {
    guarded(-1, || channel?.0.stream().map(Into::into))
}

/// Waits until messages can be sent. The send functions also wait for that.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_open(channel: Option<&nd_channel>, timeout_ms: i64) -> nd_code {
    call(|| Failure::timeout_unless(required(channel)?.0.wait_open_timeout(limit(timeout_ms))?))
}

/// Sends a copy of a message. Waits for space in the send buffer (with 0 ms: fails if there is none).
/// ND_NOT_NOW: not sent.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_send(
    channel: Option<&nd_channel>,
    kind: u32,
    data: Data,
    length: usize,
    timeout_ms: i64,
) -> nd_code {
    call(|| {
        let (channel, kind, data) = (&required(channel)?.0, kind_of(kind)?, data.bytes(length)?);
        Failure::timeout_unless(channel.send_many_timeout(kind, &[data], limit(timeout_ms))? == 1)
    })
}

/// Sends messages in order. Those that fit in the send buffer are queued under one lock. ND_OK: all were
/// sent. ND_NOT_NOW: the first `*sent` were sent. After any other error `*sent` is 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_send_many(
    channel: Option<&nd_channel>,
    kind: u32,
    messages: List,
    count: usize,
    timeout_ms: i64,
    sent: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let sent = required(sent)?.write(0);
        let (channel, kind) = (&required(channel)?.0, kind_of(kind)?);
        let messages: &[nd_bytes] = messages.messages(count)?;
        *sent = channel.send_many_timeout(kind, messages, limit(timeout_ms))?;
        Failure::timeout_unless(*sent == count)
    })
}

/// Waits for a message and returns up to `max` (at least 1) available messages. ND_CLOSED or ND_FAILED: no
/// further message will arrive, and all received ones have been returned.
///
/// `*messages` and what they point to are valid until the inbox is used again or freed. More than 1 MiB of
/// unread messages of a connection stops its peer, on all channels of the connection.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_recv(
    channel: Option<&nd_channel>,
    inbox: Option<&mut nd_inbox>,
    max: usize,
    timeout_ms: i64,
    messages: Option<&mut MaybeUninit<*const nd_message>>,
    count: Option<&mut MaybeUninit<usize>>,
) -> nd_code {
    call(|| {
        let (channel, inbox) = (&required(channel)?.0, required(inbox)?);
        let (messages, count) = (required(messages)?.write(ptr::null()), required(count)?.write(0));
        inbox.fill(|list| channel.recv_many_timeout(list, max, limit(timeout_ms)))?;
        (*messages, *count) = (inbox.views.as_ptr(), inbox.views.len());
        Failure::timeout_unless(*count > 0)
    })
}

impl nd_inbox {
    fn fill(
        &mut self,
        receive: impl FnOnce(&mut Vec<Message>) -> Result<usize, RecvError>,
    ) -> Result<(), Failure> {
        self.views.clear();
        self.messages.clear();
        receive(&mut self.messages)?;
        self.views.extend(self.messages.iter().map(|message| nd_message {
            data: message.data.as_ptr().cast(),
            length: message.data.len(),
            kind: kind_number(message.kind),
        }));
        Ok(())
    }
}

/// Returns the payload bytes not yet sent for the first time (W3C bufferedAmount). Returns 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_buffered_amount(channel: Option<&nd_channel>) -> usize {
    guarded(0, || Some(channel?.0.buffered_amount()))
}

/// Waits until at most `bytes` are buffered.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_buffered_below(
    channel: Option<&nd_channel>,
    bytes: usize,
    timeout_ms: i64,
) -> nd_code {
    call(|| {
        Failure::timeout_unless(required(channel)?.0.wait_buffered_below_timeout(bytes, limit(timeout_ms))?)
    })
}

/// Closes the channel once everything buffered has been delivered. Nothing can be sent any more; messages
/// received before can still be taken.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_close(channel: Option<&nd_channel>) -> nd_code {
    call(|| {
        required(channel)?.0.close();
        Ok(())
    })
}

/// Waits until either side has closed the channel. After nd_channel_close(), ND_OK means that everything was
/// delivered; any other code means that the connection ended before that was known.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_closed(channel: Option<&nd_channel>, timeout_ms: i64) -> nd_code {
    call(|| Failure::timeout_unless(required(channel)?.0.wait_closed_timeout(limit(timeout_ms))?))
}

/// Returns statistics; ND_CLOSED once the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_get_stats(
    channel: Option<&nd_channel>,
    stats: Option<&mut MaybeUninit<nd_channel_stats>>,
) -> nd_code {
    call(|| {
        let found = required(channel)?.0.stats().ok_or_else(Failure::closed)?;
        required(stats)?.write(found.into());
        Ok(())
    })
}
