//! Channels and patterns, and their subscribers.

use std::collections::{BTreeMap, BTreeSet};

use netdyno_resp::{Protocol, Reply};

use crate::glob;
use crate::session::{SessionId, Sessions};

type Listeners = BTreeMap<Box<[u8]>, BTreeSet<SessionId>>;

/// The kinds of subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscriptionKind {
    Channel,
    Pattern,
    Shard,
}

impl SubscriptionKind {
    /// The message types for subscribing and unsubscribing.
    pub(crate) fn message_types(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Channel => (b"subscribe", b"unsubscribe"),
            Self::Pattern => (b"psubscribe", b"punsubscribe"),
            Self::Shard => (b"ssubscribe", b"sunsubscribe"),
        }
    }
}

/// The subscribers by channel and pattern.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    channels: Listeners,
    patterns: Listeners,
    shards: Listeners,
}

impl PubSub {
    pub(crate) fn subscribers(&self, kind: SubscriptionKind) -> &Listeners {
        match kind {
            SubscriptionKind::Channel => &self.channels,
            SubscriptionKind::Pattern => &self.patterns,
            SubscriptionKind::Shard => &self.shards,
        }
    }

    fn of_mut(&mut self, kind: SubscriptionKind) -> &mut Listeners {
        match kind {
            SubscriptionKind::Channel => &mut self.channels,
            SubscriptionKind::Pattern => &mut self.patterns,
            SubscriptionKind::Shard => &mut self.shards,
        }
    }

    pub(crate) fn subscribe(&mut self, kind: SubscriptionKind, id: SessionId, name: &[u8]) {
        self.of_mut(kind).entry(name.into()).or_default().insert(id);
    }

    pub(crate) fn unsubscribe(&mut self, kind: SubscriptionKind, id: SessionId, name: &[u8]) {
        let listeners = self.of_mut(kind);
        if let Some(sessions) = listeners.get_mut(name) {
            sessions.remove(&id);
            if sessions.is_empty() {
                listeners.remove(name);
            }
        }
    }

    /// Ends all subscriptions of a session.
    pub(crate) fn forget(&mut self, sessions: &mut Sessions, id: SessionId) {
        let Some(session) = sessions.get_mut(id) else { return };
        session.held.subscribed = 0;
        let channels = std::mem::take(&mut session.channels);
        let patterns = std::mem::take(&mut session.patterns);
        let shards = std::mem::take(&mut session.shard_channels);
        for (kind, names) in [
            (SubscriptionKind::Channel, channels),
            (SubscriptionKind::Pattern, patterns),
            (SubscriptionKind::Shard, shards),
        ] {
            names.iter().for_each(|name| self.unsubscribe(kind, id, name));
        }
    }

    /// Publishes a message to the subscribers of a channel and of matching patterns, or of a shard channel.
    /// Returns their number. The publisher's own copy goes to `own`, its reply.
    pub(crate) fn publish(
        &self,
        sessions: &mut Sessions,
        shard: bool,
        channel: &[u8],
        message: &[u8],
        mut own: Option<(SessionId, &mut Reply<'_>)>,
    ) -> usize {
        let (listeners, word) =
            if shard { (&self.shards, &b"smessage"[..]) } else { (&self.channels, &b"message"[..]) };
        let mut count = 0;
        if let Some(listeners) = listeners.get(channel) {
            count += listeners.len();
            deliver(sessions, listeners, &mut own, &[word, channel, message]);
        }
        if shard {
            return count;
        }
        for (pattern, listeners) in &self.patterns {
            if glob::matches(pattern, channel) {
                count += listeners.len();
                deliver(sessions, listeners, &mut own, &[b"pmessage", pattern, channel, message]);
            }
        }
        count
    }
}

fn write(reply: &mut Reply<'_>, parts: &[&[u8]]) {
    reply.push(parts.len());
    parts.iter().for_each(|part| reply.bulk(part));
}

/// Formats the message once per protocol, and copies it to all subscribers.
fn deliver(
    sessions: &mut Sessions,
    listeners: &BTreeSet<SessionId>,
    own: &mut Option<(SessionId, &mut Reply<'_>)>,
    parts: &[&[u8]],
) {
    let mut written: [Option<Vec<u8>>; 2] = [None, None];
    for id in listeners {
        if let Some((own, reply)) = own
            && own == id
        {
            write(reply, parts);
            continue;
        }
        let Some(protocol) = sessions.get(*id).map(|session| session.protocol) else { continue };
        let place = &mut written[usize::from(protocol == Protocol::Resp3)];
        let bytes = place.get_or_insert_with(|| {
            let mut out = Vec::new();
            write(&mut Reply::new(&mut out, protocol), parts);
            out
        });
        sessions.send(*id, |reply| reply.raw(bytes));
    }
}
