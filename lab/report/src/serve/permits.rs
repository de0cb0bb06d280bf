//! Permits for a limited resource, shared among clients.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Permits, some of which each client can hold.
///
/// Clients that wait take turns, so that one with many requests delays another by one request at most.
#[derive(Debug)]
pub(super) struct Permits {
    max: usize,
    per_client_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The clients that hold permits.
    held: Vec<IpAddr>,
    /// The next client first, if it may hold another permit.
    waiting: VecDeque<(IpAddr, oneshot::Sender<Permit>)>,
}

/// The right to use the resource until it is dropped.
#[derive(Debug)]
pub(super) struct Permit {
    client: IpAddr,
    permits: Arc<Permits>,
}

impl Permits {
    pub(super) fn new(max: usize, per_client_max: usize) -> Arc<Permits> {
        Arc::new(Permits { max, per_client_max, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_free_for(&self, state: &State, client: IpAddr) -> bool {
        let own = state.held.iter().filter(|holder| **holder == client).count();
        state.held.len() < self.max && own < self.per_client_max
    }

    pub(super) fn try_acquire(self: &Arc<Self>, client: IpAddr) -> Option<Permit> {
        let mut state = self.state();
        // Those that wait have no free permit, so this overtakes no other client.
        if !self.is_free_for(&state, client) {
            return None;
        }
        state.held.push(client);
        Some(Permit { client, permits: Arc::clone(self) })
    }

    pub(super) async fn acquire(self: &Arc<Self>, client: IpAddr) -> Permit {
        if let Some(permit) = self.try_acquire(client) {
            return permit;
        }
        let (sender, receiver) = oneshot::channel();
        self.state().waiting.push_back((client, sender));
        // A permit may have been returned in the meantime.
        self.grant();
        receiver.await.expect("a sender is dropped only if its receiver is gone")
    }

    /// Hands free permits to those that wait.
    fn grant(self: &Arc<Self>) {
        loop {
            let mut state = self.state();
            state.waiting.retain(|(_, sender)| !sender.is_closed());
            let next = state.waiting.iter().position(|(client, _)| self.is_free_for(&state, *client));
            let Some((client, sender)) = next.and_then(|at| state.waiting.remove(at)) else { return };
            state.held.push(client);
            // Its other requests wait for those of all other clients.
            let (own, mut waiting): (VecDeque<_>, VecDeque<_>) =
                state.waiting.drain(..).partition(|(other, _)| *other == client);
            waiting.extend(own);
            state.waiting = waiting;
            // Dropping a permit that is no longer wanted locks the state.
            drop(state);
            let _ = sender.send(Permit { client, permits: Arc::clone(self) });
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.permits.state();
        let at = state.held.iter().position(|holder| *holder == self.client);
        state.held.swap_remove(at.expect("a client that has a permit is a holder"));
        drop(state);
        self.permits.grant();
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Acquiring = Pin<Box<dyn Future<Output = Permit>>>;

    fn client(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    /// A request for a permit that waits.
    fn waiting(permits: &Arc<Permits>, number: u8) -> Acquiring {
        let permits = Arc::clone(permits);
        let mut acquiring: Acquiring = Box::pin(async move { permits.acquire(client(number)).await });
        assert!(poll(&mut acquiring).is_none());
        acquiring
    }

    fn poll(acquiring: &mut Acquiring) -> Option<Permit> {
        match acquiring.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => Some(permit),
            Poll::Pending => None,
        }
    }

    #[test]
    fn clients_take_turns() {
        let permits = Permits::new(1, 1);
        let mut held = permits.try_acquire(client(1));
        let mut requests: Vec<_> = [1, 1, 1, 2, 2, 3].map(|number| waiting(&permits, number)).into();
        let mut order = Vec::new();
        while !requests.is_empty() {
            held = None;
            assert!(held.is_none());
            let ready = requests.iter_mut().enumerate().find_map(|(at, it)| Some((at, poll(it)?)));
            let (at, permit) = ready.expect("a free permit is granted");
            drop(requests.remove(at));
            order.push(permit.client);
            held = Some(permit);
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1].map(client));
        drop(held);
        assert!(permits.try_acquire(client(4)).is_some());
    }

    #[test]
    fn a_client_holds_a_part_of_the_permits() {
        let permits = Permits::new(3, 2);
        let _own = [(); 2].map(|()| permits.try_acquire(client(1)).unwrap());
        let mut third = waiting(&permits, 1);
        assert!(permits.try_acquire(client(1)).is_none());
        let other = permits.try_acquire(client(2)).unwrap();
        assert!(permits.try_acquire(client(3)).is_none(), "all are held");
        drop(other);
        assert!(poll(&mut third).is_none());
    }

    #[test]
    fn a_request_that_is_given_up_holds_nothing() {
        let permits = Permits::new(1, 1);
        let held = permits.try_acquire(client(1));
        drop(waiting(&permits, 2));
        let granted = waiting(&permits, 3);
        drop(held);
        assert!(permits.try_acquire(client(4)).is_none(), "it is granted, but not received yet");
        drop(granted);
        assert!(permits.try_acquire(client(4)).is_some());
        assert!(permits.state().waiting.is_empty());
    }
}
