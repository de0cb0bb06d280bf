//! A reactor in which some connections use TLS, with the methods of a reactor.
//!
//! Input is decrypted when its event is taken, and output is encrypted when the iteration is flushed. The limits
//! of plain connections apply: to the decrypted input, and to output by [`Wire::pending_output`]. In addition
//! there is at most one incomplete record, and the handshake has a deadline.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::tcp::{BufferSizes, Event, Key, Listener, TcpReactor};
use rustls::{ClientConfig, ServerConfig};

use super::session::{Broken, NOT_TLS, Phase, Session};
use crate::limits::HANDSHAKE_TIME;

pub(crate) struct Wire {
    reactor: TcpReactor,
    /// `None` if no port uses TLS.
    tls: Option<Box<Tls>>,
}

struct Tls {
    listeners: Vec<(Listener, Arc<ServerConfig>)>,
    /// For connections that this server opens.
    client: Option<Arc<ClientConfig>>,
    /// The last failure of such a connection.
    failure: Option<(Key, String)>,
    /// Indexed by the reactor's slot numbers.
    sessions: Vec<Option<Box<Session>>>,
    count: usize,
    /// Handshake deadlines, in order. Some of these handshakes are complete.
    young: VecDeque<(Instant, Key)>,
    /// Clients with output to encrypt.
    dirty: Vec<Key>,
    /// A further event to report.
    event: Option<Event>,
    /// Limit on the decrypted input of one client.
    input_bytes: usize,
}

impl Wire {
    /// Connections of these listeners use TLS, and those that this server opens if there is a client
    /// configuration.
    pub(crate) fn new(
        reactor: TcpReactor,
        listeners: Vec<(Listener, Arc<ServerConfig>)>,
        client: Option<Arc<ClientConfig>>,
        input_bytes: usize,
    ) -> Self {
        let tls = (client.is_some() || !listeners.is_empty()).then(|| {
            Box::new(Tls {
                listeners,
                client,
                failure: None,
                sessions: Vec::new(),
                count: 0,
                young: VecDeque::new(),
                dirty: Vec::new(),
                event: None,
                input_bytes,
            })
        });
        Self { reactor, tls }
    }

    /// Opens a connection.
    pub(crate) fn connect(&mut self, address: SocketAddr) -> io::Result<Key> {
        let key = self.reactor.connect(address)?;
        if let Some(tls) = &mut self.tls {
            tls.connect(&mut self.reactor, key, address)?;
        }
        Ok(key)
    }

    /// Why a connection that this server opened has failed, if the cause is TLS.
    pub(crate) fn take_failure(&mut self, key: Key) -> Option<String> {
        self.tls.as_mut()?.failure.take_if(|(failed, _)| *failed == key).map(|(_, reason)| reason)
    }

