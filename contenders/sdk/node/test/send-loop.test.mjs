import assert from "node:assert/strict";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { fill, readHeader } from "../payload.mjs";
import { Sender, SendLoop } from "../send-loop.mjs";

const PLAN = { seed: 3, messageBytes: 100, verifyMessages: 2, keepsBuffer: true };
const HIGH_WATER = { highWaterBytes: 1000, messageBytes: PLAN.messageBytes };

/** A fake channel that stores messages without copying them until it is drained. */
class Channel extends EventTarget {
  sent = [];
  bufferedAmount = 0;

  send(message) {
    this.sent.push(message);
    this.bufferedAmount += message.length;
  }

  drainTo(amount) {
    this.bufferedAmount = amount;
    if (amount <= this.bufferedAmountLowThreshold) this.dispatchEvent(new Event("bufferedamountlow"));
  }
}

/** A library with `bufferedamountlow`, and one that must be polled. */
const LIBRARIES = [
  ["event", () => Object.assign(new Channel(), { bufferedAmountLowThreshold: 0 })],
  ["polled", () => new Channel()],
];

for (const [name, makeChannel] of LIBRARIES) {
  test(`${name}: pauses at high water, resumes at half of it, and waits at the limit of a phase`, async () => {
    const channel = makeChannel();
    const sender = new Sender(channel, 4, PLAN);
    const loop = new SendLoop([sender], HIGH_WATER);
    const steps = [
      [() => loop.start(2), 2],
      [() => {}, 2],
      [() => loop.start(Infinity), 10],
      [() => channel.drainTo(501), 10],
      [() => channel.drainTo(500), 15],
      [() => channel.drainTo(0), 25],
      [() => loop.stop(), 25],
      [() => channel.drainTo(0), 25],
    ];
    for (const [step, expected] of steps) {
      step();
      // Leaves time for the loop's timers, and for iterations on a busy machine.
      await sleep(10);
      for (let n = 0; n < 100; n += 1) await turn();
      assert.deepEqual([sender.messages, sender.bytes], [expected, 100 * expected], String(step));
    }
    assert.deepEqual(channel.sent.map((message) => readHeader(message).sequence), [...Array(25).keys()]);
    const verified = new Uint8Array(PLAN.messageBytes);
    fill(verified, 3, 4, 1);
    assert.ok(channel.sent[1].equals(verified));
  });
}

test("a channel that never fills does not starve the event loop or other channels", async () => {
  const channels = [new Channel(), new Channel()];
  for (const channel of channels) Object.defineProperty(channel, "bufferedAmount", { value: 0, writable: false });
  for (const channel of channels) channel.send = () => {};
  const senders = channels.map((channel, stream) => new Sender(channel, stream, PLAN));
  const loop = new SendLoop(senders, HIGH_WATER);
  loop.start(Infinity);
  // If the loop starved the event loop, this would never resolve.
  await sleep(20);
  const end = performance.now() + 60_000;
  while (!senders.every((sender) => sender.messages > 100) && performance.now() < end) await turn();
  loop.stop();
  assert.ok(senders.every((sender) => sender.messages > 100));
});
