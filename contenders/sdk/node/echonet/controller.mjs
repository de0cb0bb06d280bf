// The role that reads: its closed loop, and what is booked of it.
import { Digest } from "../payload.mjs";
import { nowNs } from "../rtt/clock.mjs";
import { Histogram } from "../rtt/histogram.mjs";
import { check, IDENTIFICATION, isSame, nameOf, payloadOf, READS } from "./reads.mjs";

const LOOK_MS = 100; // for lost reads
const MS_NS = 1_000_000;
const SECOND_NS = 1_000_000_000;
/** Keys of lost reads that are remembered, so that a late answer is told from a strange one. */
const MAX_LOST = 1024;

/** The handlers of the lab's messages are `signal`, `start`, `mark` and `stop`. */
export class Controller {
  #lab;
  #seed;
  #params;
  #library;
  #windowNs;
  #timeoutNs;
  #expected = [];
  #underWay = new Map(); // key to { n, sentNs }
  #lost = new Set();
  #latency = new Histogram();
  #next = 0;
  #looking;
  #looping = false;
  #stopped = false;
  #measureNs = Infinity;
  #counters = { reads: 0, bytes: 0, wrong: 0, lost: 0, late: 0 };

  /**
   * @param {{find: (answered: (key: any, value: Buffer | undefined) => void) => Promise<void>, send: (object: string, epc:
   *   string) => any}} library `find` makes the library's controller and resolves once it knows that the node at `peer` has
   *   the lighting; later it calls `answered` for each answer, with undefined for a refusal. `send` asks for a property and
   *   returns the key by which its answer comes: no other read under way may have it
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
      // After what has come has been taken: both roles may have stood still.
      this.#looking = setInterval(() => setImmediate(() => this.#look()), LOOK_MS);
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
    clearInterval(this.#looking);
    this.#stopped = true;
    this.#lab.result({ ...this.#counters }, { latency: this.#latency.encode() });
  }

  #send(n) {
    const sentNs = nowNs();
    this.#underWay.set(this.#library.send(...READS[n % READS.length]), { n, sentNs });
  }

  #answered(key, value) {
    const receivedNs = nowNs();
    const read = this.#underWay.get(key);
    if (this.#stopped) return;
    if (!read) {
      if (this.#lost.delete(key)) this.#counters.late++;
      return;
    }
    this.#underWay.delete(key);
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
        console.error(`${nameOf(READS[n % READS.length])}: ${value?.toString("hex") ?? "refused"}, and ${expected.toString("hex")} in verify`);
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

  /** Gives up what was sent too long ago. */
  #look() {
    if (this.#stopped) return;
    const beforeNs = nowNs() - this.#timeoutNs;
    for (const [key, { n, sentNs }] of [...this.#underWay]) {
      if (sentNs >= beforeNs) continue;
      if (!this.#looping) throw new Error(`${nameOf(READS[n % READS.length])}: no answer in time`);
      this.#underWay.delete(key);
      if (this.#lost.size < MAX_LOST) this.#lost.add(key);
      this.#counters.lost++;
      this.#send(this.#next++);
    }
  }
}
