import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { refusal } from "../rtt/begin.mjs";
import { nowNs } from "../rtt/clock.mjs";
import { Frames } from "../rtt/frames.mjs";
import { HIGHEST, Histogram, indexOf } from "../rtt/histogram.mjs";
import { Schedule } from "../rtt/schedule.mjs";
import { step, Tasks } from "../rtt/tasks.mjs";

const PARAMS = {
  transport: "udp",
  message_bytes: 20,
  rate: 0,
  outstanding: 1,
  tasks: 0,
  pacing: "spin",
  echo_delay_ns: 0,
  timeout_ms: 100,
  seconds: 2,
  verify_messages: 2,
};

test("the schedule", () => {
  for (const [rate, lanes, lane, k, dueNs] of [
    [1, 1, 0, 0, 0],
    [1, 1, 0, 3, 3_000_000_000],
    [3, 1, 0, 1, 333_333_333],
    [3, 1, 0, 2, 666_666_666],
    [3, 1, 0, 3, 1_000_000_000],
    [1000, 8, 7, 0, 7_000_000],
    [1000, 8, 0, 1, 8_000_000],
    [7, 2, 1, 3, 1_000_000_000],
    [1_000_000, 1000, 999, 4_199_999, 4_199_999_999_000], // the last request of the longest trial
  ]) {
    const schedule = new Schedule(rate, lanes);
    assert.equal(schedule.dueNs(schedule.number(lane, k)), dueNs, `${rate}/s, request ${k} of lane ${lane}`);
  }
});

/** The counts of an encoding, as [index, count]. */
function decode(text) {
  const outer = Buffer.from(text, "base64");
  assert.equal(outer.readInt32BE(0), 0x1c849314);
  assert.equal(outer.readInt32BE(4), outer.length - 8);
  const bytes = inflateSync(outer.subarray(8));
  assert.equal(bytes.readInt32BE(0), 0x1c849313);
  assert.equal(bytes.readInt32BE(4), bytes.length - 40);
  assert.deepEqual([bytes.readInt32BE(8), bytes.readInt32BE(12)], [0, 3]);
  assert.deepEqual([bytes.readBigInt64BE(16), bytes.readBigInt64BE(24)], [1n, 60_000_000_000n]);
  assert.equal(bytes.readDoubleBE(32), 1);
  const counts = [];
  for (let at = 40, index = 0; at < bytes.length; ) {
    let zigzag = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes[at++]);
      zigzag |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) break;
    }
    const value = Number(zigzag & 1n ? -((zigzag + 1n) >> 1n) : zigzag >> 1n);
    if (value < 0) index -= value;
    else counts.push([index++, value]);
  }
  return counts;
}

test("an encoded histogram decodes to its counts", () => {
  assert.deepEqual(decode(new Histogram().encode()), []);
  const values = [1, 2047, 2048, 4096, 123_456, 2 ** 32 - 1, 2 ** 32, 5_000_000_000, HIGHEST];
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  for (let i = 0; i < 300; i++) histogram.record(2047);
  assert.deepEqual(
    decode(histogram.encode()),
    values.map((value) => [indexOf(value), value === 2047 ? 301 : 1]),
  );
});

test("values out of range count as the nearest bound", () => {
  const histogram = new Histogram();
  for (const value of [0, -5, HIGHEST + 1, 1e15]) histogram.record(value);
  assert.deepEqual(decode(histogram.encode()), [
    [1, 2],
    [indexOf(HIGHEST), 2],
  ]);
});

test("counts are contiguous and three digits wide", () => {
  for (let value = 1; value < HIGHEST; value = Math.ceil(value * 1.37)) {
    const index = indexOf(value);
    assert.ok(indexOf(value + 1) - index <= 1, `${value}`);
    assert.ok(indexOf(value + Math.ceil(value / 1000) + 1) > index, `${value}`);
  }
});

test("a stream is split into messages with any chunks", () => {
  const stream = Buffer.from("abcdefghijkl");
  for (const sizes of [[12], [4, 4, 4], [1, 2, 3, 6], [3, 1, 8], [5, 7], Array(12).fill(1)]) {
    const messages = [];
    const frames = new Frames(4, (message, at) => messages.push(`${message}${at}`));
    let from = 0;
    for (const size of sizes) frames.push(stream.subarray(from, (from += size)), from);
    const ends = [4, 8, 12].map((end) => {
      let at = 0;
      for (const size of sizes) if ((at += size) >= end) return at;
    });
    assert.deepEqual(messages, [`abcd${ends[0]}`, `efgh${ends[1]}`, `ijkl${ends[2]}`], sizes.join(" "));
  }
});

test("the computation of a task", () => {
  for (const [x, after] of [[1, 147_405_559], [2, 3_095_973_319], [10_000, 2_827_756_547]]) {
    assert.equal(step(x) >>> 0, after);
  }
});

test("tasks run", async () => {
  const tasks = new Tasks(3);
  assert.equal(tasks.runs, 0);
  tasks.start();
  const endNs = nowNs() + 10e9;
  while (tasks.runs < 6 && nowNs() < endNs) await new Promise((resolve) => setTimeout(resolve, 1));
  tasks.stop();
  assert.ok(tasks.runs >= 6);
});

test("unsupported setups", () => {
  const setup = { workload: "rtt", role: "ping" };
  const refused = (changes, other = {}) => refusal({ ...setup, params: { ...PARAMS, ...changes }, ...other });
  assert.equal(refused({}), undefined);
  assert.match(refused({}, { workload: "datachannel" }), /workload/);
  assert.match(refused({}, { role: "offerer" }), /role/);
  for (const [name, value] of [
    ["transport", "sctp"], ["pacing", undefined], ["message_bytes", 15], ["message_bytes", 60_001], ["rate", -1],
    ["rate", 1.5], ["outstanding", 0], ["tasks", "1"], ["echo_delay_ns", 1_000_001], ["timeout_ms", 99],
    ["seconds", 0.1], ["seconds", NaN], ["verify_messages", 0],
  ]) {
    assert.match(refused({ [name]: value }), new RegExp(name), `${name} ${value}`);
  }
});
