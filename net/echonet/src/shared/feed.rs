//! Events for listeners, in bounded queues.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

use netdyno_io::hub::{Wait, Waiters};

use crate::limits::FEED_EVENTS;

/// One listener's queue.
#[derive(Debug)]
pub(crate) struct Feed<T>(Arc<Mutex<Queue<T>>>);

#[derive(Debug)]
struct Queue<T> {
    events: VecDeque<T>,
    missed: u64,
    is_over: bool,
    waiters: Waiters,
}

impl<T> Feed<T> {
    /// The next event; `None` once the source is closed.
    pub(crate) fn poll(&self, wait: &mut Wait<'_>) -> Poll<Option<T>> {
        let mut queue = lock(&self.0);
        match queue.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if queue.is_over => Poll::Ready(None),
            None => {
                queue.waiters.register(wait);
                Poll::Pending
            }
        }
    }

    /// Events dropped because the queue was full.
    pub(crate) fn missed(&self) -> u64 {
        lock(&self.0).missed
    }
}

fn lock<T>(queue: &Mutex<Queue<T>>) -> MutexGuard<'_, Queue<T>> {
    // No code that can panic runs under the lock.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The listeners. Dropped ones are removed.
#[derive(Debug)]
pub(crate) struct Feeds<T>(Vec<Weak<Mutex<Queue<T>>>>);

impl<T> Default for Feeds<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Clone> Feeds<T> {
    /// Adds a listener, which receives all later events.
    pub(crate) fn listen(&mut self) -> Feed<T> {
        self.0.retain(|feed| feed.strong_count() > 0);
        let (events, waiters) = (VecDeque::new(), Waiters::default());
        let queue = Arc::new(Mutex::new(Queue { events, missed: 0, is_over: false, waiters }));
        self.0.push(Arc::downgrade(&queue));
        Feed(queue)
    }

    /// Sends an event to all; wakers to call are added to `woken`.
    pub(crate) fn send(&mut self, event: &T, woken: &mut Vec<Waker>) {
        self.each(woken, |queue| {
            if queue.events.len() < FEED_EVENTS {
                queue.events.push_back(event.clone());
            } else {
                queue.missed += 1;
            }
        });
    }

    /// Ends all listeners.
    pub(crate) fn end(&mut self, woken: &mut Vec<Waker>) {
        self.each(woken, |queue| queue.is_over = true);
    }

    fn each(&mut self, woken: &mut Vec<Waker>, mut change: impl FnMut(&mut Queue<T>)) {
        for feed in self.0.iter().filter_map(Weak::upgrade) {
            let mut queue = lock(&feed);
            change(&mut queue);
            queue.waiters.wake(woken);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use netdyno_io::hub::block;

    use super::*;

    /// The next event, if there is one now.
    fn next<T>(feed: &Feed<T>) -> Option<Option<T>> {
        block(Some(Instant::now()), |wait| feed.poll(wait))
    }

    #[test]
    fn a_full_queue_drops_and_counts_events() {
        let (mut feeds, mut woken) = (Feeds::default(), Vec::new());
        let feed = feeds.listen();
        for event in 0..FEED_EVENTS + 3 {
            feeds.send(&event, &mut woken);
        }
        feeds.end(&mut woken);
        assert_eq!(feed.missed(), 3);
        for event in 0..FEED_EVENTS {
            assert_eq!(next(&feed), Some(Some(event)));
        }
        assert_eq!(next(&feed), Some(None));
    }

    #[test]
    fn listeners_receive_events_while_subscribed() {
        let (mut feeds, mut woken) = (Feeds::default(), Vec::new());
        let early = feeds.listen();
        feeds.send(&1, &mut woken);
        let late = feeds.listen();
        assert_eq!(next(&late), None);
        feeds.send(&2, &mut woken);
        assert_eq!(next(&early), Some(Some(1)));
        assert_eq!(next(&early), Some(Some(2)));
        assert_eq!(next(&late), Some(Some(2)));
        drop(late);
        feeds.listen();
        assert_eq!(feeds.0.iter().filter(|feed| feed.strong_count() > 0).count(), 1);
    }

    #[test]
    fn all_threads_that_wait_for_one_listener_learn_of_the_end() {
        let mut feeds = Feeds::<u8>::default();
        let feed = feeds.listen();
        let is_waiting = [(); 2].map(|()| AtomicBool::new(false));
        std::thread::scope(|scope| {
            let waiting = is_waiting.each_ref().map(|is_waiting| {
                let feed = &feed;
                scope.spawn(move || {
                    block(None, |wait| {
                        let event = feed.poll(wait);
                        is_waiting.store(true, Ordering::Release);
                        event
                    })
                })
            });
            while !is_waiting.iter().all(|is_waiting| is_waiting.load(Ordering::Acquire)) {
                std::thread::yield_now();
            }
            let mut woken = Vec::new();
            feeds.end(&mut woken);
            assert_eq!(woken.len(), waiting.len(), "each waiting thread is woken");
            woken.into_iter().for_each(Waker::wake);
            for thread in waiting {
                assert_eq!(thread.join().unwrap(), Some(None));
            }
        });
    }
}
