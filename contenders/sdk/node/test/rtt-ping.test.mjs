import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { readHeader, writeHeader } from "../payload.mjs";
import { nowNs, Ping, Pong } from "../rtt/index.mjs";

const PARAMS = {
  transport: "tcp", message_bytes: 20, rate: 0, outstanding: 1, tasks: 0, pacing: "spin", echo_delay_ns: 0,
  timeout_ms: 100, seconds: 2, verify_messages: 2,
};

/** A ping with a fake network: `sent` contains [lane, message], `echo` answers, and `said` contains the messages to the lab. */
async function begin(params) {
  const said = {};
  const says = (name) => (...args) => (said[name] = args);
  const names = ["connected", "verified", "counters", "result", "failed"];
  const lab = Object.fromEntries(names.map((name) => [name, says(name)]));
  const sent = [];
  const receivers = [];
  const dial = async (_setup, _port, receive) => {
    const lane = receivers.push(receive) - 1;
    return (message) => {
      sent.push([lane, Buffer.from(message)]);
      if (message[0] === 0xff) receive(Buffer.from(message), nowNs());
    };
  };
  const ping = new Ping(lab, { seed: 1, params: { ...PARAMS, ...params } }, dial);
  await ping.signal("pong", { port: 1 });
  const echo = ([lane, message], atNs = nowNs()) => receivers[lane](message, atNs);
  const counters = () => {
    ping.mark(0);
    return said.counters[1];
  };
  return { ping, said, sent, echo, counters };
}

/** Completes verify by echoing all messages in order. */
async function verified(params) {
  const all = await begin(params);
  all.sent.length = 0;
  all.ping.start("verify");
  for (let next = 0; !all.said.verified; ) all.echo(all.sent[next++]);
  all.order = all.sent.splice(0).map(([lane, message]) => [lane, readHeader(message).stream, readHeader(message).sequence]);
  return all;
}

test("lanes are set up by a hello", async () => {
  const { said, sent } = await begin({ outstanding: 3 });
  assert.equal(said.connected[0].length, 3);
  assert.deepEqual(sent.map(([lane]) => lane), [0, 1, 2]);
  for (const [, message] of sent) assert.equal(message.toString("hex"), `${"ff".repeat(8)}${"00".repeat(12)}`);
});

test("the number of lanes that verify at once is bounded", async () => {
  const small = await verified({ outstanding: 2 });
  assert.deepEqual(small.order, [[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]]);
  assert.deepEqual(small.said.verified.slice(1), [4, 80]);
  const large = await verified({ outstanding: 2, message_bytes: 60_000 });
  assert.deepEqual(large.order, [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]);
  assert.deepEqual(large.said.verified.slice(1), [4, 240_000]);
});

test("verify compares every byte", async () => {
  for (let at = 16; at < 20; at++) {
    const { ping, sent, echo } = await begin({});
    ping.start("verify");
    const [lane, message] = sent.at(-1);
    message[at] ^= 1;
    assert.throws(() => echo([lane, message]), /request 0/);
  }
});

test("classification of messages", async () => {
  const with_ = (stream, sequence) => (message) => (writeHeader(message, stream, sequence), message);
  for (const [name, change, expected] of [
    ["awaited echo", (message) => message, [1, 0, 0]],
    ["different body after verify", (message) => ((message[19] ^= 1), message), [1, 0, 0]],
    ["echo of an earlier request", with_(1, 1), [0, 1, 0]],
    ["a hello", (message) => message.fill(0).fill(0xff, 0, 8), [0, 0, 0]],
    ["echo of a future request", with_(1, 3), [0, 0, 1]],
    ["echo of another lane", with_(0, 2), [0, 0, 1]],
    ["short echo", (message) => message.subarray(1), [0, 0, 1]],
    ["nothing", () => Buffer.alloc(0), [0, 0, 1]],
    ["long echo", (message) => Buffer.concat([message, message]), [0, 0, 1]],
    ["nonzero field of the header", (message) => ((message[15] = 1), message), [0, 0, 1]],
  ]) {
    const { ping, sent, echo, counters } = await verified({ outstanding: 2 });
    const before = counters();
    ping.start("warmup");
    const [lane, message] = sent[1];
    echo([lane, change(message)]);
    const { messages, bytes, late, strange, requests, lost } = counters();
    assert.deepEqual([messages - before.messages, late, strange], expected, name);
    assert.equal(bytes, messages * 20, name);
    assert.deepEqual([requests, lost], [4 + 2 + expected[0], 0], name); // a settled lane continues
  }
});

