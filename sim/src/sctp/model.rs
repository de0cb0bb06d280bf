//! The required, allowed and forbidden deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use netdyno_sctp::{Message, Ppid, Reliability, StreamId};
use rand::Rng;

use super::plan::{MESSAGE_BYTES_MAX, Planned};
use crate::failure::Failure;
use crate::network::Side;
use crate::random::{Purpose, generator};

/// Messages of both sides: those that an association accepted, and their fate.
///
/// The PPID is the number of a message, and its bytes are a slice of one random block, at a unique position.
/// This identifies each message and detects bytes of other messages in it.
#[derive(Debug)]
pub(super) struct Model {
    block: Vec<u8>,
    sides: [Sender; 2],
}

/// Messages of one sender.
#[derive(Debug, Default)]
struct Sender {
    sent: Vec<Sent>,
    /// For each stream, how often a reset was requested, completed from the sender's point of view, and
    /// reported to the receiver.
    resets_requested: BTreeMap<StreamId, u32>,
    resets_done: BTreeMap<StreamId, u32>,
    resets_reported: BTreeMap<StreamId, u32>,
    /// The last ordered message delivered on each stream.
    last_ordered: BTreeMap<StreamId, usize>,
    /// The generation of a stream whose messages are being delivered.
    delivered_generations: BTreeMap<StreamId, u32>,
    reliable_outstanding: usize,
    delivered: u64,
    delivered_bytes: u64,
}

/// An accepted message.
#[derive(Debug, Clone, Copy)]
struct Sent {
    planned: Planned,
    generation: u32,
    delivered: bool,
}

impl Sent {
    fn is_reliable(&self) -> bool {
        self.planned.options.reliability == Reliability::Reliable
    }
}

/// The distance between the slices of two messages in the block.
const STRIDE: usize = 4099;

impl Model {
    pub(super) fn new(seed: u64) -> Self {
        let mut block = vec![0; 2 * MESSAGE_BYTES_MAX];
        generator(seed, Purpose::Run).fill_bytes(&mut block);
        Self { block, sides: Default::default() }
    }

    /// The bytes of a side's next message, and its PPID.
    pub(super) fn next_message(&self, side: Side, bytes: usize) -> (Ppid, &[u8]) {
        let number = self.sides[side.index()].sent.len();
        (Ppid(number as u32), self.content(side, number, bytes))
    }

    /// Records an accepted message.
    pub(super) fn sent(&mut self, side: Side, planned: Planned) {
        let sender = &mut self.sides[side.index()];
        let generation = sender.resets_done.get(&planned.stream).copied().unwrap_or(0);
        let sent = Sent { planned, generation, delivered: false };
        sender.reliable_outstanding += usize::from(sent.is_reliable());
        sender.sent.push(sent);
    }

    /// The sender of a stream requested its reset.
    pub(super) fn reset_asked(&mut self, side: Side, stream: StreamId) {
        *self.sides[side.index()].resets_requested.entry(stream).or_default() += 1;
    }

    /// The sender of a stream was notified that its reset is complete.
    pub(super) fn reset_done(&mut self, side: Side, stream: StreamId) -> Result<(), String> {
        let sender = &mut self.sides[side.index()];
        let done = sender.resets_done.entry(stream).or_default();
        *done += 1;
        let requested = sender.resets_requested.get(&stream).copied().unwrap_or(0);
        if *done == requested {
            Ok(())
        } else {
            Err(format!("{stream:?}: reset requested {requested} times, done {done}"))
        }
    }

