//! Finds the connection of a datagram when many share a port.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use crate::limits::{ADDRESSES_PER_CONNECTION, CHECKS_PER_CONNECTION, UFRAGS_PER_CONNECTION};
use crate::stun::TransactionId;
use crate::switch::{Key, PortMember};

/// A local port and a peer's address.
pub(crate) type Path = (u32, SocketAddr);

/// The tables. They are never iterated, so the random order of the maps has no effect.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    paths: HashMap<Path, u32>,
    /// The paths by local port and address: the connection, and the peer's port.
    hosts: BTreeSet<(u32, IpAddr, u32, u16)>,
    ufrags: HashMap<String, u32>,
    /// Which connection sent a check, and to which address.
    checks: HashMap<TransactionId, (u32, SocketAddr)>,
    /// The last path looked up: consecutive datagrams often belong to one connection.
    last: Option<(Path, u32)>,
    /// Where routes are registered for other reactors that share the port.
    member: Option<PortMember>,
}

/// The entries of one connection, to be removed with it.
#[derive(Debug, Default)]
pub(crate) struct Trail {
    paths: VecDeque<Path>,
    /// A path on which no check has been received or answered yet (`moved.rs`).
    unproven: Option<Path>,
    ufrags: Vec<String>,
    checks: VecDeque<TransactionId>,
}

impl Routes {
    pub(crate) fn new(member: Option<PortMember>) -> Self {
        Self { member, ..Self::default() }
    }

    /// The membership in a shared port, if any.
    pub(crate) fn port_member(&self) -> Option<&PortMember> {
        self.member.as_ref()
    }

    /// Leaves the shared port: other reactors find no routes here any more.
    pub(crate) fn leave(&mut self) {
        self.member = None;
    }

    /// The connection of a path.
    pub(crate) fn by_path(&mut self, path: Path) -> Option<u32> {
        if let Some((last, index)) = self.last
            && last == path
        {
            return Some(index);
        }
        let index = *self.paths.get(&path)?;
        self.last = Some((path, index));
        Some(index)
    }

    /// Connections with a peer at this address, on any port; repeated for peers with several ports.
    pub(crate) fn at_host(&self, port: u32, host: IpAddr) -> impl Iterator<Item = u32> {
        self.hosts.range((port, host, 0, 0)..=(port, host, u32::MAX, u16::MAX)).map(|(_, _, index, _)| *index)
    }

    /// The connection with this username fragment.
    pub(crate) fn by_ufrag(&self, ufrag: &str) -> Option<u32> {
        self.ufrags.get(ufrag).copied()
    }

    /// The connection that sent a check, and its destination.
    pub(crate) fn by_check(&self, id: &TransactionId) -> Option<(u32, SocketAddr)> {
        self.checks.get(id).copied()
    }

    /// Removes an answered check: a second response does not count.
    pub(crate) fn remove_check(&mut self, id: &TransactionId) {
        self.checks.remove(id);
        self.take_back(&Key::Check(*id));
    }

    /// The connection of a path, if it is another one.
    pub(crate) fn other_owner(&self, index: u32, path: Path) -> Option<u32> {
        self.paths.get(&path).copied().filter(|&owner| owner != index)
    }

    /// The other reactor that owns a path.
    pub(crate) fn other_reactor(&self, path: Path) -> Option<u32> {
        self.member.as_ref()?.other_owner(&shared_key(&path)?)
    }

    /// Assigns a path to this connection. Returns the other reactor that owned it.
    pub(crate) fn add_path(&mut self, index: u32, trail: &mut Trail, path: Path) -> Option<u32> {
        if trail.paths.back() == Some(&path) && self.paths.get(&path) == Some(&index) {
            return None;
        }
        self.last = None;
        trail.paths.retain(|known| *known != path);
        trail.paths.push_back(path);
        self.insert_path(index, path);
        if trail.paths.len() > ADDRESSES_PER_CONNECTION
            && let Some(oldest) = trail.paths.pop_front()
        {
            self.remove_own_path(index, &oldest);
        }
        self.member.as_ref()?.claim(shared_key(&path)?)
    }

    /// Assigns a path until a connection proves it; each connection has at most one such path. Returns false
    /// if another reactor owns it.
    pub(crate) fn add_unproven(&mut self, index: u32, trail: &mut Trail, path: Path) -> bool {
        if let (Some(member), Some(key)) = (&self.member, shared_key(&path))
            && !member.claim_if_free(key)
        {
            return false;
        }
        self.last = None;
        let before = trail.unproven.replace(path);
        if let Some(before) = before.filter(|before| !trail.paths.contains(before)) {
            self.remove_own_path(index, &before);
        }
        self.insert_path(index, path);
        true
    }

