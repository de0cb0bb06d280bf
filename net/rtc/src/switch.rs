//! Several reactors that share a port: who owns which connection, and hand-over of datagrams that arrived at
//! the wrong reactor.
//!
//! The kernel distributes datagrams over the sockets of the port by a secret hash of both addresses. Where a
//! peer's datagrams arrive is unpredictable and changes with the peer's address. So each reactor registers
//! here what identifies its connections, and hands over datagrams that belong to another reactor. The table
//! is consulted only for datagrams that a reactor does not recognise.
//!
//! This module does not parse datagrams (`stun.rs` does) and does not move connections. A connection with
//! many hand-overs gets a separate socket (`engine/steering.rs`).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use netdyno_io::hub::Kick;
use netdyno_io::{Received, SocketOptions, UdpSocket};

use crate::limits::{HANDED_OVER_BYTES, HANDED_OVER_OVERHEAD_BYTES};
use crate::stun::TransactionId;

/// Identifies a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// The peer's address.
    Path(SocketAddr),
    /// A local ICE username fragment.
    Ufrag(String),
    /// An unanswered check.
    Check(TransactionId),
}

/// A message from one reactor to another.
#[derive(Debug)]
pub(crate) enum Handover {
    /// Datagrams of one sender, as in [`Received`].
    Datagrams { local: SocketAddr, remote: SocketAddr, segment_bytes: usize, bytes: Vec<u8> },
    /// The path now belongs to the sending reactor; `answered`: the peer has proven it.
    PathTaken { remote: SocketAddr, answered: bool },
}

#[derive(Debug, Default)]
struct Switch {
    /// The shared address, once the first reactor has bound it.
    address: OnceLock<SocketAddr>,
    /// The owner of each key. Each connection has a bounded number of keys.
    owners: RwLock<HashMap<Key, u32>>,
    inboxes: Box<[Inbox]>,
}

#[derive(Default)]
struct Inbox {
    mail: Mutex<Waiting>,
    kick: OnceLock<Kick>,
}

#[derive(Debug, Default)]
struct Waiting {
    list: VecDeque<Handover>,
    bytes: usize,
    is_closed: bool,
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("mail", &self.mail).finish_non_exhaustive()
    }
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A reactor's membership in a shared port. Dropping it removes all of its keys.
#[derive(Debug)]
pub(crate) struct PortMember {
    switch: Arc<Switch>,
    number: u32,
}

impl PortMember {
    /// Members for this many reactors.
    pub(crate) fn group(count: usize) -> Vec<Self> {
        let inboxes = (0..count).map(|_| Inbox::default()).collect();
        let switch = Arc::new(Switch { inboxes, ..Switch::default() });
        (0..).take(count).map(|number| Self { switch: switch.clone(), number }).collect()
    }

    /// The number of members.
    pub(crate) fn count(&self) -> usize {
        self.switch.inboxes.len()
    }

    /// Binds the port. The first bind is exclusive, so that a port shared by another program is refused; the
    /// others reuse it.
    pub(crate) fn bind(&self, address: SocketAddr, options: &SocketOptions) -> io::Result<UdpSocket> {
        if let Some(&address) = self.switch.address.get() {
            let mut options = options.clone();
            options.reuse_port = true;
            return UdpSocket::bind(address, &options);
        }
        let socket = UdpSocket::bind(address, options)?;
        socket.share_port()?;
        // Not set before: reactors bind one after the other.
        let _ = self.switch.address.set(socket.local_address());
        Ok(socket)
    }

    /// Sets how to wake this reactor when something is handed over to it.
    pub(crate) fn set_kick(&self, kick: Kick) {
        // A reactor has one driver, which calls this once.
        let _ = self.own_inbox().kick.set(kick);
    }

    /// Assigns a key to this reactor. Returns its previous owner, if that was another reactor.
    pub(crate) fn claim(&self, key: Key) -> Option<u32> {
        let mut owners = self.switch.owners.write().unwrap_or_else(PoisonError::into_inner);
        owners.insert(key, self.number).filter(|&before| before != self.number)
    }

    /// Assigns a key to this reactor unless another one owns it. Returns whether this reactor owns it.
    pub(crate) fn claim_if_free(&self, key: Key) -> bool {
        let mut owners = self.switch.owners.write().unwrap_or_else(PoisonError::into_inner);
        *owners.entry(key).or_insert(self.number) == self.number
    }

    /// Releases a key if this reactor owns it.
    pub(crate) fn release(&self, key: &Key) {
        let mut owners = self.switch.owners.write().unwrap_or_else(PoisonError::into_inner);
        if owners.get(key) == Some(&self.number) {
            owners.remove(key);
        }
    }

    /// The other reactor that owns a key.
    pub(crate) fn other_owner(&self, key: &Key) -> Option<u32> {
        let owners = self.switch.owners.read().unwrap_or_else(PoisonError::into_inner);
        owners.get(key).copied().filter(|&owner| owner != self.number)
    }

