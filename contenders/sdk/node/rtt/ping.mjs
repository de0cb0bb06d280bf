// The role that sends requests: its lanes and their counters.
import { Digest, totals } from "../payload.mjs";
import { nowNs } from "./clock.mjs";
import { Histogram } from "./histogram.mjs";
import { Lane } from "./lane.mjs";
import { Pacer } from "./pacer.mjs";
import { Schedule } from "./schedule.mjs";
import { Tasks } from "./tasks.mjs";

const CHECK_MS = 100; // interval of the check for lost datagrams
const HELLO_TIMEOUT_MS = 10_000;
const MS_NS = 1_000_000;
const SECOND_NS = 1_000_000_000;
const ALL_ONES = 0xff;

// Many datagrams at once could overflow the socket buffer of pong, and the gate tolerates no loss. The number of lanes that
// verify at once is therefore bounded by outstanding bytes, including the approximate overhead of the kernel per datagram.
const VERIFY_BYTES = 1 << 16;
const DATAGRAM_BYTES = 1 << 10;

/** `signal`, `start`, `mark` and `stop` are the handlers of the lab's messages. */
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
  #timer; // the interval
  #latency = new Histogram();
  #service = new Histogram();
  #lateness = new Histogram();
  #digest = new Digest();
  #echoes = 0; // in verify
  #turn = 0; // the next lane to verify
  #unverified; // number of lanes
  #beganNs = 0; // start of warmup
  #measureNs = Infinity; // start of measure
  #windowNs;

  /**
   * @param {(setup: object, port: number, receive: (message: Buffer, receivedNs: number) => void) =>
   *   Promise<(message: Buffer) => void>} dial connects a socket to pong; calls `receive` with each message and its time;
   *   resolves to a function that sends
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

  /** Sets up the lanes one at a time. */
  async signal(_from, { port }) {
    if (!Number.isSafeInteger(port) || port < 1 || port > 65_535) throw new Error(`signal: invalid port ${port}`);
    const setupNs = [];
    for (const [stream, lane] of this.#lanes.entries()) {
      const slow = setTimeout(() => this.#lab.failed(`lane ${stream}: no echo of the hello`), HELLO_TIMEOUT_MS);
      const begunNs = nowNs();
      setupNs.push((await this.#open(lane, port)) - begunNs);
      clearTimeout(slow);
    }
    this.#lab.connected(setupNs);
  }

  /** Resolves to the time at which the echo of the hello arrived. */
  #open(lane, port) {
    return new Promise((resolve, reject) => {
      let up = false;
      const receive = (message, receivedNs) => {
        if (up) return lane.take(message, receivedNs);
        up = true;
        if (this.#hello.equals(message)) resolve(receivedNs);
        else reject(new Error("the echo of the hello is wrong"));
      };
      this.#dial(this.#setup, port, receive).then((write) => {
        lane.attach(write);
        write(this.#hello);
      }, reject);
    });
  }

  start(phase) {
    if (phase === "verify") {
      if (this.#params.transport === "udp") this.#timer = setInterval(() => this.#expire(), CHECK_MS);
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
    clearInterval(this.#timer);
    this.#pacer?.stop();
    this.#tasks.stop();
    const histograms = { latency: this.#latency.encode() };
    if (this.#schedule) {
      histograms.service = this.#service.encode();
      histograms.lateness = this.#lateness.encode();
    }
    this.#lab.result(this.#values(), histograms);
  }

  // Called by lanes.

  isHello(message) {
    return message[0] === ALL_ONES && this.#hello.equals(message);
  }

  /** Records the echo that a lane awaited. */
  record(lane, echo, sentNs, receivedNs) {
    if (lane.sequence < this.#params.verify_messages) {
      if (!lane.matches(echo)) throw new Error(`the echo of request ${lane.sequence} is wrong`);
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

  /** Continues with the next request of a lane that has none outstanding. */
  proceed(lane) {
    if (lane.sequence > this.#params.verify_messages) this.#request(lane);
    else this.#verify(lane);
  }

  /** Starts the verification of the next lane, if there is one. */
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

  /** Starts the lane's next request after verify. */
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

  #expire() {
    const beforeNs = nowNs() - this.#params.timeout_ms * MS_NS;
    for (const lane of this.#lanes) lane.giveUp(beforeNs);
  }

  #values() {
    const sums = totals(this.#lanes, ["requests", "messages", "lost", "late", "strange"]);
    return { ...sums, bytes: sums.messages * this.#params.message_bytes, task_runs: this.#tasks.runs };
  }
}
