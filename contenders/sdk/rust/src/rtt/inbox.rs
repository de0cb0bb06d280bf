//! Receives datagrams on runtimes where the kernel owns the buffer during the receive.
//!
//! A tick does not cancel a pending receive, because a datagram that has already been received would be lost. The
//! receive stays pending until the next call.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::{TICK, Timer};

/// Datagrams of one socket. `receive` takes a buffer and returns it with the length of the datagram.
pub struct Inbox<R, F> {
    receive: R,
    /// One allocation for all receives.
    pending: Pin<Box<Option<F>>>,
    /// Empty while a receive owns it.
    buffer: Vec<u8>,
    tick: Rc<Tick>,
}

impl<R, F> Inbox<R, F>
where
    R: Fn(Vec<u8>) -> F,
    F: Future<Output = (io::Result<usize>, Vec<u8>)>,
{
    /// Creates an inbox for datagrams of up to the buffer's length.
    pub fn new(buffer: Vec<u8>, ticks: &Ticks, receive: R) -> Self {
        Self { receive, pending: Box::pin(None), buffer, tick: ticks.add() }
    }

    /// Returns the next datagram, or `None` if a tick comes first.
    pub async fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if self.pending.is_none() {
            let receive = (self.receive)(take(&mut self.buffer));
            self.pending.set(Some(receive));
        }
        let Self { pending, tick, .. } = self;
        let received = poll_fn(|cx| match pending.as_mut().as_pin_mut().map(|receive| receive.poll(cx)) {
            Some(Poll::Ready(received)) => Poll::Ready(Some(received)),
            _ => tick.poll(cx).map(|()| None),
        });
        let Some((length, buffer)) = received.await else { return Ok(None) };
        self.pending.set(None);
        self.buffer = buffer;
        Ok(Some(&self.buffer[..length?]))
    }
}

/// The ticks of all inboxes. One task [`ring`]s them, so that messages need no timers.
#[derive(Default)]
pub struct Ticks(RefCell<Vec<Rc<Tick>>>);

impl Ticks {
    fn add(&self) -> Rc<Tick> {
        let tick = Rc::<Tick>::default();
        self.0.borrow_mut().push(Rc::clone(&tick));
        tick
    }

    fn ring(&self) {
        self.0.borrow().iter().for_each(|tick| tick.ring());
    }
}

/// Rings the ticks forever, in a task that the adapter spawns.
pub async fn ring<T: Timer>(ticks: Rc<Ticks>, timer: T) {
    loop {
        timer.sleep(TICK).await;
        ticks.ring();
    }
}

#[derive(Default)]
struct Tick {
    rung: Cell<bool>,
    waiting: Cell<Option<Waker>>,
}

impl Tick {
    /// Ends the current wait, or the next one.
    fn ring(&self) {
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

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
        pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_tick_ends_the_wait_but_not_the_receive() {
        let (ticks, receives, length) = (Ticks::default(), Cell::new(0), Cell::new(None));
        let mut inbox = Inbox::new(vec![7; 4], &ticks, |buffer| {
            receives.set(receives.get() + 1);
            let (mut buffer, length) = (Some(buffer), &length);
            poll_fn(move |_| match length.take() {
                Some(length) => Poll::Ready((Ok(length), buffer.take().unwrap())),
                None => Poll::Pending,
            })
        });
        assert!(poll(inbox.next()).is_pending());
        ticks.ring();
        assert!(matches!(poll(inbox.next()), Poll::Ready(Ok(None))));
        assert!(poll(inbox.next()).is_pending());
        length.set(Some(3));
        ticks.ring();
        assert!(matches!(poll(inbox.next()), Poll::Ready(Ok(Some([7, 7, 7])))));
        assert_eq!(receives.get(), 1);
        assert!(matches!(poll(inbox.next()), Poll::Ready(Ok(None))));
        assert_eq!(receives.get(), 2);
    }
}
