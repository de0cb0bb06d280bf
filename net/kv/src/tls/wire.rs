//! A reactor some of whose connections speak TLS, with the methods of a reactor.
//!
//! What arrives on such a connection is decrypted as the event is taken, what is written for it is encrypted as the turn
//! is flushed. What is bounded for others is bounded for it: input in clear by the same limits, output by whoever looks
//! at [`Wire::pending_output`]. Beside it there is one record at the most that is not whole yet, and the handshake has
//! to be made in time.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_io::tcp::{Event, Key, Listener, TcpReactor};
use rustls::ServerConfig;

use super::session::{Broken, NOT_TLS, Phase, Session};
use crate::limits::HANDSHAKE_TIME;

pub(crate) struct Wire {
    reactor: TcpReactor,
    /// None if no port speaks TLS.
    tls: Option<Box<Tls>>,
}

struct Tls {
    listeners: Vec<(Listener, Arc<ServerConfig>)>,
    /// By the reactor's own numbers.
    sessions: Vec<Option<Box<Session>>>,
    count: usize,
    /// Who has to have made the handshake by when; in this order. Some have made it.
    young: VecDeque<(Instant, Key)>,
    /// Something was written for them.
    dirty: Vec<Key>,
    /// What happened besides.
    event: Option<Event>,
    /// Input in clear of one client.
    input_bytes: usize,
}

impl Wire {
    /// Connections of these listeners speak TLS.
    pub(crate) fn new(
        reactor: TcpReactor,
        listeners: Vec<(Listener, Arc<ServerConfig>)>,
        input_bytes: usize,
    ) -> Self {
        let tls = (!listeners.is_empty()).then(|| {
            let (sessions, young, dirty) = (Vec::new(), VecDeque::new(), Vec::new());
            Box::new(Tls { listeners, sessions, count: 0, young, dirty, event: None, input_bytes })
        });
        Self { reactor, tls }
    }

    /// Such a connection speaks no TLS.
    pub(crate) fn connect(&mut self, address: SocketAddr) -> io::Result<Key> {
        self.reactor.connect(address)
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
            if tls.passes(&mut self.reactor, event) {
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

    /// A client that has not made its handshake is told what it is to be told once it has; the time for that is short.
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

    /// One that is about to be written for.
    #[inline]
    fn written(&mut self, key: Key) -> Option<&mut Session> {
        let slot = self.sessions.get_mut(key.index())?;
        let session = slot.as_deref_mut().filter(|session| session.key == key)?;
        if !std::mem::replace(&mut session.dirty, true) {
            self.dirty.push(key);
        }
        Some(session)
    }

    /// Does what TLS has to do with an event. Gives whether others are to hear of it.
    fn passes(&mut self, reactor: &mut TcpReactor, event: Event) -> bool {
        match event {
            Event::Accepted(key, _) => self.open(reactor, key),
            Event::Received(key) if self.get(key).is_some() => self.receive(reactor, key),
            Event::Ended(key) => {
                let Some(session) = self.get_mut(key).filter(|session| session.is_young()) else {
                    return true;
                };
                // Who has not come in has nothing to wait for.
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

    /// Gives true: whoever counts clients hears of all of them.
    fn open(&mut self, reactor: &mut TcpReactor, key: Key) -> bool {
        let listener = reactor.listener(key);
        let config = self.listeners.iter().find(|(tls, _)| Some(*tls) == listener);
        let Some((_, config)) = config else { return true };
        let Ok(session) = Session::new(key, config.clone()) else {
            reactor.close(key, false);
            return true;
        };
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
        true
    }

    /// Gives whether there is something in clear.
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
            // Also what is said of an error.
            session.write_records(reactor.output(key));
        }
        if session.refused && session.phase == Phase::Open {
            session.end(reactor.output(key));
        }
        if received.is_err() || session.refused && session.phase == Phase::Open {
            session.is_over();
            reactor.close(key, true);
            return false;
        }
        if session.input().len() > most {
            session.is_over();
            reactor.close(key, false);
            return false;
        }
        // What was written before the handshake was made.
        let waiting = session.phase == Phase::Open && !session.output.is_empty();
        let some = session.input().len() > before;
        let ended = received == Ok(true);
        if waiting {
            self.written(key);
        }
        if ended {
            // Told next, whether there was something or not.
            self.event = Some(Event::Ended(key));
        }
        some
    }

    /// Until the next thing that has to be done.
    fn timeout(&mut self, timeout: Option<Duration>) -> Option<Duration> {
        while let Some((_, key)) = self.young.front().copied()
            && !self.get(key).is_some_and(Session::is_young)
        {
            self.young.pop_front();
        }
        let handshake = self.young.front().map(|(at, _)| at.saturating_duration_since(Instant::now()));
        [timeout, handshake].into_iter().flatten().min()
    }

    /// Closes those who have not made their handshake in time.
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
