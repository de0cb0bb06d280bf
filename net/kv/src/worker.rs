//! A thread that serves clients in an event loop.
//!
//! An iteration: wait for events; with the lock on the engine, open and close sessions, execute commands, and
//! collect output for other threads and changes for the storage; without the lock, commit the changes; then
//! send.

mod figures;
mod lead;
mod letters;
mod pauses;
mod turns;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use netdyno_io::tcp::{Event, Key};
use netdyno_kv_core::{Output, Timestamp};
use netdyno_resp::RequestParser;

use crate::RunError;
use crate::client::{Client, End, Scratch};
use crate::clients::Clients;
use crate::departures::Departures;
use crate::journal::Journal;
use crate::limits::{
    FEW_COMMANDS, IDLE_PER_ITERATION, LARGE_BUFFER_BYTES, OUTPUT_SIZES_PER_ITERATION, SHARED_ITERATIONS,
    STALLED_INTERVAL,
};
use crate::refusals;
use crate::replica::Replica;
use crate::shared::{Core, Owner, Shared};
use crate::snapshots::Snapshots;
use crate::wire::Wire;

pub(crate) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    wire: Wire,
    clients: Clients,
    scratch: Scratch,
    events: Events,
    letters: Vec<(Key, Output)>,
    /// Threads that have received output in this iteration.
    to_wake: Vec<bool>,
    /// Clients with changes in this iteration: their replies must wait for the commit.
    writers: Vec<Key>,
    /// Clients to close once their replies are sent, after the commit.
    leaving: Vec<Key>,
    departures: Departures,
    /// When the engine's next deadline is due, in Unix time.
    deadline_ms: Option<u64>,
    /// The link to the primary; used by the leading thread.
    replica: Replica,
    /// Clients whose unread output is recorded and has to be updated.
    noted: VecDeque<Key>,
    /// The keepalive time that is set on the listeners.
    keepalive_s: Option<u64>,
    /// When replicas need attention next, on the monotonic clock.
    feed_us: Option<u64>,
    /// Clients were queued at the start of this iteration.
    is_contended: bool,
    /// Iterations in which queued clients leave time for the others.
    shared_iterations: u32,
    /// Commands executed in this iteration, and bytes of their replies.
    executed: usize,
    replied: usize,
    /// Where the search for idle clients continues.
    idle_at: usize,
}

