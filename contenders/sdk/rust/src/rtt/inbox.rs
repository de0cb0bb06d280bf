//! Receiving datagrams where the kernel fills a buffer that it owns meanwhile.
//!
//! A tick does not cancel the receive that it overtakes: the datagram might be taken already, and would be lost. The
//! receive stays under way until the next call.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::{TICK, Timer};

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
    /// For datagrams of up to the buffer's length.
    pub fn new(buffer: Vec<u8>, ticks: &Ticks, receive: R) -> Self {
        Self { receive, under_way: Box::pin(None), buffer, tick: ticks.add() }
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

/// The ticks of all inboxes. One task [`ring`]s them, so that no message registers a timer.
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

/// Rings the ticks, for ever: a task for the adapter to spawn.
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
    /// Ends the wait that is under way, or the next one.
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
    fn a_tick_ends_the_wait_and_not_the_receive() {
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
