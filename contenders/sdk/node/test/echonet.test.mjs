import assert from "node:assert/strict";
import { test } from "node:test";
import { refusal } from "../echonet/begin.mjs";
import { Controller, Device, identification, LIGHTING, NODE_PROFILE, READS } from "../echonet/index.mjs";
import { check, isSame, mapCodes } from "../echonet/reads.mjs";

const PAYLOAD = "54301a433524372b04845c1cdd"; // for seed 1
const PARAMS = { outstanding: 1, timeout_ms: 100, seconds: 1.6 };
const VALUES = {
  80: "30", 82: "010d0100", 83: `fe00000b${PAYLOAD}`, "8a": "00000b", "9d": "0180", "9e": "00",
  "9f": "0b8082838a9d9e9fd3d4d6d7", d3: "000001", d4: "0002", d6: "01029101", d7: "010291",
};
const valueOf = (epc) => Buffer.from(VALUES[epc], "hex");

test("the identification number", () => {
  assert.equal(identification(1).toString("hex"), `fe00000b${PAYLOAD}`);
});

test("checks of values", () => {
  for (const [epc, value, good] of [
    ["80", "30", true], ["80", "31", false], ["80", "", false], ["82", "010d0100", true], ["82", "010d01", false],
    ["83", `fe123456${PAYLOAD}`, true], ["83", `ff00000b${PAYLOAD}`, false], ["83", PAYLOAD, false], ["83", "", false],
    ["8a", "000077", true], ["8a", "0077", false], ["9d", "0280d5", true], ["9d", "00", true], ["9d", "", false],
    ["9d", "0380d5", false], ["9d", "027fd5", false], ["9e", `10${"00".repeat(16)}`, true], ["9e", `10${"00".repeat(15)}`, false],
    ["9f", VALUES["9f"], true], ["9f", "078082838a9d9e9f", true], ["9f", "068082838a9d9e", false],
    ["9f", "1001000101000000000000010000020202", true], ["9f", "100101012120202020010101000002020a", true],
    ["9f", "1001000101000000000000010000020200", false], ["9f", "0701000101000000000000010000020202", false],
    ["d3", "000001", true], ["d3", "01", false], ["d4", "0001", false], ["d6", "01029102", false],
    ["d7", "010291", true], ["d7", "0202910ef0", true], ["d7", "020ef00291", true], ["d7", "020291", false],
  ]) {
    const act = () => check([NODE_PROFILE, epc], Buffer.from(value, "hex"), 1);
    if (good) act();
    else assert.throws(act, new RegExp(`property ${epc}`), value);
  }
});

test("bitmaps", () => {
  assert.deepEqual(mapCodes(Buffer.from(`1001${"00".repeat(14)}80`, "hex")), [0x80, 0xff]);
  assert.equal(mapCodes(Buffer.from("40a595d5a7c4c4c5869795a7e471339392", "hex")).length, 64); // a published example
});

test("the order of codes in a map is ignored", () => {
  for (const [epc, value, other, same] of [
    ["9f", "028081", "028180", true], ["9f", "028081", "028280", false], ["9f", "028081", "0180", false], ["d6", "0102", "0201", false],
    ["9e", "", "0180", false],
  ]) {
    assert.equal(isSame([NODE_PROFILE, epc], Buffer.from(value, "hex"), Buffer.from(other, "hex")), same, value);
  }
});

test("unsupported setups", () => {
  const setup = (changes) => ({ workload: "echonet", role: "device", params: { ...PARAMS, ...changes } });
  assert.equal(refusal(setup({ later: 1 })), undefined);
  for (const changes of [{ outstanding: 0 }, { outstanding: 129 }, { timeout_ms: 99 }, { seconds: 0.1 }, { seconds: "x" }]) {
    assert.match(refusal(setup(changes)), /is not/);
  }
  assert.match(refusal({ ...setup(), role: "ping" }), /unsupported role/);
  assert.match(refusal({ ...setup(), workload: "rtt" }), /unsupported workload/);
});

/** A controller with a fake device: `sent` contains [key, object, epc], `answer` answers, and `said` contains the messages to the lab. */
async function begin(params) {
  const said = {};
  const says = (name) => (...args) => (said[name] = args);
  const lab = Object.fromEntries(["connected", "verified", "counters", "result"].map((name) => [name, says(name)]));
  const sent = [];
  let answer;
  const library = {
    find: async (answered) => (answer = answered),
    send: (object, epc) => sent.push([sent.length, object, epc]) - 1,
  };
  const controller = new Controller(lab, { seed: 1, params: { ...PARAMS, ...params } }, library);
  await controller.signal("device", { ready: true });
  const counters = () => (controller.mark(0), said.counters[1]);
  return { controller, said, sent, answer: (...args) => answer(...args), counters };
}

async function verified(params) {
  const all = await begin(params);
  all.controller.start("verify");
  for (let key = 0; key < READS.length; key++) all.answer(key, valueOf(all.sent[key][2]));
  return all;
}

test("verify reads one property at a time and tolerates no error", async () => {
  const { said, sent, controller } = await verified({ outstanding: 4 });
  assert.equal(said.connected[0].length, 1);
  assert.deepEqual(sent.map(([, ...read]) => read), READS);
  assert.deepEqual(READS.at(-1), [LIGHTING, "80"]);
  assert.deepEqual(said.verified.slice(1), [1, 13]);
  controller.stop();
  for (const value of [undefined, Buffer.from("31", "hex")]) {
    const one = await begin();
    one.controller.start("verify");
    assert.throws(() => one.answer(0, value), /property 80/);
    one.controller.stop();
  }
});

test("the closed loop", async (context) => {
  context.mock.method(console, "error", () => {});
  const { controller, sent, answer, counters, said } = await verified({ outstanding: 3 });
  controller.start("warmup");
  assert.deepEqual(sent.slice(12).map(([, ...read]) => read), READS.slice(0, 3));
  controller.start("measure");
  answer(13, valueOf("82"));
  assert.deepEqual(sent.at(-1), [15, ...READS[3]]);
  answer(13, valueOf("82")); // repeated
  answer(12, undefined);
  answer(14, Buffer.from("30", "hex"));
  assert.deepEqual(counters(), { reads: 3, bytes: 5, wrong: 2, lost: 0, late: 0 });
  assert.equal(sent.length, 18);
  controller.stop();
  assert.deepEqual(said.result[0], counters());
});

test("a read without an answer is lost, and its answer late", async () => {
  const { controller, sent, answer, counters } = await verified();
  controller.start("warmup");
  while (counters().lost === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  answer(12, valueOf("80"));
  answer(12, valueOf("80"));
  controller.stop();
  assert.equal(counters().late, 1);
  assert.ok(sent.length > 13);
});

test("device", async () => {
  const said = [];
  const says = (name) => (...args) => said.push([name, ...args]);
  const lab = { signal: says("signal"), connected: says("connected"), counters: says("counters"), result: says("result") };
  const device = new Device(lab, async () => {});
  await new Promise((resolve) => setImmediate(resolve));
  device.start("verify");
  device.mark(3);
  device.stop();
  assert.deepEqual(said, [["signal", "controller", { ready: true }], ["connected", []], ["counters", 3, {}], ["result", {}]]);
  assert.throws(() => device.signal("controller"));
});