test("without an outstanding request, an echo is strange", async () => {
  const { ping, sent, echo, counters } = await verified({ rate: 1, pacing: "timer" });
  ping.start("warmup");
  echo(sent.at(-1));
  const next = Buffer.from(sent.at(-1)[1]);
  writeHeader(next, 0, 3);
  echo([0, next]);
  assert.equal(counters().strange, 1);
  ping.stop();
});

test("a datagram is lost after the timeout, and its echo is late", async () => {
  const { ping, sent, echo, counters } = await verified({ transport: "udp" });
  ping.start("warmup");
  const endNs = nowNs() + 60e9;
  while (sent.length < 2 && nowNs() < endNs) await sleep(10);
  assert.equal(readHeader(sent[1][1]).sequence, 3);
  echo(sent[0]);
  const { lost, late, messages } = counters();
  // On a busy machine, more requests may have timed out.
  assert.deepEqual([lost, late, messages], [sent.length - 1, 1, 2]);
  ping.stop();
});

test("the open loop sends when it is due, never early, and catches up", async (t) => {
  for (const pacing of ["spin", "timer"]) {
    const { ping, sent, echo, counters } = await verified({ rate: 1000, outstanding: 2, pacing });
    t.after(() => ping.stop());
    const begunNs = nowNs();
    ping.start("warmup");
    ping.start("measure");
    await sleep(5); // lane 0 has an outstanding request, and further ones are due
    echo(sent.find(([lane]) => lane === 0));
    assert.equal(readHeader(sent.at(-1)[1]).sequence, 3, "a late request is sent at once");
    for (let next = 0; counters().messages < 20 && nowNs() - begunNs < 60e9; ) {
      if (next < sent.length) echo(sent[next++]);
      else await turn();
    }
    assert.ok(nowNs() - begunNs >= 15_000_000, "the 16th request is due after 15 ms");
  }
});

test("the result has the histograms of its loop", async () => {
  for (const [rate, names] of [[0, ["latency"]], [1000, ["latency", "lateness", "service"]]]) {
    const { ping, said } = await verified({ rate });
    ping.stop();
    const [values, histograms] = said.result;
    assert.deepEqual(Object.keys(histograms).sort(), names);
    const counters = ["bytes", "late", "lost", "messages", "requests", "strange", "task_runs"];
    assert.deepEqual(Object.keys(values).sort(), counters);
  }
});

test("a signal without a port is rejected", async () => {
  const ping = new Ping({}, { seed: 1, params: PARAMS }, () => {});
  for (const port of [0, 65_536, "7", undefined]) await assert.rejects(ping.signal("pong", { port }), /invalid port/);
});

test("pong counts and delays", async () => {
  const said = {};
  const lab = { signal: (...args) => (said.signal = args), connected: (times) => (said.times = times) };
  lab.result = (values) => (said.values = values);
  const setup = { params: { ...PARAMS, echo_delay_ns: 100_000 } };
  const pong = new Pong(lab, setup, async () => 7);
  await turn();
  assert.deepEqual(said, { signal: ["ping", { port: 7 }], times: [] });
  const begunNs = nowNs();
  pong.delay();
  assert.ok(nowNs() - begunNs >= 100_000);
  pong.count(20);
  pong.count(3);
  pong.stop();
  assert.deepEqual(said.values, { messages: 2, bytes: 23, task_runs: 0 });
});