    pub(crate) fn wait(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return self.reactor.wait(timeout) };
        self.reactor.wait(tls.timeout(timeout))?;
        tls.expire(&mut self.reactor);
        Ok(())
    }

    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<Event> {
        let Some(tls) = &mut self.tls else { return self.reactor.next_event() };
        if let Some(event) = tls.event.take() {
            return Some(event);
        }
        loop {
            let event = self.reactor.next_event()?;
            if tls.handle_event(&mut self.reactor, event) {
                return Some(event);
            }
            if let Some(event) = tls.event.take() {
                return Some(event);
            }
        }
    }

    #[inline]
    pub(crate) fn input(&self, key: Key) -> &[u8] {
        match self.tls.as_ref().and_then(|tls| tls.get(key)) {
            Some(session) => session.input(),
            None => self.reactor.input(key),
        }
    }

    #[inline]
    pub(crate) fn consume(&mut self, key: Key, count: usize) {
        match self.session(key) {
            Some(session) => session.consume(count),
            None => self.reactor.consume(key, count),
        }
    }

    #[inline]
    pub(crate) fn output(&mut self, key: Key) -> &mut Vec<u8> {
        self.buffers(key).1
    }

    #[inline]
    pub(crate) fn buffers(&mut self, key: Key) -> (&[u8], &mut Vec<u8>) {
        if let Some(tls) = &mut self.tls
            && tls.get(key).is_some()
            && let Some(session) = tls.written(key)
        {
            return session.buffers();
        }
        self.reactor.buffers(key)
    }

    #[inline]
    pub(crate) fn pending_output(&self, key: Key) -> usize {
        let clear = self.tls.as_ref().and_then(|tls| tls.get(key)).map_or(0, |session| session.output.len());
        self.reactor.pending_output(key) + clear
    }

    /// With TLS: of the plaintext and the records together.
    #[inline]
    pub(crate) fn buffer_sizes(&self, key: Key) -> BufferSizes {
        let mut sizes = self.reactor.buffer_sizes(key);
        if let Some(session) = self.tls.as_ref().and_then(|tls| tls.get(key)) {
            session.add_sizes(&mut sizes);
        }
        sizes
    }

    pub(crate) fn connection_address(&self, key: Key) -> Option<SocketAddr> {
        self.reactor.connection_address(key)
    }

    pub(crate) fn set_keepalive(&mut self, silence: Option<Duration>) -> io::Result<()> {
        self.reactor.set_keepalive(silence)
    }

    pub(crate) fn pause(&mut self, key: Key) {
        self.reactor.pause(key);
    }

    pub(crate) fn resume(&mut self, key: Key) {
        self.reactor.resume(key);
    }

    /// Before the end of the handshake, closing after a flush waits for it, up to the handshake's deadline.
    pub(crate) fn close(&mut self, key: Key, after_flush: bool) {
        if let Some(session) = self.tls.as_mut().and_then(|tls| tls.get_mut(key)) {
            if after_flush && session.phase != Phase::Over {
                if session.is_young() {
                    session.refused = true;
                    return;
                }
                session.end(self.reactor.output(key));
            }
            session.is_over();
        }
        self.reactor.close(key, after_flush);
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.encrypt(&mut self.reactor);
        }
        self.reactor.flush()
    }

    #[inline]
    fn session(&mut self, key: Key) -> Option<&mut Session> {
        self.tls.as_mut()?.get_mut(key)
    }
}

impl Tls {
    #[inline]
    fn get(&self, key: Key) -> Option<&Session> {
        self.sessions.get(key.index())?.as_deref().filter(|session| session.key == key)
    }

    #[inline]
    fn get_mut(&mut self, key: Key) -> Option<&mut Session> {
        self.sessions.get_mut(key.index())?.as_deref_mut().filter(|session| session.key == key)
    }

    /// Marks the session for encryption.
    #[inline]
    fn written(&mut self, key: Key) -> Option<&mut Session> {
        let slot = self.sessions.get_mut(key.index())?;
        let session = slot.as_deref_mut().filter(|session| session.key == key)?;
        if !std::mem::replace(&mut session.dirty, true) {
            self.dirty.push(key);
        }
        Some(session)
    }

    /// Processes an event for TLS. Returns whether to report it.
    fn handle_event(&mut self, reactor: &mut TcpReactor, event: Event) -> bool {
        match event {
            Event::Accepted(key, _) => self.open(reactor, key),
            Event::Received(key) if self.get(key).is_some() => self.receive(reactor, key),
            Event::Ended(key) => {
                let Some(session) = self.get_mut(key).filter(|session| session.is_young()) else {
                    return true;
                };
                // A connection without a complete handshake has no pending output.
                session.is_over();
                reactor.close(key, false);
                false
            }
            Event::Closed(key, _) => {
                let slot = self.sessions.get_mut(key.index());
                let gone = slot.and_then(|slot| slot.take_if(|session| session.key == key));
                self.count -= usize::from(gone.is_some());
                true
            }
            Event::Received(_) | Event::Connected(_) | Event::Woken => true,
        }
    }

