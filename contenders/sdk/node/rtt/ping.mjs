// The role that asks: its lanes, and what is booked of them.
import { Digest, totals } from "../payload.mjs";
import { nowNs } from "./clock.mjs";
import { Histogram } from "./histogram.mjs";
import { Lane } from "./lane.mjs";
import { Pacer } from "./pacer.mjs";
import { Schedule } from "./schedule.mjs";
import { Tasks } from "./tasks.mjs";

const LOOK_MS = 100; // for lost datagrams
const HELLO_TIMEOUT_MS = 10_000;
const MS_NS = 1_000_000;
const SECOND_NS = 1_000_000_000;
const ALL_ONES = 0xff;

// Many datagrams at once could overflow the socket buffer of pong, and the gate forgives no loss. So lanes verify a few at
// a time: as many as keep this many bytes under way, each datagram with about what the kernel adds to it.
const VERIFY_BYTES = 1 << 16;
const DATAGRAM_BYTES = 1 << 10;

/** The handlers of the lab's messages are `signal`, `start`, `mark` and `stop`. */
export class Ping {
  #lab;
  #setup;
  #params;
  #dial;
  #lanes;
  #hello;
  #tasks;
  #schedule; // undefined in the closed loop
  #pacer;
  #looking; // the interval
  #latency = new Histogram();
  #service = new Histogram();
  #lateness = new Histogram();
  #digest = new Digest();
  #echoes = 0; // of verify
  #turn = 0; // the lane that verifies next
  #unverified; // lanes
  #beganNs = 0; // when warmup did
  #measureNs = Infinity; // when measure did
  #windowNs;

  /**
   * @param {(setup: object, port: number, receive: (message: Buffer, receivedNs: number) => void) =>
   *   Promise<(message: Buffer) => void>} dial connects a socket to pong; gives `receive` what comes on it, with the time
   *   of that; resolves to what sends
   */
  constructor(lab, setup, dial) {
    const { params } = setup;
    this.#lab = lab;
    this.#setup = setup;
    this.#params = params;
    this.#dial = dial;
    this.#windowNs = params.seconds * SECOND_NS;
    this.#unverified = params.outstanding;
    this.#tasks = new Tasks(params.tasks);
    this.#hello = Buffer.alloc(params.message_bytes).fill(ALL_ONES, 0, 8);
    const lane = (_, stream) => new Lane(this, stream, params.message_bytes);
    this.#lanes = Array.from({ length: params.outstanding }, lane);
    if (params.rate > 0) {
      this.#schedule = new Schedule(params.rate, params.outstanding);
      this.#pacer = new Pacer(this.#lanes, params.pacing === "timer");
    }
  }

  /** Sets the lanes up, one after the other. */
  async signal(_from, { port }) {
    if (!Number.isSafeInteger(port) || port < 1 || port > 65_535) throw new Error(`signal: no port ${port}`);
    const setupNs = [];
    for (const [stream, lane] of this.#lanes.entries()) {
      const slow = setTimeout(() => this.#lab.failed(`lane ${stream}: no echo of the hello`), HELLO_TIMEOUT_MS);
      const begunNs = nowNs();
      setupNs.push((await this.#open(lane, port)) - begunNs);
      clearTimeout(slow);
    }
    this.#lab.connected(setupNs);
  }

  /** Resolves to when the echo of the hello came. */
  #open(lane, port) {
    return new Promise((resolve, reject) => {
      let up = false;
      const receive = (message, receivedNs) => {
        if (up) return lane.take(message, receivedNs);
        up = true;
        if (this.#hello.equals(message)) resolve(receivedNs);
        else reject(new Error("the echo of the hello is not as it was sent"));
      };
      this.#dial(this.#setup, port, receive).then((write) => {
        lane.attach(write);
        write(this.#hello);
      }, reject);
    });
  }

  start(phase) {
    if (phase === "verify") {
      if (this.#params.transport === "udp") this.#looking = setInterval(() => this.#look(), LOOK_MS);
      const atOnce = Math.floor(VERIFY_BYTES / (this.#params.message_bytes + DATAGRAM_BYTES));
      for (let i = 0; i < Math.max(1, atOnce); i++) this.#nextTurn();
    } else if (phase === "warmup") {
      this.#tasks.start();
      this.#beganNs = nowNs();
      for (const lane of this.#lanes) this.#request(lane);
    } else {
      this.#measureNs = nowNs();
    }
  }

  mark(id) {
    this.#lab.counters(id, this.#values());
  }

  stop() {
    clearInterval(this.#looking);
    this.#pacer?.stop();
    this.#tasks.stop();
    const histograms = { latency: this.#latency.encode() };
    if (this.#schedule) {
      histograms.service = this.#service.encode();
      histograms.lateness = this.#lateness.encode();
    }
    this.#lab.result(this.#values(), histograms);
  }

  // What a lane asks.

  isHello(message) {
    return message[0] === ALL_ONES && this.#hello.equals(message);
  }

  /** Books the echo that a lane awaited. */
  took(lane, echo, sentNs, receivedNs) {
    if (lane.sequence < this.#params.verify_messages) {
      if (!lane.matches(echo)) throw new Error(`the echo of request ${lane.sequence} is not as it was sent`);
      this.#digest.add(echo);
      this.#echoes++;
      return;
    }
    const sinceNs = receivedNs - this.#measureNs;
    if (!(sinceNs >= 0 && sinceNs < this.#windowNs)) return;
    if (!this.#schedule) {
      this.#latency.record(receivedNs - sentNs);
      return;
    }
    this.#latency.record(receivedNs - lane.dueNs);
    this.#service.record(receivedNs - sentNs);
    this.#lateness.record(sentNs - lane.dueNs);
  }

  /** The lane has nothing under way: on with its next request. */
  goOn(lane) {
    if (lane.sequence > this.#params.verify_messages) this.#request(lane);
    else this.#verify(lane);
  }

  /** The next lane that has not verified does so, if there is one. */
  #nextTurn() {
    if (this.#turn < this.#lanes.length) this.#verify(this.#lanes[this.#turn++]);
  }

  #verify(lane) {
    if (lane.sequence < this.#params.verify_messages) {
      lane.prepareVerify(this.#setup.seed);
      lane.send();
      return;
    }
    this.#nextTurn();
    this.#unverified--;
    if (this.#unverified > 0) return;
    this.#lab.verified(this.#digest.hex(), this.#echoes, this.#echoes * this.#params.message_bytes);
  }

  /** The lane's next request after verify. */
  #request(lane) {
    lane.prepare();
    if (!this.#schedule) {
      lane.send();
      return;
    }
    lane.number = this.#schedule.number(lane.stream, lane.sequence - this.#params.verify_messages);
    lane.dueNs = this.#beganNs + this.#schedule.dueNs(lane.number);
    this.#pacer.free(lane);
  }

  #look() {
    const beforeNs = nowNs() - this.#params.timeout_ms * MS_NS;
    for (const lane of this.#lanes) lane.giveUp(beforeNs);
  }

  #values() {
    const sums = totals(this.#lanes, ["requests", "messages", "lost", "late", "strange"]);
    return { ...sums, bytes: sums.messages * this.#params.message_bytes, task_runs: this.#tasks.runs };
  }
}
