// A `datachannel` contender for any library with the W3C API. workloads/datachannel.toml contains the contract.
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { connect, nowNs, RUNTIME } from "./contender.mjs";
import { Gate, HEADER_BYTES, readHeader, Receiver, totals } from "./payload.mjs";
import { Sender, SendLoop } from "./send-loop.mjs";
import { Connection } from "./w3c-connection.mjs";

const HELLO = Buffer.from("hello");
const MAX_PAIRS = 10_000;

/** The `version` in a package.json. */
export const packageVersion = (path) => JSON.parse(readFileSync(path, "utf8")).version;

/**
 * @param {object} library
 * @param {{name: string, version: string, language: string}} library.implementation
 * @param {new (configuration: object) => RTCPeerConnection} library.RTCPeerConnection
 * @param {(setup: object) => object} library.configuration of each peer connection
 * @param {number} library.maxMessageBytes
 * @param {boolean} library.loopback whether it can use a loopback address
 * @param {boolean} library.keepsBuffer whether `send` keeps a reference to the message instead of a copy
 * @param {number} [library.maxQueuedMessages] maximum number of queued messages per channel, if the library cannot handle high_water_bytes
 */
export async function run(library) {
  const { lab, setup } = await connect();
  process.on("uncaughtException", (error) => {
    console.error(error);
    lab.failed(error?.message ?? error);
  });
  const reason = refusal(setup, library);
  if (reason) return lab.unsupported(reason);

  lab.ready({ ...library.implementation, runtime: RUNTIME });
  const Role = setup.role === "offerer" ? Offerer : Answerer;
  await lab.listen(new Role(lab, setup, library));
}

/** Returns the reason why the library does not support a setup, if any. */
function refusal({ workload, role, local, params }, { maxMessageBytes, loopback }) {
  if (workload !== "datachannel") return `unsupported workload ${workload}`;
  if (role !== "offerer" && role !== "answerer") return `unsupported role ${role}`;
  const ranges = [
    ["pairs", 1, MAX_PAIRS],
    ["message_bytes", HEADER_BYTES, maxMessageBytes],
    ["verify_messages", 1, Number.MAX_SAFE_INTEGER],
    ["high_water_bytes", 1, Number.MAX_SAFE_INTEGER],
  ];
  for (const [name, min, max] of ranges) {
    const value = params[name];
    if (!Number.isSafeInteger(value) || value < min || value > max) return `${name} ${value} is not ${min}..${max}`;
  }
  if (typeof params.ordered !== "boolean") return `ordered ${params.ordered} is not a boolean`;
  if (!loopback && isLoopback(local)) return `the library does not gather loopback addresses, but local is ${local}`;
  return undefined;
}

function isLoopback(local) {
  return Object.values(networkInterfaces())
    .flat()
    .some(({ address, internal }) => internal && address === local);
}

/** The common part of both roles: the connections and their setup times. */
class Role {
  constructor(lab, setup, library, peer) {
    this.lab = lab;
    this.setup = setup;
    this.params = setup.params;
    this.library = library;
    this.peer = peer;
    this.connections = new Array(setup.params.pairs);
    this.startedNs = new Array(setup.params.pairs);
    this.setupNs = new Array(setup.params.pairs);
    this.pending = setup.params.pairs;
  }

  open(index) {
    this.startedNs[index] = nowNs();
    const pc = new this.library.RTCPeerConnection(this.library.configuration(this.setup));
    pc.onconnectionstatechange = () => {
      if (pc.connectionState === "failed") this.lost(index);
    };
    const send = (body) => this.lab.signal(this.peer, body);
    this.connections[index] = new Connection(pc, index, this.setup.local, send);
    return this.connections[index];
  }

  /** Only logged, because werift also reports this for connections that succeed later, and the lab stops the offerer first. */
  lost(index) {
    console.error(`connection ${index} failed`);
  }

  /** Reports that connection `index` is established. */
  done(index) {
    if (this.setupNs[index] !== undefined) return;
    this.setupNs[index] = nowNs() - this.startedNs[index];
    this.pending--;
    if (this.pending === 0) this.lab.connected(this.setupNs);
  }

  signal(from, body) {
    const index = body?.connection;
    if (!Number.isSafeInteger(index) || index < 0 || index >= this.params.pairs) {
      throw new Error(`signal for connection ${index}`);
    }
    return (this.connections[index] ?? this.open(index)).receive(body);
  }

