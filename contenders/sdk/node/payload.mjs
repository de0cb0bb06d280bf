// The payload of PROTOCOL.md: header and body, the digest, and the count of gaps, repeats and disorder.
//
// Numbers are exact up to 2^53, which no trial reaches.
import { hash } from "node:crypto";

export const HEADER_BYTES = 16;
/** Maximum number of missing sequence numbers that a receiver remembers per connection. */
export const MAX_MISSING = 4096;

const BLOCK_BYTES = 32;
const SEED_BYTES = 24;
const TWO_32 = 2 ** 32;

const sha256 = (bytes) => hash("sha256", bytes, "buffer");

export function writeHeader(message, stream, sequence) {
  const view = viewOf(message);
  writeUint64(view, 0, sequence);
  view.setUint32(8, stream);
  view.setUint32(12, 0);
}

export function readHeader(message) {
  const view = viewOf(message);
  return { sequence: view.getUint32(0) * TWO_32 + view.getUint32(4), stream: view.getUint32(8) };
}

/** Writes header and body of a message of `verify`. A message shorter than a header is a prefix of the body. */
export function fill(message, seed, stream, sequence) {
  const header = message.length < HEADER_BYTES ? 0 : HEADER_BYTES;
  if (header > 0) writeHeader(message, stream, sequence);
  const input = new Uint8Array(SEED_BYTES);
  const view = viewOf(input);
  writeUint64(view, 0, seed);
  view.setUint32(8, stream);
  writeUint64(view, 12, sequence);
  for (let at = header, block = 0; at < message.length; at += BLOCK_BYTES, block++) {
    view.setUint32(20, block);
    message.set(sha256(input).subarray(0, message.length - at), at);
  }
}

/** The XOR of the SHA-256 of every message, which is independent of the order of arrival. */
export class Digest {
  #sum = new Uint8Array(BLOCK_BYTES);

  add(message) {
    const digest = sha256(message);
    for (let i = 0; i < BLOCK_BYTES; i++) this.#sum[i] ^= digest[i];
  }

  hex() {
    return Buffer.from(this.#sum).toString("hex");
  }
}

/** The verify phase at the receiver: `perStream` messages on each of `streams`, with every byte compared. */
export class Gate {
  messages = 0;
  bytes = 0;
  #digest = new Digest();
  #plan;
  #expected;

  /** @param {{seed: number, streams: number, perStream: number, messageBytes: number}} plan */
  constructor(plan) {
    this.#plan = plan;
    this.#expected = Buffer.alloc(plan.messageBytes);
  }

  get complete() {
    return this.messages >= this.#plan.streams * this.#plan.perStream;
  }

  /** Checks a message of the verify phase and throws an error if it is wrong. Ignores later messages. */
  take(message, stream, sequence) {
    if (sequence >= this.#plan.perStream) return;
    fill(this.#expected, this.#plan.seed, stream, sequence);
    if (this.#expected.compare(message) !== 0) {
      throw new Error(`connection ${stream}, message ${sequence}: wrong content`);
    }
    this.messages++;
    this.bytes += message.length;
    this.#digest.add(message);
  }

  hex() {
    return this.#digest.hex();
  }
}

/** The counters of one connection. */
export class Receiver {
  messages = 0;
  bytes = 0;
  repeats = 0;
  disorder = 0;
  #next = 0;
  #missing = new Set();
  #lost = 0;

  /** Sequence numbers that were skipped and have not arrived. */
  get gaps() {
    return this.#missing.size + this.#lost;
  }

  count(sequence, bytes) {
    this.messages++;
    this.bytes += bytes;
    if (sequence === this.#next) this.#next++;
    else if (sequence > this.#next) this.#skip(sequence);
    else if (this.#missing.delete(sequence)) this.disorder++;
    else this.repeats++;
  }

  #skip(sequence) {
    const skipped = sequence - this.#next;
    const remembered = Math.min(skipped, MAX_MISSING - this.#missing.size);
    for (let i = 0; i < remembered; i++) this.#missing.add(this.#next + i);
    this.#lost += skipped - remembered;
    this.#next = sequence + 1;
  }
}

/** The named counters, summed over connections. */
export function totals(connections, names) {
  const sums = Object.fromEntries(names.map((name) => [name, 0]));
  for (const connection of connections) for (const name of names) sums[name] += connection[name];
  return sums;
}

function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function writeUint64(view, at, value) {
  view.setUint32(at, Math.floor(value / TWO_32));
  view.setUint32(at + 4, value % TWO_32);
}