    /// Returns true: the caller counts all connections.
    fn open(&mut self, reactor: &mut TcpReactor, key: Key) -> bool {
        let listener = reactor.listener(key);
        let config = self.listeners.iter().find(|(tls, _)| Some(*tls) == listener);
        let Some((_, config)) = config else { return true };
        match Session::server(key, config.clone()) {
            Ok(session) => self.insert(session),
            Err(_) => reactor.close(key, false),
        }
        true
    }

    fn connect(&mut self, reactor: &mut TcpReactor, key: Key, address: SocketAddr) -> io::Result<()> {
        let Some(config) = self.client.clone() else { return Ok(()) };
        match Session::client(key, config, address.ip()) {
            Ok(session) => self.insert(session),
            Err(error) => {
                reactor.close(key, false);
                return Err(io::Error::other(error));
            }
        }
        if let Some(session) = self.get_mut(key) {
            session.write_records(reactor.output(key));
        }
        Ok(())
    }

    fn insert(&mut self, session: Session) {
        let key = session.key;
        let index = key.index();
        if index >= self.sessions.len() {
            self.sessions.resize_with(index + 1, || None);
        }
        self.sessions[index] = Some(Box::new(session));
        self.count += 1;
        if self.young.len() > 2 * self.count {
            let mut young = std::mem::take(&mut self.young);
            young.retain(|(_, key)| self.get(*key).is_some_and(Session::is_young));
            self.young = young;
        }
        self.young.push_back((Instant::now() + HANDSHAKE_TIME, key));
    }

    /// Returns whether there is decrypted input.
    fn receive(&mut self, reactor: &mut TcpReactor, key: Key) -> bool {
        let most = self.input_bytes;
        let Some(session) = self.get_mut(key) else { return true };
        let arrived = reactor.input(key);
        let count = arrived.len();
        if session.phase == Phase::Over {
            reactor.consume(key, count);
            return false;
        }
        let before = session.input().len();
        let received = session.receive(arrived);
        reactor.consume(key, count);
        if received == Err(Broken::NotTls) {
            reactor.output(key).extend_from_slice(NOT_TLS);
        } else {
            // Includes the alert for an error.
            session.write_records(reactor.output(key));
        }
        if session.refused && session.phase == Phase::Open {
            session.end(reactor.output(key));
        }
        if received.is_err() || session.refused && session.phase == Phase::Open {
            session.is_over();
            reactor.close(key, true);
            if let Err(Broken::Protocol(reason)) = received {
                self.failure = Some((key, reason));
            }
            return false;
        }
        if session.input().len() > most {
            session.is_over();
            reactor.close(key, false);
            return false;
        }
        // Output that was written before the end of the handshake.
        let waiting = session.phase == Phase::Open && !session.output.is_empty();
        let some = session.input().len() > before;
        let ended = received == Ok(true);
        if waiting {
            self.written(key);
        }
        if ended {
            // Reported next, whether there was input or not.
            self.event = Some(Event::Ended(key));
        }
        some
    }

    /// Time until the next handshake deadline, or `timeout` if that is shorter.
    fn timeout(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        while let Some((_, key)) = self.young.front().copied()
            && !self.get(key).is_some_and(Session::is_young)
        {
            self.young.pop_front();
        }
        let handshake = self.young.front().map(|(at, _)| at.saturating_duration_since(Instant::now()));
        [timeout, handshake].into_iter().flatten().min()
    }

    /// Closes connections that missed the handshake deadline.
    fn expire(&mut self, reactor: &mut TcpReactor) {
        let now = Instant::now();
        while let Some((_, key)) = self.young.pop_front_if(|(at, _)| *at <= now) {
            if let Some(session) = self.get_mut(key)
                && session.is_young()
            {
                session.is_over();
                reactor.close(key, false);
            }
        }
    }

    fn encrypt(&mut self, reactor: &mut TcpReactor) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for key in dirty.drain(..) {
            let Some(session) = self.get_mut(key) else { continue };
            session.dirty = false;
            session.encrypt(reactor.output(key));
        }
        self.dirty = dirty;
    }
}