    /// The receiver of a stream was notified of its reset: all reliable messages must have been delivered,
    /// unless they `may_wait` to be read.
    pub(super) fn reset_reported(
        &mut self,
        side: Side,
        stream: StreamId,
        may_wait: bool,
    ) -> Result<(), String> {
        let sender = &mut self.sides[side.index()];
        let reported = sender.resets_reported.entry(stream).or_default();
        *reported += 1;
        let requested = sender.resets_requested.get(&stream).copied().unwrap_or(0);
        if *reported > requested {
            return Err(format!("{stream:?}: reset requested {requested} times, reported {reported}"));
        }
        let missing = sender.sent.iter().filter(|sent| {
            sent.planned.stream == stream
                && sent.generation < *reported
                && sent.is_reliable()
                && !sent.delivered
        });
        match missing.count() {
            0 => Ok(()),
            _ if may_wait => Ok(()),
            missing => Err(format!("{stream:?}: {missing} reliable messages of before have not come")),
        }
    }

    /// A message of `side` was delivered to the other side.
    pub(super) fn delivered(&mut self, at: Duration, side: Side, message: &Message) -> Result<(), Failure> {
        let number = message.ppid.0 as usize;
        let fail = |what: &str| Err(Failure::new(at, format!("message {number} of {side:?} {what}")));
        let Some(&sent) = self.sides[side.index()].sent.get(number) else { return fail("was never sent") };
        let planned = sent.planned;
        if sent.delivered {
            return fail("came twice");
        }
        if message.stream != planned.stream {
            let (came_on, sent_on) = (message.stream, planned.stream);
            return fail(&format!("came on {came_on:?}, was sent on {sent_on:?}"));
        }
        if message.data.len() != planned.bytes {
            return fail(&format!("has {} bytes, had {}", message.data.len(), planned.bytes));
        }
        if message.data != self.content(side, number, planned.bytes) {
            return fail("has other bytes than it was sent with");
        }
        let sender = &mut self.sides[side.index()];
        let generation = sender.delivered_generations.entry(planned.stream).or_default();
        if sent.generation < *generation {
            return fail("came after messages that were sent after its stream's reset");
        }
        *generation = sent.generation;
        if !planned.options.unordered {
            let last = sender.last_ordered.insert(planned.stream, number);
            if let Some(last) = last.filter(|last| *last > number) {
                return fail(&format!("came after {last} of the same stream"));
            }
        }
        sender.sent[number].delivered = true;
        sender.reliable_outstanding -= usize::from(sent.is_reliable());
        sender.delivered += 1;
        sender.delivered_bytes += planned.bytes as u64;
        Ok(())
    }

    /// Accepted reliable messages that were not delivered yet.
    pub(super) fn reliable_outstanding(&self, side: Side) -> usize {
        self.sides[side.index()].reliable_outstanding
    }

    /// Accepted messages, and their bytes.
    pub(super) fn taken(&self, side: Side) -> (u64, u64) {
        let sent = &self.sides[side.index()].sent;
        (sent.len() as u64, sent.iter().map(|sent| sent.planned.bytes as u64).sum())
    }

    /// Messages delivered to the other side, and their bytes.
    pub(super) fn came_out(&self, side: Side) -> (u64, u64) {
        let sender = &self.sides[side.index()];
        (sender.delivered, sender.delivered_bytes)
    }

    /// Undelivered messages without a lifetime.
    pub(super) fn given_up_by_count(&self, side: Side) -> usize {
        let sent = self.sides[side.index()].sent.iter();
        sent.filter(|sent| {
            !sent.delivered && !matches!(sent.planned.options.reliability, Reliability::MaxLifetime(_))
        })
        .count()
    }

    /// The first undelivered reliable messages, for the report of a failure.
    pub(super) fn missing(&self, side: Side) -> String {
        let sent = self.sides[side.index()].sent.iter().enumerate();
        let missing = sent.filter(|(_, sent)| sent.is_reliable() && !sent.delivered).take(5);
        let list: Vec<String> = missing
            .map(|(number, sent)| {
                let Planned { stream, bytes, options } = sent.planned;
                let order = if options.unordered { "unordered" } else { "ordered" };
                format!(
                    "{number} (stream {}, {bytes} bytes, {order}, generation {})",
                    stream.0, sent.generation
                )
            })
            .collect();
        list.join(", ")
    }