    /// Removes a path that now belongs to another reactor.
    pub(crate) fn remove_path(&mut self, index: u32, trail: &mut Trail, path: Path) {
        self.last = None;
        trail.paths.retain(|known| *known != path);
        self.remove_own_path(index, &path);
    }

    /// Sets the username fragments of this connection; all others are removed.
    pub(crate) fn set_ufrags<'a>(
        &mut self,
        index: u32,
        trail: &mut Trail,
        ufrags: impl Iterator<Item = &'a str> + Clone,
    ) {
        let ufrags = ufrags.filter(|ufrag| !ufrag.is_empty()).take(UFRAGS_PER_CONNECTION);
        if ufrags.clone().eq(trail.ufrags.iter().map(String::as_str)) {
            return;
        }
        trail.ufrags.drain(..).for_each(|ufrag| self.remove_own_ufrag(index, ufrag));
        for ufrag in ufrags {
            trail.ufrags.push(ufrag.to_owned());
            self.ufrags.insert(ufrag.to_owned(), index);
            self.tell(Key::Ufrag(ufrag.to_owned()));
        }
    }

    /// Registers an unanswered check.
    pub(crate) fn add_check(&mut self, index: u32, trail: &mut Trail, id: TransactionId, remote: SocketAddr) {
        if self.checks.insert(id, (index, remote)).is_some_and(|(owner, _)| owner == index) {
            return; // Sent again.
        }
        self.tell(Key::Check(id));
        trail.checks.push_back(id);
        if trail.checks.len() > CHECKS_PER_CONNECTION
            && let Some(oldest) = trail.checks.pop_front()
        {
            self.remove_own_check(index, &oldest);
        }
    }

    /// Removes a connection.
    pub(crate) fn remove(&mut self, index: u32, trail: &Trail) {
        self.last = None;
        trail.paths.iter().chain(&trail.unproven).for_each(|path| self.remove_own_path(index, path));
        trail.ufrags.iter().for_each(|ufrag| self.remove_own_ufrag(index, ufrag.clone()));
        trail.checks.iter().for_each(|id| self.remove_own_check(index, id));
    }

    fn remove_own_check(&mut self, index: u32, id: &TransactionId) {
        if self.checks.get(id).is_some_and(|&(owner, _)| owner == index) {
            self.remove_check(id);
        }
    }

    fn insert_path(&mut self, index: u32, path: Path) {
        if let Some(before) = self.paths.insert(path, index) {
            self.hosts.remove(&host_of(before, &path));
        }
        self.hosts.insert(host_of(index, &path));
    }

    fn remove_own_path(&mut self, index: u32, path: &Path) {
        if !remove_own(&mut self.paths, path, index) {
            return;
        }
        self.hosts.remove(&host_of(index, path));
        if let Some(key) = shared_key(path) {
            self.take_back(&key);
        }
    }

    fn remove_own_ufrag(&mut self, index: u32, ufrag: String) {
        if remove_own(&mut self.ufrags, &ufrag, index) {
            self.take_back(&Key::Ufrag(ufrag));
        }
    }

    fn tell(&self, key: Key) {
        if let Some(member) = &self.member {
            member.claim(key);
        }
    }

    fn take_back(&self, key: &Key) {
        if let Some(member) = &self.member {
            member.release(key);
        }
    }
}

/// A path as a key of the table by address.
fn host_of(index: u32, (port, remote): &Path) -> (u32, IpAddr, u32, u16) {
    (*port, remote.ip(), index, remote.port())
}

/// The key of a path among reactors; `None` if it does not use the shared port.
fn shared_key(&(port, remote): &Path) -> Option<Key> {
    (port == 0).then_some(Key::Path(remote))
}

