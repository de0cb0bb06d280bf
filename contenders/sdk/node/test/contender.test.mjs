import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { connect, MAX_LINE_BYTES, nowNs } from "../index.mjs";

const SETUP = { type: "setup", protocol: 1, workload: "w", role: "r", seed: 5, params: {}, later: "ignored" };

/** Feeds `lines` (objects, or literal text) to a contender. Returns its messages and the exit code. */
async function converse(lines, contender) {
  const input = new PassThrough();
  const output = new PassThrough();
  const said = [];
  output.on("data", (chunk) => said.push(...chunk.toString().trim().split("\n").map((line) => JSON.parse(line))));
  const code = await new Promise((exit) => {
    connect({ input, output, exit }).then(contender);
    for (const line of lines) input.write(typeof line === "string" ? line : `${JSON.stringify(line)}\n`);
    input.end();
  });
  return { said, code };
}

/** A contender that answers all messages. */
function answerAll({ lab }) {
  lab.ready({ name: "n" });
  return lab.listen({
    signal: (from, body) => lab.signal(from, body),
    start: (phase) => (phase === "verify" ? lab.verified("d", 1, 2) : lab.connected([3])),
    mark: (id) => lab.counters(id, { messages: 4 }),
    stop: () => lab.result({ messages: 4 }),
  });
}

test("a complete trial", async () => {
  const before = nowNs();
  const { said, code } = await converse(
    [
      SETUP,
      { type: "signal", from: "x", body: [1, null] },
      { type: "start", phase: "verify" },
      { type: "start", phase: "warmup" },
      { type: "mark", id: 7 },
      { type: "stop" },
      { type: "mark", id: 8 }, // nothing is printed after the result
    ],
    answerAll,
  );
  const counters = said.find((message) => message.type === "counters");
  assert.ok(counters.at_ns >= before && counters.at_ns <= nowNs());
  delete counters.at_ns;
  assert.deepEqual(said, [
    { type: "ready", implementation: { name: "n" } },
    { type: "signal", to: "x", body: [1, null] },
    { type: "verified", digest: "d", messages: 1, bytes: 2 },
    { type: "connected", setup_ns: [3] },
    { type: "counters", id: 7, values: { messages: 4 } },
    { type: "result", values: { messages: 4 }, histograms: {} },
  ]);
  assert.equal(code, 0);
});

test("invalid input ends the contender", async () => {
  const rows = [
    ["stdin closed at once", [], undefined, 1],
    ["stdin closed later", [SETUP], undefined, 1],
    ["not JSON", [SETUP, "{\n"], /not JSON/, 1],
    ["not an object", [SETUP, "3\n"], /not a JSON object/, 1],
    ["unknown type", [SETUP, { type: "constructor" }], /invalid message/, 1],
    ["unknown phase", [SETUP, { type: "start", phase: "nap" }], /invalid message/, 1],
    ["mark without id", [SETUP, { type: "mark" }], /invalid message/, 1],
    ["setup is not first", [{ type: "stop" }], /expected setup/, 1],
    ["another protocol", [{ ...SETUP, protocol: 2 }], /protocol 2/, 1],
    ["seed beyond 53 bits", [{ ...SETUP, seed: 2 ** 53 }], /seed/, 1],
    ["no parameters", [{ ...SETUP, params: undefined }], /params/, 1],
    ["a long line", [SETUP, `"${"x".repeat(MAX_LINE_BYTES)}"\n`], /longer than/, 1],
  ];
  for (const [name, lines, reason, expected] of rows) {
    const { said, code } = await converse(lines, answerAll);
    assert.equal(code, expected, name);
    const failure = said.find((message) => message.type === "failed");
    if (reason) assert.match(failure.reason, reason, name);
    else assert.equal(failure, undefined, name);
  }
});

test("unsupported exits 127, and nothing follows it", async () => {
  const { said, code } = await converse([SETUP], ({ lab }) => {
    lab.unsupported("not me");
    lab.ready({});
  });
  assert.deepEqual(said, [{ type: "unsupported", reason: "not me" }]);
  assert.equal(code, 127);
});

test("an exception or rejection of a handler is a failure", async () => {
  for (const mark of [() => { throw new Error("boom"); }, async () => { throw new Error("boom"); }]) {
    const lines = [SETUP, { type: "mark", id: 1 }];
    const { said, code } = await converse(lines, ({ lab }) => lab.listen({ mark }));
    assert.deepEqual([said, code], [[{ type: "failed", reason: "boom" }], 1]);
  }
});

test("a line may arrive in pieces, even within a character", async () => {
  const text = Buffer.from(`${JSON.stringify({ type: "signal", from: "é", body: "ü" })}\n`);
  const input = new PassThrough();
  const output = new PassThrough();
  const connected = connect({ input, output, exit() {} });
  input.write(`${JSON.stringify(SETUP)}\n`);
  const { lab } = await connected;
  const got = new Promise((resolve) => lab.listen({ signal: (...args) => resolve(args) }));
  for (const byte of text) input.write(Buffer.from([byte]));
  assert.deepEqual(await got, ["é", "ü"]);
});
