import assert from "node:assert/strict";
import { test } from "node:test";
import { Connection } from "../w3c-connection.mjs";

const LOCAL = "198.18.0.1";
const usable = `candidate:1 1 udp 2130706431 ${LOCAL} 5000 typ host`;
const otherAddress = "candidate:2 1 udp 2130706431 192.0.2.7 5000 typ host";
const otherTransport = `candidate:3 1 tcp 1518280447 ${LOCAL} 9 typ host tcptype active`;
const sdp = ["v=0", `a=${usable}`, `a=${otherAddress}`, `a=${otherTransport}`, "a=mid:0", ""].join("\r\n");

/** Records calls, and gathers `early` while the local description is being set. */
class FakePeerConnection {
  calls = [];
  early = [];

  gather(candidate) {
    this.onicecandidate({ candidate: candidate && { candidate, sdpMid: "0", sdpMLineIndex: 0 } });
  }

  createOffer = async () => ({ type: "offer", sdp });
  createAnswer = async () => ({ type: "answer", sdp });
  setRemoteDescription = async ({ type }) => void this.calls.push(type);
  addIceCandidate = async ({ candidate }) => void this.calls.push(candidate);

  async setLocalDescription(description) {
    this.localDescription = description;
    for (const candidate of this.early) this.gather(candidate);
  }
}

function connect() {
  const pc = new FakePeerConnection();
  const sent = [];
  return { pc, sent, connection: new Connection(pc, 5, LOCAL, (body) => sent.push(body)) };
}

test("an offer contains only candidates of the measured address; later ones trickle", async () => {
  const { pc, sent, connection } = connect();
  pc.early = [usable];
  await connection.offer();
  for (const candidate of [usable, otherAddress, otherTransport, "", null, undefined]) pc.gather(candidate);
  const kept = ["v=0", `a=${usable}`, "a=mid:0", ""].join("\r\n");
  assert.deepEqual(sent, [
    { connection: 5, type: "offer", sdp: kept },
    { connection: 5, type: "candidate", candidate: usable, sdp_mid: "0", sdp_mline_index: 0 },
  ]);
});

test("candidates before the offer are queued, and the offer is answered", async () => {
  const { pc, sent, connection } = connect();
  await connection.receive({ type: "candidate", candidate: "first" });
  await connection.receive({ type: "candidate", candidate: "" });
  await connection.receive({ type: "offer", sdp });
  await connection.receive({ type: "candidate", candidate: "second" });
  assert.deepEqual(pc.calls, ["offer", "first", "second"]);
  assert.deepEqual(sent.map(({ type }) => type), ["answer"]);
});

test("unknown signals and too many early candidates are errors", async () => {
  const { connection } = connect();
  await assert.rejects(connection.receive({ type: "rollback" }), /type rollback/);
  for (let i = 0; i < 64; i++) await connection.receive({ type: "candidate", candidate: `${i}` });
  await assert.rejects(connection.receive({ type: "candidate", candidate: "64" }), /too many/);
});