/// The events of an iteration.
#[derive(Default)]
struct Events {
    /// New connections, with their addresses, and closed ones. In order, since a slot can be reused within a
    /// iteration.
    opened_and_closed: Vec<(Key, Option<SocketAddr>)>,
    received: Vec<Key>,
    ended: Vec<Key>,
    woken: bool,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, index: usize, wire: Wire) -> Self {
        let to_wake = vec![false; shared.posts.len()];
        Self {
            shared,
            index,
            wire,
            clients: Clients::default(),
            scratch: Scratch::default(),
            events: Events::default(),
            letters: Vec::new(),
            to_wake,
            writers: Vec::new(),
            leaving: Vec::new(),
            departures: Departures::default(),
            // The first iteration runs immediately: there may be a primary to connect to.
            deadline_ms: Some(0),
            replica: Replica::default(),
            feed_us: None,
            noted: VecDeque::new(),
            keepalive_s: None,
            is_contended: false,
            shared_iterations: 0,
            executed: 0,
            replied: 0,
            idle_at: 0,
        }
    }

    /// Serves clients until the server is stopped.
    pub(crate) fn run(mut self) -> Result<(), RunError> {
        while !self.shared.is_stopping() {
            self.iterate()?;
        }
        Ok(())
    }

    fn iterate(&mut self) -> Result<(), RunError> {
        self.wire.wait(self.timeout())?;
        self.note_events();
        self.check_stalled();
        let now = self.shared.clock.now();
        if self.has_work(now) {
            let shared = self.shared.clone();
            let mut core = shared.lock().map_err(|_| RunError::Panicked)?;
            self.with_lock(&mut core, now);
            let position =
                shared.journal.as_ref().map(|journal| journal.append(&mut core.engine, self.index == 0));
            drop(core);
            // Commits before any reply is sent.
            if let (Some(journal), Some(position)) = (&shared.journal, position)
                && journal.commit(position).is_err()
            {
                self.drop_unacknowledged();
            }
            self.writers.clear();
            self.leaving.drain(..).for_each(|key| self.wire.close(key, true));
            self.events.woken = false;
            self.wake_others();
        }
        self.wire.flush()?;
        Ok(())
    }

    /// The time until the next scheduled work.
    fn timeout(&self) -> Option<Duration> {
        if self.clients.has_queued() || !self.events.received.is_empty() {
            return Some(Duration::ZERO);
        }
        let until = |at: u64| Duration::from_millis(at.saturating_sub(self.shared.clock.now().unix_ms));
        let engine = self.deadline_ms.map(until);
        let stalled = (self.clients.stalled() > 0).then_some(STALLED_INTERVAL);
        if self.has_background_work() {
            return Some(Duration::ZERO);
        }
        let idle = (self.shared.idle_timeout_ms() > 0).then_some(Duration::from_secs(1));
        let until = |at: u64| at.saturating_sub(self.shared.clock.now().monotonic_us);
        let links = self.links_us().map(|at| Duration::from_micros(until(at)));
        [engine, stalled, idle, links].into_iter().flatten().min()
    }

    /// When the link to the primary or replicas need attention, on the monotonic clock.
    fn links_us(&self) -> Option<u64> {
        [self.replica.next_us(), self.feed_us].into_iter().flatten().min()
    }

    fn note_events(&mut self) {
        let events = &mut self.events;
        while let Some(event) = self.wire.next_event() {
            match event {
                Event::Accepted(key, peer) => events.opened_and_closed.push((key, Some(peer))),
                Event::Received(key) => events.received.push(key),
                Event::Ended(key) if self.replica.has(key) => self.wire.close(key, false),
                Event::Ended(key) => events.ended.push(key),
                Event::Closed(key, reason) => {
                    self.departures.remove(key);
                    #[cfg(feature = "tls")]
                    let failure = self.wire.take_failure(key);
                    #[cfg(not(feature = "tls"))]
                    let failure = None;
                    self.replica.handle_closed(key, reason, failure);
                    events.opened_and_closed.push((key, None));
                }
                Event::Woken => events.woken = true,
                Event::Connected(_) => {}
            }
        }
    }

    fn has_work(&self, now: Timestamp) -> bool {
        let Events { opened_and_closed, received, ended, woken } = &self.events;
        let events = *woken || !(received.is_empty() && opened_and_closed.is_empty() && ended.is_empty());
        let due = self.deadline_ms.is_some_and(|at| at <= now.unix_ms);
        let links = self.links_us().is_some_and(|at| at <= now.monotonic_us);
        events
            || due
            || links
            || self.has_background_work()
            || self.clients.has_queued()
            || self.shared.idle_timeout_ms() > 0
    }

    /// Whether the leading thread has keys to copy to a file.
    fn has_background_work(&self) -> bool {
        let rewriting = || self.shared.journal.as_ref().is_some_and(Journal::is_dumping);
        let saving = || self.shared.snapshots.as_ref().is_some_and(Snapshots::is_wanted);
        self.index == 0 && (rewriting() || saving())
    }

    fn with_lock(&mut self, core: &mut Core, now: Timestamp) {
        // Output from earlier iterations precedes this iteration's replies.
        if let Some(journal) = &self.shared.journal {
            journal.update_engine(&mut core.engine);
        }
        self.take_letters(core);
        self.apply_socket_options();
        self.update_output_sizes(core, OUTPUT_SIZES_PER_ITERATION);
        self.limit_client_memory(core);
        self.open_and_close(core, now);
        self.serve_clients(core, now);
        let configured = core.engine.take_configured();
        if !configured.is_empty() {
            self.shared.configure(&core.engine, &configured);
        }
        self.close_ended(core);
        self.close_idle(core, now);
        core.engine.tick(now);
        while let Some(request) = core.engine.take_request() {
            self.handle_request(core, now, request);
        }
        if self.index == 0 {
            self.lead(core, now);
        }
        self.deliver(core);
        self.feed(core, now);
        self.deadline_ms = core.engine.next_deadline();
    }

    fn open_and_close(&mut self, core: &mut Core, now: Timestamp) {
        let mut opened_and_closed = std::mem::take(&mut self.events.opened_and_closed);
        for (key, peer) in opened_and_closed.drain(..) {
            match peer {
                Some(peer) => self.open(core, now, key, peer),
                None => self.forget(core, key),
            }
        }
        self.events.opened_and_closed = opened_and_closed;
    }

    fn open(&mut self, core: &mut Core, now: Timestamp, key: Key, peer: SocketAddr) {
        let protected = self.shared.protected && core.engine.config("requirepass").is_none_or(str::is_empty);
        let admitted = refusals::admit(protected, peer.ip());
        let admitted = admitted.and_then(|()| self.shared.admit().then_some(()).ok_or(refusals::FULL));
        if let Err(refusal) = admitted {
            core.engine.count_rejected_connection();
            self.wire.output(key).extend_from_slice(refusal);
            return self.wire.close(key, true);
        }
        let session = core.engine.open(now, &peer.to_string());
        core.engine.set_local(session, self.wire.connection_address(key));
        core.owners.insert(session, Owner { thread: self.index, key });
        let parser = RequestParser::new(self.shared.limits.request);
        self.clients.insert(Client::new(key, session, parser, now.monotonic_us / 1000));
    }

    /// Serves one client.
    fn serve(&mut self, core: &mut Core, now: Timestamp, key: Key, most_commands: usize) {
        let before = self.note_buffers(core, key);
        let Some(client) = self.clients.get_mut(key) else { return };
        if before.output > self.shared.limits.unread_answer_bytes {
            return self.stall(key);
        }
        let logged = core.engine.take_log().len();
        let (input, output) = self.wire.buffers(key);
        let written = output.len();
        let (consumed, commands, end) =
            client.serve(&mut core.engine, now, (input, &mut *output), &mut self.scratch, most_commands);
        let replied = output.len() - written;
        // A client without a complete command costs something, too.
        self.executed += commands.max(1);
        self.replied += replied;
        let is_modest = !client.is_costly() && end == End::Hungry;
        if self.is_contended && is_modest && (1..=FEW_COMMANDS).contains(&commands) {
            self.shared_iterations = SHARED_ITERATIONS;
        }
        client.charge(commands, replied);
        self.wire.consume(key, consumed);
        if core.engine.take_log().len() > logged {
            self.writers.push(key);
        }
        match end {
            End::Hungry => self.resume_reading(key),
            End::More => {
                self.clients.queue(key);
                self.limit_input(key);
            }
            End::Blocked => {
                client.blocked = true;
                self.limit_input(key);
            }
            End::Close => self.close(core, key, true),
            End::Abort => self.close(core, key, false),
        }
        let after = self.wire.buffer_sizes(key);
        if after.output > LARGE_BUFFER_BYTES
            || before.input_capacity.max(after.input_capacity) > LARGE_BUFFER_BYTES
        {
            self.note_buffers(core, key);
        }
    }

    fn close_ended(&mut self, core: &mut Core) {
        // Commands of clients that were not served in this iteration come before their end.
        if !self.events.received.is_empty() {
            return;
        }
        let mut ended = std::mem::take(&mut self.events.ended);
        for key in ended.drain(..) {
            let Some(client) = self.clients.get_mut(key) else { continue };
            client.ended = true;
            // Earlier commands are executed first.
            if !client.queued && !client.stalled {
                self.close(core, key, true);
            }
        }
        self.events.ended = ended;
    }

    fn close_idle(&mut self, core: &mut Core, now: Timestamp) {
        let timeout_ms = self.shared.idle_timeout_ms();
        if timeout_ms == 0 {
            return;
        }
        for _ in 0..IDLE_PER_ITERATION.min(self.clients.slots()) {
            self.idle_at = (self.idle_at + 1) % self.clients.slots();
            let Some(client) = self.clients.at(self.idle_at) else { continue };
            let idle_ms = (now.monotonic_us / 1000).saturating_sub(client.active_ms);
            if idle_ms > timeout_ms && !client.blocked && !client.receives_messages {
                let key = client.key;
                self.close(core, key, false);
            }
        }
    }

    /// Closes a client's connection, after its output is sent if there is room to keep it for that long.
    fn close(&mut self, core: &mut Core, key: Key, after_flush: bool) {
        let sizes = self.wire.buffer_sizes(key);
        let unsent_bytes = if sizes.output > 0 { sizes.output_capacity } else { 0 };
        if after_flush && self.departures.add(key, unsent_bytes) {
            self.leaving.push(key);
        } else {
            if after_flush {
                core.engine.count_unread_output();
            }
            self.wire.close(key, false);
        }
        self.forget(core, key);
    }

    fn forget(&mut self, core: &mut Core, key: Key) {
        if let Some(client) = self.clients.remove(key) {
            core.owners.remove(&client.session);
            core.engine.close(client.session);
            core.feed.forget(client.session);
            self.shared.dismiss();
        }
    }

    /// Disconnects clients whose changes could not be made durable. They receive no reply, since a reply
    /// would acknowledge the change.
    fn drop_unacknowledged(&mut self) {
        for key in self.writers.drain(..) {
            self.wire.close(key, false);
        }
    }

    fn wake_others(&mut self) {
        for (thread, wake) in self.to_wake.iter_mut().enumerate() {
            if std::mem::take(wake) {
                self.shared.posts[thread].wake();
            }
        }
    }
}