  mark(id) {
    this.lab.counters(id, this.values());
  }

  stop() {
    this.lab.result(this.values());
  }
}

class Offerer extends Role {
  constructor(lab, setup, library) {
    super(lab, setup, library, "answerer");
    const { message_bytes: messageBytes, verify_messages: verifyMessages, high_water_bytes: highWater } = this.params;
    const highWaterBytes = Math.min(highWater, (library.maxQueuedMessages ?? Infinity) * messageBytes);
    const plan = { seed: setup.seed, messageBytes, verifyMessages, keepsBuffer: library.keepsBuffer };
    this.senders = [];
    for (let index = 0; index < this.params.pairs; index++) {
      const connection = this.open(index);
      const channel = connection.pc.createDataChannel("netdyno", { ordered: this.params.ordered });
      this.senders.push(new Sender(channel, index, plan));
      this.awaitHello(channel, index);
      connection.offer().catch((error) => lab.failed(`connection ${index}: ${error.message}`));
    }
    this.loop = new SendLoop(this.senders, { highWaterBytes, messageBytes });
  }

  lost(index) {
    if (this.setupNs[index] === undefined) super.lost(index);
    else this.lab.failed(`connection ${index} failed`);
  }

  /** A connection is established when its channel is open and the answerer's hello has arrived. */
  awaitHello(channel, index) {
    let hello = false;
    const check = () => {
      if (hello && channel.readyState === "open") this.done(index);
    };
    channel.binaryType = "arraybuffer";
    channel.onopen = check;
    channel.onclose = () => this.lab.failed(`connection ${index}: the channel was closed`);
    channel.onmessage = ({ data }) => {
      if (!HELLO.equals(bytesOf(data))) return this.lab.failed(`connection ${index}: expected the hello`);
      hello = true;
      check();
    };
  }

  start(phase) {
    this.loop.start(phase === "verify" ? this.params.verify_messages : Infinity);
  }

  stop() {
    this.loop.stop();
    super.stop();
  }

  values() {
    return totals(this.senders, ["messages", "bytes"]);
  }
}

class Answerer extends Role {
  constructor(lab, setup, library) {
    super(lab, setup, library, "offerer");
    const { pairs: streams, verify_messages: perStream, message_bytes: messageBytes } = this.params;
    this.receivers = Array.from({ length: streams }, () => new Receiver());
    this.channels = [];
    this.gate = new Gate({ seed: setup.seed, streams, perStream, messageBytes });
    this.verifying = false;
    this.verified = false;
  }

  open(index) {
    const connection = super.open(index);
    connection.pc.ondatachannel = ({ channel }) => this.accept(channel, index);
    return connection;
  }

  accept(channel, index) {
    this.channels.push(channel); // an unreferenced channel may be garbage-collected with its events
    channel.binaryType = "arraybuffer";
    channel.onmessage = ({ data }) => this.receive(bytesOf(data), index);
    channel.onopen = () => this.greet(channel, index);
    if (channel.readyState === "open") this.greet(channel, index);
  }

  greet(channel, index) {
    if (this.setupNs[index] !== undefined) return;
    channel.send(HELLO);
    this.done(index);
  }

  receive(message, index) {
    if (message.length !== this.params.message_bytes) throw new Error(`connection ${index}: ${message.length} bytes`);
    const { sequence, stream } = readHeader(message);
    if (stream !== index) throw new Error(`connection ${index}: message of stream ${stream}`);
    this.receivers[index].count(sequence, message.length);
    if (this.verified) return;
    this.gate.take(message, index, sequence);
    this.reportGate();
  }

  start(phase) {
    this.verifying ||= phase === "verify";
    this.reportGate();
  }

  /** Messages may arrive before this role's `start verify`, but `verified` must follow it. */
  reportGate() {
    if (!this.verifying || this.verified || !this.gate.complete) return;
    this.verified = true;
    this.lab.verified(this.gate.hex(), this.gate.messages, this.gate.bytes);
  }

  values() {
    return totals(this.receivers, ["messages", "bytes", "gaps", "repeats", "disorder"]);
  }
}

/** Returns a message as bytes, whether it is an ArrayBuffer or a view. Text is encoded. */
function bytesOf(data) {
  if (typeof data === "string") return Buffer.from(data);
  return ArrayBuffer.isView(data) ? data : new Uint8Array(data);
}