/// Removes an entry if it leads to this connection; returns whether it did.
fn remove_own<K: std::hash::Hash + Eq>(map: &mut HashMap<K, u32>, key: &K, index: u32) -> bool {
    let is_own = map.get(key) == Some(&index);
    is_own && map.remove(key).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(port: u16) -> Path {
        (0, SocketAddr::from(([192, 0, 2, 1], port)))
    }

    #[test]
    fn the_oldest_address_gives_way() {
        let (mut routes, mut trail) = (Routes::default(), Trail::default());
        for port in 0..ADDRESSES_PER_CONNECTION as u16 {
            routes.add_path(5, &mut trail, path(port));
        }
        // Seen again, so it is no longer the oldest.
        routes.add_path(5, &mut trail, path(0));
        routes.add_path(5, &mut trail, path(100));
        assert_eq!(routes.by_path(path(0)), Some(5));
        assert_eq!(routes.by_path(path(1)), None);
        assert_eq!(routes.by_path(path(100)), Some(5));
        assert_eq!(routes.paths.len(), ADDRESSES_PER_CONNECTION);
        assert!(routes.at_host(0, path(0).1.ip()).eq([5; ADDRESSES_PER_CONNECTION]));
        routes.remove(5, &trail);
        assert!(routes.paths.is_empty() && routes.hosts.is_empty() && routes.by_path(path(100)).is_none());
    }

    #[test]
    fn one_path_may_be_unproven() {
        let (mut routes, mut trail) = (Routes::default(), Trail::default());
        routes.add_path(5, &mut trail, path(1));
        routes.add_unproven(5, &mut trail, path(2));
        assert_eq!([1, 2].map(|port| routes.by_path(path(port))), [Some(5); 2]);
        routes.add_unproven(5, &mut trail, path(3));
        assert_eq!([1, 2, 3].map(|port| routes.by_path(path(port))), [Some(5), None, Some(5)]);
        // Proven now, so it stays.
        routes.add_path(5, &mut trail, path(3));
        routes.add_unproven(5, &mut trail, path(4));
        assert_eq!([1, 3, 4].map(|port| routes.by_path(path(port))), [Some(5); 3]);
        routes.remove(5, &trail);
        assert!(routes.paths.is_empty() && routes.hosts.is_empty());
    }

    /// Datagrams that the kernel delivers elsewhere are handed over, as for proven paths.
    #[test]
    fn others_at_the_port_know_of_an_unproven_path() {
        let mut sides =
            PortMember::group(2).into_iter().map(|member| (Routes::new(Some(member)), Trail::default()));
        let ((mut here, mut trail), (mut there, mut other)) = (sides.next().unwrap(), sides.next().unwrap());
        assert!(here.add_unproven(5, &mut trail, path(2)));
        assert_eq!(there.other_reactor(path(2)), Some(0));
        assert!(here.add_unproven(5, &mut trail, path(3)));
        assert_eq!([2, 3].map(|port| there.other_reactor(path(port))), [None, Some(0)]);
        // The connection that has proven the path keeps it.
        assert!(!there.add_unproven(7, &mut other, path(3)), "no better one");
        assert_eq!(there.add_path(7, &mut other, path(3)), Some(0));
        assert!(!here.add_unproven(5, &mut trail, path(3)));
        assert_eq!(here.other_reactor(path(3)), Some(1));
        assert!(here.add_unproven(5, &mut trail, path(4)));
        assert_eq!(here.other_reactor(path(3)), Some(1), "it was not the first's to give back");
        here.remove(5, &trail);
        assert_eq!(there.other_reactor(path(4)), None);
    }

    #[test]
    fn a_path_that_changed_hands_stays_with_its_new_owner() {
        let (mut routes, mut old, mut new) = (Routes::default(), Trail::default(), Trail::default());
        routes.add_path(1, &mut old, path(9));
        assert_eq!(routes.by_path(path(9)), Some(1));
        routes.add_path(2, &mut new, path(9));
        assert_eq!(routes.by_path(path(9)), Some(2));
        assert!(routes.at_host(0, path(9).1.ip()).eq([2]) && routes.at_host(1, path(9).1.ip()).eq([]));
        routes.remove(1, &old);
        assert_eq!(routes.by_path(path(9)), Some(2));
        assert_eq!(routes.by_path((1, path(9).1)), None, "another port of ours");
    }

    #[test]
    fn fragments_and_checks_are_bounded() {
        let (mut routes, mut trail) = (Routes::default(), Trail::default());
        for (set, leads) in [
            (&["one"][..], [false, true, false, false, false]),
            (&["one", "two"], [false, true, true, false, false]),
            (&["one", "three"], [false, true, false, true, false]),
            (&["", "two", "three", "one", "four"], [false, true, true, true, false]),
            (&["three"], [false, false, false, true, false]),
        ] {
            routes.set_ufrags(3, &mut trail, set.iter().copied());
            let found = ["", "one", "two", "three", "four"].map(|ufrag| routes.by_ufrag(ufrag));
            assert_eq!(found, leads.map(|leads| leads.then_some(3)), "{set:?}");
        }
        for number in 0..=CHECKS_PER_CONNECTION as u8 {
            routes.add_check(3, &mut trail, [number; 12], path(7).1);
            routes.add_check(3, &mut trail, [number; 12], path(7).1);
        }
        assert_eq!(routes.by_check(&[0; 12]), None);
        assert_eq!(routes.by_check(&[1; 12]), Some((3, path(7).1)));
        routes.remove_check(&[1; 12]);
        assert_eq!(routes.by_check(&[1; 12]), None, "once");
        assert!(trail.checks.len() <= CHECKS_PER_CONNECTION);
        routes.remove(3, &trail);
        assert!(routes.ufrags.is_empty() && routes.checks.is_empty());
    }
}
