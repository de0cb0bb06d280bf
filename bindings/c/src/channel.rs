//! The face whose calls wait: its data channels.

use std::ffi::c_char;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use netdyno_rtc::blocking::DataChannel;
use netdyno_rtc::{Message, RecvError};

use crate::border::{Data, List, nd_bytes};
use crate::error::{Failure, call, given, nd_code, shielded};
use crate::options::{kind_number, kind_of, limit};
use crate::stats::nd_channel_stats;

/// A data channel. May be used by several threads at a time.
#[derive(Debug)]
pub struct nd_channel(DataChannel);

impl nd_channel {
    pub(crate) fn hand_over(channel: DataChannel, to: &mut MaybeUninit<*mut Self>) {
        to.write(Box::into_raw(Box::new(Self(channel))));
    }
}

/// A message that has come, in memory of the library's: see nd_channel_recv().
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_message {
    /// Its bytes; a text has no zero at its end.
    pub data: *const c_void,
    /// How many.
    pub length: usize,
    /// ND_BINARY or ND_TEXT.
    pub kind: u32,
}

/// Where messages stand that were received. One thread at a time; it may be used for any channel.
#[derive(Debug, Default)]
pub struct nd_inbox {
    messages: Vec<Message>,
    /// The same, as C sees them.
    views: Vec<nd_message>,
}

/// A new one; the caller's, for nd_inbox_free(). NULL: no memory.
#[unsafe(no_mangle)]
pub extern "C" fn nd_inbox_new() -> *mut nd_inbox {
    shielded(ptr::null_mut(), || Some(Box::into_raw(Box::default())))
}

/// Frees it, and the messages in it. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_inbox_free(inbox: Option<Box<nd_inbox>>) {
    shielded((), || inbox.map(drop));
}

/// Gives the channel up. It is closed by that: what was sent still arrives, if the connection lives on. No other thread may be using this
/// handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_free(channel: Option<Box<nd_channel>>) {
    shielded((), || channel.map(drop));
}

/// Its label, without a zero at its end, and how many bytes those are. Valid as long as the handle. NULL of NULL.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_label(
    channel: Option<&nd_channel>,
    length: Option<&mut MaybeUninit<usize>>,
) -> *const c_char {
    shielded(ptr::null(), || {
        let label = channel?.0.label();
        if let Some(length) = length {
            length.write(label.len());
        }
        Some(label.as_ptr().cast())
    })
}

/// Its SCTP stream (W3C `id`), 0 to 65,534; -1: not known yet.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_id(channel: Option<&nd_channel>) -> i32 {
    shielded(-1, || channel?.0.stream().map(Into::into))
}

/// Waits until messages can be sent. Sending waits for that by itself.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_open(channel: Option<&nd_channel>, timeout_ms: i64) -> nd_code {
    call(|| Failure::unless(given(channel)?.0.wait_open_timeout(limit(timeout_ms))?))
}

/// Sends a message; copies it. Waits for room in the send buffer (0 ms: if there is room now). ND_NOT_NOW: it was not sent.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_send(
    channel: Option<&nd_channel>,
    kind: u32,
    data: Data,
    length: usize,
    timeout_ms: i64,
) -> nd_code {
    call(|| {
        let (channel, kind, data) = (&given(channel)?.0, kind_of(kind)?, data.bytes(length)?);
        Failure::unless(channel.send_many_timeout(kind, &[data], limit(timeout_ms))? == 1)
    })
}

/// Sends these messages, one after the other, at the cost of one where there is room. ND_OK: all. ND_NOT_NOW: not all; those that were, the
/// first `*sent` of them, are on their way. After another error `*sent` is 0.
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
        let sent = given(sent)?.write(0);
        let (channel, kind) = (&given(channel)?.0, kind_of(kind)?);
        let messages: &[nd_bytes] = messages.messages(count)?;
        *sent = channel.send_many_timeout(kind, messages, limit(timeout_ms))?;
        Failure::unless(*sent == count)
    })
}

/// Waits for a message, and takes up to `max` (at least 1) that are there. ND_CLOSED, or ND_FAILED: none will come any more, and all that came has been taken.
///
/// `*messages` and what they point to are the inbox's, until it is received into again, or freed. An application that leaves more than 1 MiB of a
/// connection's messages waiting holds its peer back, on all channels of the connection.
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
        let (channel, inbox) = (&given(channel)?.0, given(inbox)?);
        let (messages, count) = (given(messages)?.write(ptr::null()), given(count)?.write(0));
        inbox.fill(|list| channel.recv_many_timeout(list, max, limit(timeout_ms)))?;
        (*messages, *count) = (inbox.views.as_ptr(), inbox.views.len());
        Failure::unless(*count > 0)
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

/// Payload bytes not yet sent for the first time (W3C bufferedAmount). Of NULL: 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_buffered_amount(channel: Option<&nd_channel>) -> usize {
    shielded(0, || Some(channel?.0.buffered_amount()))
}

/// Waits until no more than `bytes` are buffered.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_buffered_below(
    channel: Option<&nd_channel>,
    bytes: usize,
    timeout_ms: i64,
) -> nd_code {
    call(|| Failure::unless(given(channel)?.0.wait_buffered_below_timeout(bytes, limit(timeout_ms))?))
}

/// Closes it once all that is buffered has arrived. From now on nothing can be sent; messages that came before can still be taken.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_close(channel: Option<&nd_channel>) -> nd_code {
    call(|| {
        given(channel)?.0.close();
        Ok(())
    })
}

/// Waits until it is closed, by either side. After a nd_channel_close() ND_OK means that all has arrived; another code that its connection
/// ended before that was known.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_wait_closed(channel: Option<&nd_channel>, timeout_ms: i64) -> nd_code {
    call(|| Failure::unless(given(channel)?.0.wait_closed_timeout(limit(timeout_ms))?))
}

/// Statistics; ND_CLOSED once the connection is over.
#[unsafe(no_mangle)]
pub extern "C" fn nd_channel_get_stats(
    channel: Option<&nd_channel>,
    stats: Option<&mut MaybeUninit<nd_channel_stats>>,
) -> nd_code {
    call(|| {
        let found = given(channel)?.0.stats().ok_or_else(Failure::closed)?;
        given(stats)?.write(found.into());
        Ok(())
    })
}
