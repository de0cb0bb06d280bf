import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Digest, fill, Gate, MAX_MISSING, readHeader, Receiver, totals, writeHeader } from "../index.mjs";

const VECTOR = "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe";

test("the test vector of PROTOCOL.md", () => {
  const message = new Uint8Array(80);
  fill(message, 1, 2, 3);
  assert.equal(createHash("sha256").update(message).digest("hex"), VECTOR);
  const digest = new Digest();
  digest.add(message);
  assert.equal(digest.hex(), VECTOR);
});

test("a header holds 53 bits of sequence, and is written within a view", () => {
  const inside = new Uint8Array(40).subarray(8, 24);
  writeHeader(inside, 0xfffffffe, Number.MAX_SAFE_INTEGER);
  assert.deepEqual(readHeader(inside), { sequence: Number.MAX_SAFE_INTEGER, stream: 0xfffffffe });
  assert.equal(Buffer.from(inside).toString("hex"), "001ffffffffffffffffffffe00000000");
});

test("a body is truncated to the length, and may be empty", () => {
  const long = new Uint8Array(80);
  fill(long, 9, 0, 5);
  for (const length of [16, 17, 48, 79]) {
    const short = new Uint8Array(length);
    fill(short, 9, 0, 5);
    assert.deepEqual(short, long.subarray(0, length));
  }
});

test("a message shorter than a header is a prefix of the body", () => {
  const short = new Uint8Array(3);
  fill(short, 1, 2, 3);
  assert.equal(Buffer.from(short).toString("hex"), "f930ea");
});

test("digests: empty is zeros, order does not matter, twice cancels", () => {
  const messages = [Buffer.from("a"), Buffer.from("b")];
  const sum = (list) => list.reduce((digest, m) => (digest.add(m), digest), new Digest()).hex();
  assert.equal(sum([]), "0".repeat(64));
  assert.equal(sum(messages), sum(messages.toReversed()));
  assert.equal(sum([...messages, ...messages]), "0".repeat(64));
});

test("gaps, repeats and disorder", () => {
  const rows = [
    ["in order", [0, 1, 2], [0, 0, 0]],
    ["one missing", [0, 2], [1, 0, 0]],
    ["late", [0, 2, 1], [0, 0, 1]],
    ["late, then again", [0, 2, 1, 1], [0, 1, 1]],
    ["repeated at once", [0, 0, 1], [0, 1, 0]],
    ["first one missing", [3], [3, 0, 0]],
    ["all reversed", [3, 2, 1, 0], [0, 0, 3]],
    ["at the limit", [MAX_MISSING, 0], [MAX_MISSING - 1, 0, 1]],
    ["beyond the limit", [MAX_MISSING + 1, MAX_MISSING], [MAX_MISSING + 1, 1, 0]],
    ["space after a late arrival", [MAX_MISSING, 0, MAX_MISSING + 2, MAX_MISSING + 1], [MAX_MISSING - 1, 0, 2]],
    ["a huge jump", [Number.MAX_SAFE_INTEGER - 1], [Number.MAX_SAFE_INTEGER - 1, 0, 0]],
  ];
  for (const [name, sequences, expected] of rows) {
    const receiver = new Receiver();
    for (const sequence of sequences) receiver.count(sequence, 10);
    assert.deepEqual([receiver.gaps, receiver.repeats, receiver.disorder], expected, name);
    assert.deepEqual([receiver.messages, receiver.bytes], [sequences.length, 10 * sequences.length], name);
  }
});

test("totals are summed over the connections", () => {
  const receivers = [new Receiver(), new Receiver()];
  receivers[0].count(1, 20);
  receivers[1].count(0, 30);
  assert.deepEqual(totals(receivers, ["messages", "bytes", "gaps"]), { messages: 2, bytes: 50, gaps: 1 });
});

test("the gate accepts right messages, ignores later ones, and rejects wrong ones", () => {
  const gate = new Gate({ seed: 7, streams: 1, perStream: 2, messageBytes: 64 });
  const message = new Uint8Array(64);
  for (const sequence of [0, 2]) {
    fill(message, 7, 0, sequence);
    gate.take(message, 0, sequence);
  }
  assert.equal(gate.complete, false);
  fill(message, 7, 0, 1);
  message[63] ^= 1;
  assert.throws(() => gate.take(message, 0, 1), /message 1: wrong content/);
  assert.throws(() => gate.take(message.subarray(0, 63), 0, 1), /wrong content/);
  message[63] ^= 1;
  gate.take(message, 0, 1);
  assert.deepEqual([gate.complete, gate.messages, gate.bytes], [true, 2, 128]);
});
