//! Blocks threads on poll functions.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Created once for each thread.
    static UNPARK: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
}

/// This thread's waker.
pub(crate) fn this_thread() -> Waker {
    UNPARK.with(Waker::clone)
}

/// Polls on this thread until the result is ready, or the time limit has passed.
pub(crate) fn block<T>(
    deadline: Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Option<T> {
    let waker = this_thread();
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Some(value);
        }
        match deadline {
            None => std::thread::park(),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                std::thread::park_timeout(left);
            }
        }
    }
}
