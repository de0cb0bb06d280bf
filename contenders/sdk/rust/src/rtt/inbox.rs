//! Receiving datagrams where the kernel fills a buffer that it owns meanwhile.
//!
//! A tick does not cancel the receive that it overtakes: the datagram might be taken already, and would be lost. The
//! receive stays under way until the next call.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Datagrams of one socket. `receive` takes a buffer, and gives it back with the length of what came.
pub struct Inbox<R, F> {
    receive: R,
    /// One box for all receives.
    under_way: Pin<Box<Option<F>>>,
    /// Empty while a receive has it.
    buffer: Vec<u8>,
    tick: Rc<Tick>,
}

impl<R, F> Inbox<R, F>
where
    R: Fn(Vec<u8>) -> F,
    F: Future<Output = (io::Result<usize>, Vec<u8>)>,
{
    /// For datagrams of up to the buffer's length; `tick` is rung by a task of the adapter, once in
    /// [`TICK`](super::TICK).
    pub fn new(buffer: Vec<u8>, tick: Rc<Tick>, receive: R) -> Self {
        Self { receive, under_way: Box::pin(None), buffer, tick }
    }

    /// The next datagram; none where the tick is faster.
    pub async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if self.under_way.is_none() {
            let receive = (self.receive)(take(&mut self.buffer));
            self.under_way.set(Some(receive));
        }
        let Self { under_way, tick, .. } = self;
        let received = poll_fn(|cx| match under_way.as_mut().as_pin_mut().map(|receive| receive.poll(cx)) {
            Some(Poll::Ready(received)) => Poll::Ready(Some(received)),
            _ => tick.poll(cx).map(|()| None),
        });
        let Some((length, buffer)) = received.await else { return Ok(None) };
        self.under_way.set(None);
        self.buffer = buffer;
        Ok(Some(&self.buffer[..length?]))
    }
}

/// Rings now and then; a task of its own sleeps, so that no message registers a timer.
#[derive(Default)]
pub struct Tick {
    rung: Cell<bool>,
    waiting: Cell<Option<Waker>>,
}

impl Tick {
    /// Ends the wait that is under way, or the next one.
    pub fn ring(&self) {
        self.rung.set(true);
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        if self.rung.take() {
            return Poll::Ready(());
        }
        let waker = self.waiting.take().filter(|waker| waker.will_wake(cx.waker()));
        self.waiting.set(waker.or_else(|| Some(cx.waker().clone())));
        Poll::Pending
    }
}