    fn content(&self, side: Side, number: usize, bytes: usize) -> &[u8] {
        let offset = (2 * number + side.index()) * STRIDE % MESSAGE_BYTES_MAX;
        &self.block[offset..offset + bytes]
    }
}

#[cfg(test)]
mod tests {
    use netdyno_sctp::SendOptions;

    use super::*;

    const ORDERED: SendOptions = SendOptions { unordered: false, reliability: Reliability::Reliable };
    const UNORDERED: SendOptions = SendOptions { unordered: true, reliability: Reliability::Reliable };

    /// A model in which A sent messages of 10 bytes, each with a stream and options; also returns the
    /// messages.
    fn sent(list: &[(u16, SendOptions)]) -> (Model, Vec<Message>) {
        let mut model = Model::new(1);
        let messages = list.iter().map(|(stream, options)| {
            let planned = Planned { stream: StreamId(*stream), bytes: 10, options: *options };
            let (ppid, data) = model.next_message(Side::A, 10);
            let message = Message { stream: planned.stream, ppid, data: data.to_vec().into() };
            model.sent(Side::A, planned);
            message
        });
        let messages = messages.collect();
        (model, messages)
    }

    fn deliver(model: &mut Model, message: &Message) -> Result<(), String> {
        model.delivered(Duration::ZERO, Side::A, message).map_err(|failure| failure.what)
    }

    #[test]
    fn correct_deliveries_are_accepted() {
        let (mut model, messages) = sent(&[(0, ORDERED), (1, UNORDERED), (0, ORDERED), (1, UNORDERED)]);
        for number in [3, 0, 1, 2] {
            assert_eq!(deliver(&mut model, &messages[number]), Ok(()));
        }
        assert_eq!((model.reliable_outstanding(Side::A), model.came_out(Side::A)), (0, (4, 40)));
        assert_eq!(model.taken(Side::A), (4, 40));
    }

    #[test]
    fn each_error_is_detected() {
        type Change = fn(&mut Message);
        let change: [(&str, Change); 4] = [
            ("never sent", |message| message.ppid = Ppid(2)),
            ("came on", |message| message.stream = StreamId(9)),
            ("has 9 bytes", |message| drop(message.data.split_off(9))),
            ("other bytes", |message| message.data = vec![0; 10].into()),
        ];
        for (what, change) in change {
            let (mut model, mut messages) = sent(&[(0, ORDERED), (0, ORDERED)]);
            change(&mut messages[0]);
            let found = deliver(&mut model, &messages[0]).unwrap_err();
            assert!(found.contains(what), "{found}");
        }
        let (mut model, messages) = sent(&[(0, ORDERED), (0, ORDERED)]);
        assert_eq!(deliver(&mut model, &messages[1]), Ok(()));
        assert!(deliver(&mut model, &messages[1]).unwrap_err().contains("twice"));
        assert!(deliver(&mut model, &messages[0]).unwrap_err().contains("came after 1"));
        assert!(model.missing(Side::A).starts_with("0 (stream 0, 10 bytes"));
    }

    #[test]
    fn resets_are_counted_and_separate_generations() {
        let (mut model, messages) = sent(&[(0, UNORDERED)]);
        let stream = StreamId(0);
        assert!(model.reset_reported(Side::A, stream, false).is_err());
        model = sent(&[(0, UNORDERED)]).0;
        model.reset_asked(Side::A, stream);
        assert!(model.reset_reported(Side::A, stream, false).is_err(), "message 0 has not come");
        assert_eq!(model.reset_done(Side::A, stream), Ok(()));
        let (ppid, data) = model.next_message(Side::A, 10);
        let after = Message { stream, ppid, data: data.to_vec().into() };
        model.sent(Side::A, Planned { stream, bytes: 10, options: UNORDERED });
        assert_eq!(deliver(&mut model, &after), Ok(()));
        assert!(deliver(&mut model, &messages[0]).unwrap_err().contains("reset"));
        assert!(model.reset_done(Side::A, stream).is_err());
    }
}
