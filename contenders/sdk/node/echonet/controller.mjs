// The role that reads properties: its closed loop and its counters.
import { Digest } from "../payload.mjs";
import { nowNs } from "../rtt/clock.mjs";
import { Histogram } from "../rtt/histogram.mjs";
import { check, IDENTIFICATION, isSame, nameOf, payloadOf, READS } from "./reads.mjs";

const CHECK_MS = 100; // interval of the check for lost reads
const MS_NS = 1_000_000;
const SECOND_NS = 1_000_000_000;
/** Maximum number of remembered keys of lost reads, which distinguish late answers from strange ones. */
const MAX_LOST = 1024;

/** `signal`, `start`, `mark` and `stop` are the handlers of the lab's messages. */
export class Controller {
  #lab;
  #seed;
  #params;
  #library;
  #windowNs;
  #timeoutNs;
  #expected = [];
  #outstanding = new Map(); // key to { n, sentNs }
  #lost = new Set();
  #latency = new Histogram();
  #next = 0;
  #timer;
  #looping = false;
  #stopped = false;
  #measureNs = Infinity;
  #counters = { reads: 0, bytes: 0, wrong: 0, lost: 0, late: 0 };

  /**
   * @param {{find: (answered: (key: any, value: Buffer | undefined) => void) => Promise<void>, send: (object: string, epc:
   *   string) => any}} library `find` creates the library's controller and resolves when it knows that the node at `peer` has
   *   the lighting; later it calls `answered` for each answer, with undefined for a refusal. `send` requests a property and
   *   returns the key of its answer, which must be unique among outstanding reads
   */
  constructor(lab, { seed, params }, library) {
    this.#lab = lab;
    this.#seed = seed;
    this.#params = params;
    this.#library = library;
    this.#windowNs = params.seconds * SECOND_NS;
    this.#timeoutNs = params.timeout_ms * MS_NS;
  }

  async signal() {
    const begunNs = nowNs();
    await this.#library.find((key, value) => this.#answered(key, value));
    this.#lab.connected([nowNs() - begunNs]);
  }

  start(phase) {
    if (phase === "verify") {
      // setImmediate handles pending datagrams first, because both roles may have been frozen.
      this.#timer = setInterval(() => setImmediate(() => this.#expire()), CHECK_MS);
      this.#send(0);
    } else if (phase === "warmup") {
      this.#looping = true;
      for (let i = 0; i < this.#params.outstanding; i++) this.#send(this.#next++);
    } else {
      this.#measureNs = nowNs();
    }
  }

  mark(id) {
    this.#lab.counters(id, { ...this.#counters });
  }

  stop() {
    clearInterval(this.#timer);
    this.#stopped = true;
    this.#lab.result({ ...this.#counters }, { latency: this.#latency.encode() });
  }

  #send(n) {
    const sentNs = nowNs();
    this.#outstanding.set(this.#library.send(...READS[n % READS.length]), { n, sentNs });
  }

  #answered(key, value) {
    const receivedNs = nowNs();
    const read = this.#outstanding.get(key);
    if (this.#stopped) return;
    if (!read) {
      if (this.#lost.delete(key)) this.#counters.late++;
      return;
    }
    this.#outstanding.delete(key);
    if (!this.#looping) {
      this.#verify(read.n, value);
      return;
    }
    this.#book(read, value, receivedNs);
    this.#send(this.#next++);
  }

  #book({ n, sentNs }, value, receivedNs) {
    const counters = this.#counters;
    const expected = this.#expected[n % READS.length];
    if (!value || !isSame(READS[n % READS.length], value, expected)) {
      if (counters.wrong === 0) {
        console.error(`${nameOf(READS[n % READS.length])}: ${value?.toString("hex") ?? "refused"}, but ${expected.toString("hex")} in verify`);
      }
      counters.wrong++;
    }
    counters.reads++;
    counters.bytes += value?.length ?? 0;
    const sinceNs = receivedNs - this.#measureNs;
    if (sinceNs >= 0 && sinceNs < this.#windowNs) this.#latency.record(receivedNs - sentNs);
  }

  #verify(index, value) {
    if (!value) throw new Error(`${nameOf(READS[index])}: refused`);
    check(READS[index], value, this.#seed);
    this.#expected.push(Buffer.from(value));
    if (index + 1 < READS.length) {
      this.#send(index + 1);
      return;
    }
    const received = payloadOf(this.#expected[IDENTIFICATION]);
    const digest = new Digest();
    digest.add(received);
    this.#lab.verified(digest.hex(), 1, received.length);
  }

  /** Marks reads as lost that have timed out. */
  #expire() {
    if (this.#stopped) return;
    const beforeNs = nowNs() - this.#timeoutNs;
    for (const [key, { n, sentNs }] of [...this.#outstanding]) {
      if (sentNs >= beforeNs) continue;
      if (!this.#looping) throw new Error(`${nameOf(READS[n % READS.length])}: the read timed out`);
      this.#outstanding.delete(key);
      if (this.#lost.size < MAX_LOST) this.#lost.add(key);
      this.#counters.lost++;
      this.#send(this.#next++);
    }
  }
}