    /// Hands over a copy of the datagrams. They are dropped if the queue is full, as by a full socket.
    pub(crate) fn hand_over(&self, to: u32, received: &Received<'_>) {
        let Received { local, remote, segment_bytes, ref datagrams } = *received;
        self.send(to, datagrams.len() + HANDED_OVER_OVERHEAD_BYTES, || Handover::Datagrams {
            local,
            remote,
            segment_bytes,
            bytes: datagrams.to_vec(),
        });
    }

    /// Hands datagrams over to all other reactors: any of them may have sent the request.
    pub(crate) fn hand_to_others(&self, received: &Received<'_>) {
        (0..self.count() as u32).filter(|&to| to != self.number).for_each(|to| self.hand_over(to, received));
    }

    /// Tells another reactor that this one has taken over a path. Never dropped: at most one is sent for each
    /// claim.
    pub(crate) fn tell_taken(&self, to: u32, remote: SocketAddr, answered: bool) {
        self.send(to, 0, || Handover::PathTaken { remote, answered });
    }

    /// Takes all messages received.
    pub(crate) fn collect(&self) -> VecDeque<Handover> {
        let mut mail = self.own_inbox().lock();
        mail.bytes = 0;
        std::mem::take(&mut mail.list)
    }

    fn own_inbox(&self) -> &Inbox {
        &self.switch.inboxes[self.number as usize]
    }

    fn send(&self, to: u32, charge: usize, make: impl FnOnce() -> Handover) {
        let Some(inbox) = self.switch.inboxes.get(to as usize) else { return };
        let mut mail = inbox.lock();
        if mail.is_closed || (charge > 0 && mail.bytes + charge > HANDED_OVER_BYTES) {
            return;
        }
        mail.bytes += charge;
        let is_first = mail.list.is_empty();
        mail.list.push_back(make());
        drop(mail);
        // Only the first message wakes the reactor; until it looks, the others need not.
        if is_first && let Some(kick) = inbox.kick.get() {
            kick();
        }
    }
}

impl Drop for PortMember {
    fn drop(&mut self) {
        let mut owners = self.switch.owners.write().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, owner| *owner != self.number);
        drop(owners);
        *self.own_inbox().lock() = Waiting { is_closed: true, ..Waiting::default() };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn keys_are_known_to_all_members_until_their_owner_leaves() {
        let mut members = PortMember::group(3);
        let (path, ufrag, check) = (Key::Path(address(7)), Key::Ufrag("seven".into()), Key::Check([7; 12]));
        for key in [&path, &ufrag, &check] {
            assert_eq!(members[0].claim(key.clone()), None);
            assert_eq!(
                [0, 1, 2].map(|member: usize| members[member].other_owner(key)),
                [None, Some(0), Some(0)]
            );
        }
        assert_eq!(members[0].claim(path.clone()), None, "its own");
        assert_eq!(members[2].claim(path.clone()), Some(0));
        members[0].release(&path);
        assert_eq!(members[1].other_owner(&path), Some(2), "it is not the first's any more");
        members.remove(0);
        assert_eq!([&path, &ufrag, &check].map(|key| members[0].other_owner(key)), [Some(2), None, None]);
        members[1].release(&path);
        assert!(members[0].switch.owners.read().unwrap().is_empty());
    }

    #[test]
    fn hand_overs_are_bounded_and_wake_once() {
        let mut members = PortMember::group(2);
        let kicks = Arc::new(AtomicUsize::new(0));
        let counted = kicks.clone();
        members[1].set_kick(Arc::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        }));
        let (fits, mut bytes) = (HANDED_OVER_BYTES / (60_000 + HANDED_OVER_OVERHEAD_BYTES), vec![7; 60_000]);
        for round in 1..3 {
            for _ in 0..fits + 9 {
                let (local, remote, datagrams) = (address(1), address(2), &mut bytes[..]);
                members[0].hand_over(1, &Received { local, remote, datagrams, segment_bytes: 1200 });
            }
            members[0].tell_taken(1, address(2), true);
            let mail = members[1].collect();
            assert_eq!((mail.len(), kicks.load(Ordering::Relaxed)), (fits + 1, round));
            assert!(matches!(mail.back(), Some(Handover::PathTaken { answered: true, .. })));
            assert!(members[1].collect().is_empty());
        }
        members.remove(1);
        members[0].tell_taken(1, address(2), true);
        assert!(members[0].switch.inboxes[1].lock().list.is_empty());
    }

    #[test]
    fn a_port_that_another_program_shares_is_refused() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (ours, theirs) = (PortMember::group(2), PortMember::group(2));
        let first = ours[0].bind(any, &SocketOptions::default()).unwrap();
        let second = ours[1].bind(any, &SocketOptions::default()).unwrap();
        assert_eq!(first.local_address(), second.local_address());
        let refused = theirs[0].bind(first.local_address(), &SocketOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
    }
}
