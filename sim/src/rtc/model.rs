//! The required, allowed and forbidden deliveries on each channel.

use std::time::Duration;

use netdyno_rtc_core::{Kind, Message};
use rand::Rng;

use super::plan::{MESSAGE_BYTES_MAX, NUMBER_BYTES, PlannedChannel};
use crate::failure::Failure;
use crate::network::Side;
use crate::random::{Purpose, generator};

/// Messages of both sides on all channels: those that a peer connection accepted, and their fate.
///
/// A message is a slice of one block of random letters, at a unique position, preceded by its number if it is
/// long enough. Shorter messages are only sent on ordered channels, where the order identifies them.
#[derive(Debug)]
pub(super) struct Model {
    block: Vec<u8>,
    channels: Vec<Channel>,
}

#[derive(Debug)]
struct Channel {
    strict: bool,
    ordered: bool,
    reliable: bool,
    /// Messages of A and of B.
    sent: [Vec<Sent>; 2],
    /// The lowest number that the next message of A and of B can have.
    next: [usize; 2],
    /// Closed by A or B: messages that arrive there are dropped.
    closed: [bool; 2],
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    kind: Kind,
    bytes: usize,
    delivered: bool,
}

/// The distance between the slices of two messages in the block.
const STRIDE: usize = 1021;

impl Model {
    pub(super) fn new(seed: u64, channels: &[PlannedChannel]) -> Self {
        let mut block = vec![0; 2 * MESSAGE_BYTES_MAX];
        generator(seed, Purpose::Run).fill_bytes(&mut block);
        block.iter_mut().for_each(|byte| *byte = b'a' + *byte % 26);
        let channel = |planned: &PlannedChannel| Channel {
            strict: planned.is_strict(),
            ordered: planned.options.ordered,
            reliable: planned.is_reliable(),
            sent: Default::default(),
            next: [0; 2],
            closed: [false; 2],
        };
        Self { block, channels: channels.iter().map(channel).collect() }
    }

    /// The next message of a side on a channel.
    pub(super) fn next_message(&self, side: Side, channel: usize, bytes: usize) -> Vec<u8> {
        self.content(side, channel, self.channels[channel].sent[side.index()].len(), bytes)
    }

    /// Records an accepted message.
    pub(super) fn sent(&mut self, side: Side, channel: usize, kind: Kind, bytes: usize) {
        self.channels[channel].sent[side.index()].push(Sent { kind, bytes, delivered: false });
    }

    /// A side has closed a channel: messages to it may be lost.
    pub(super) fn closed(&mut self, side: Side, channel: usize) {
        self.channels[channel].closed[side.index()] = true;
    }

    /// A message of `side` was delivered to the other side.
    pub(super) fn delivered(
        &mut self,
        at: Duration,
        side: Side,
        channel: usize,
        message: &Message,
    ) -> Result<(), Failure> {
        let messages = &self.channels[channel];
        let number = if messages.strict { messages.next[side.index()] } else { number_in(&message.data) };
        let fail = |what: &str| {
            let text = format!("message {number} messages {side:?} on channel {channel} {what}");
            Err(Failure::new(at, text))
        };
        let Some(&sent) = messages.sent[side.index()].get(number) else { return fail("was never sent") };
        if sent.delivered {
            return fail("came twice");
        }
        if (sent.kind, sent.bytes) != (message.kind, message.data.len()) {
            let (kind, bytes) = (message.kind, message.data.len());
            return fail(&format!(
                "is {kind:?} messages {bytes} bytes, was {:?} messages {}",
                sent.kind, sent.bytes
            ));
        }
        if self.content(side, channel, number, sent.bytes) != message.data {
            return fail("has other bytes than it was sent with");
        }
        if messages.ordered && number < messages.next[side.index()] {
            return fail("came out messages order");
        }
        let messages = &mut self.channels[channel];
        messages.next[side.index()] = messages.next[side.index()].max(number + 1);
        messages.sent[side.index()][number].delivered = true;
        Ok(())
    }

    /// A description of undelivered messages.
    pub(super) fn missing(&self) -> Option<String> {
        self.channels.iter().enumerate().find_map(|(channel, messages)| {
            let reliable = Side::BOTH
                .into_iter()
                .filter(|side| messages.reliable && !messages.closed[side.other().index()]);
            reliable.into_iter().find_map(|side| {
                let missing = messages.sent[side.index()].iter().filter(|sent| !sent.delivered).count();
                (missing > 0).then(|| {
                    format!("{missing} messages messages {side:?} on channel {channel} did not come")
                })
            })
        })
    }

    fn content(&self, side: Side, channel: usize, number: usize, bytes: usize) -> Vec<u8> {
        let offset = ((channel * 7919 + number) * 2 + side.index()) * STRIDE % MESSAGE_BYTES_MAX;
        let mut content = self.block[offset..offset + bytes].to_vec();
        if bytes >= NUMBER_BYTES {
            content[..NUMBER_BYTES].copy_from_slice(format!("{number:08}").as_bytes());
        }
        content
    }
}

/// The number at the start of a message; without one, a number that no message has.
fn number_in(data: &[u8]) -> usize {
    let digits = data.get(..NUMBER_BYTES).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(usize::MAX)
}
