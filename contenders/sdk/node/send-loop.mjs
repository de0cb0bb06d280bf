// Sends on many W3C data channels as fast as their flow control allows, without starving the event loop.
import { fill, writeHeader } from "./payload.mjs";

/** Maximum duration of an iteration, which delays marks by about this time. */
const TURN_MS = 5;
/** Maximum number of consecutive messages of a channel before the next channel sends. */
const BURST_MESSAGES = 32;
/** Interval of polling a full channel if the library has no `bufferedamountlow`. */
const POLL_MS = 1;

/** The sending side of one channel. */
export class Sender {
  messages = 0;
  #buffer;
  #plan;

  /**
   * `keepsBuffer`: the library keeps a reference to a message until it is acknowledged, so every message needs its own
   * buffer. The W3C API copies messages.
   * @param {{seed: number, messageBytes: number, verifyMessages: number, keepsBuffer: boolean}} plan
   */
  constructor(channel, stream, plan) {
    this.channel = channel;
    this.stream = stream;
    this.#plan = plan;
    this.#buffer = new Uint8Array(plan.messageBytes);
  }

  get bytes() {
    return this.messages * this.#plan.messageBytes;
  }

  sendNext() {
    const { seed, verifyMessages, keepsBuffer } = this.#plan;
    if (this.messages < verifyMessages) fill(this.#buffer, seed, this.stream, this.messages);
    else writeHeader(this.#buffer, this.stream, this.messages);
    this.channel.send(keepsBuffer ? Buffer.from(this.#buffer) : this.#buffer);
    this.messages++;
  }
}

/** Each sender is idle (it has reached its limit), ready, or full (its channel is above the low-water mark). */
export class SendLoop {
  #idle;
  #ready = [];
  #full = new Set();
  #limit = 0;
  #highWater;
  #messageBytes;
  #scheduled = false;
  #stopped = false;
  #timer;

  constructor(senders, { highWaterBytes, messageBytes }) {
    this.#idle = senders;
    this.#highWater = highWaterBytes;
    this.#messageBytes = messageBytes;
  }

  /** Continues all senders until each has sent `limit` messages in total. */
  start(limit) {
    this.#limit = limit;
    this.#ready = this.#ready.concat(this.#idle);
    this.#idle = [];
    this.#schedule();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule() {
    if (this.#scheduled || this.#stopped || this.#ready.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#stopped) this.#turn();
    });
  }

  #turn() {
    const end = performance.now() + TURN_MS;
    do {
      const sender = this.#ready.shift();
      const room = this.#highWater - sender.channel.bufferedAmount;
      if (room <= 0) {
        this.#park(sender);
      } else {
        this.#burst(sender, room);
        (sender.messages < this.#limit ? this.#ready : this.#idle).push(sender);
      }
    } while (this.#ready.length > 0 && performance.now() < end);
    this.#schedule();
  }

  /** Sends until the buffered amount, as estimated without polling it, reaches the high-water mark. */
  #burst(sender, room) {
    const messages = Math.min(BURST_MESSAGES, Math.ceil(room / this.#messageBytes), this.#limit - sender.messages);
    for (let sent = 0; sent < messages; sent++) sender.sendNext();
  }

  #park(sender) {
    this.#full.add(sender);
    if (!("bufferedAmountLowThreshold" in sender.channel)) {
      this.#timer ??= setTimeout(() => this.#poll(), POLL_MS);
      return;
    }
    sender.channel.bufferedAmountLowThreshold = this.#lowWater;
    sender.channel.addEventListener("bufferedamountlow", () => this.#resume(sender), { once: true });
  }

  #poll() {
    this.#timer = undefined;
    for (const sender of this.#full) {
      if (sender.channel.bufferedAmount <= this.#lowWater) this.#resume(sender);
    }
    if (this.#full.size > 0) this.#timer = setTimeout(() => this.#poll(), POLL_MS);
  }

  #resume(sender) {
    this.#full.delete(sender);
    this.#ready.push(sender);
    this.#schedule();
  }

  get #lowWater() {
    return this.#highWater / 2;
  }
}
