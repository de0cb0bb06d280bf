//! Events for listeners, in bounded queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use crate::limits::FEED_EVENTS;

/// One listener's queue.
#[derive(Debug)]
pub(crate) struct Feed<T> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    events: VecDeque<T>,
    missed: u64,
    is_over: bool,
    waker: Option<Waker>,
}

impl<T> Feed<T> {
    fn new() -> Self {
        Self { inner: Mutex::new(Inner { events: VecDeque::new(), missed: 0, is_over: false, waker: None }) }
    }

    /// The next event; `None` once the source is closed.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut inner = self.lock();
        match inner.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if inner.is_over => Poll::Ready(None),
            None => {
                inner.waker.get_or_insert_with(|| context.waker().clone()).clone_from(context.waker());
                Poll::Pending
            }
        }
    }

    /// Events dropped because the queue was full.
    pub(crate) fn missed(&self) -> u64 {
        self.lock().missed
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // No code that can panic runs under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The listeners. Dropped ones are removed.
#[derive(Debug)]
pub(crate) struct Feeds<T>(Vec<Weak<Feed<T>>>);

impl<T> Default for Feeds<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Feeds<T> {
    /// Adds a listener, which receives all later events.
    pub(crate) fn listen(&mut self) -> Arc<Feed<T>> {
        self.0.retain(|feed| feed.strong_count() > 0);
        let feed = Arc::new(Feed::new());
        self.0.push(Arc::downgrade(&feed));
        feed
    }

    /// Sends an event to all; wakers to call are added to `woken`.
    pub(crate) fn tell(&mut self, event: &T, woken: &mut Vec<Waker>) {
        self.each(woken, |inner| {
            if inner.events.len() < FEED_EVENTS {
                inner.events.push_back(event.clone());
            } else {
                inner.missed += 1;
            }
        });
    }

    /// Ends all listeners.
    pub(crate) fn end(&mut self, woken: &mut Vec<Waker>) {
        self.each(woken, |inner| inner.is_over = true);
    }

    fn each(&mut self, woken: &mut Vec<Waker>, mut change: impl FnMut(&mut Inner<T>)) {
        for feed in self.0.iter().filter_map(Weak::upgrade) {
            let mut inner = feed.lock();
            change(&mut inner);
            woken.extend(inner.waker.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_counts_events() {
        let (mut feeds, mut woken) = (Feeds::default(), Vec::new());
        let feed = feeds.listen();
        for event in 0..FEED_EVENTS + 3 {
            feeds.tell(&event, &mut woken);
        }
        feeds.end(&mut woken);
        assert_eq!(feed.missed(), 3);
        let mut context = Context::from_waker(Waker::noop());
        for event in 0..FEED_EVENTS {
            assert_eq!(feed.poll(&mut context), Poll::Ready(Some(event)));
        }
        assert_eq!(feed.poll(&mut context), Poll::Ready(None));
    }

    #[test]
    fn listeners_receive_events_while_subscribed() {
        let (mut feeds, mut woken) = (Feeds::default(), Vec::new());
        let early = feeds.listen();
        feeds.tell(&1, &mut woken);
        let late = feeds.listen();
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(late.poll(&mut context), Poll::Pending);
        feeds.tell(&2, &mut woken);
        assert_eq!(woken.len(), 1, "waiting listeners are woken");
        assert_eq!(early.poll(&mut context), Poll::Ready(Some(1)));
        assert_eq!(early.poll(&mut context), Poll::Ready(Some(2)));
        assert_eq!(late.poll(&mut context), Poll::Ready(Some(2)));
        drop(late);
        feeds.listen();
        assert_eq!(feeds.0.iter().filter(|feed| feed.strong_count() > 0).count(), 1);
    }
}
