import { fill } from "../payload.mjs";
import { nowNs } from "./clock.mjs";

const TWO_32 = 2 ** 32;

/** One socket of ping and its outstanding request. */
export class Lane {
  requests = 0;
  messages = 0;
  lost = 0;
  late = 0;
  strange = 0;

  // State of Pacer: the number of the next request over all lanes, when it is due, and whether the lane waits in the pacer.
  number = 0;
  dueNs = 0;
  waits = false;

  sequence = 0; // of the outstanding request, or else of the next
  stream;
  #outstanding = false;
  #sentNs = 0;
  #ping;
  #request;
  #write; // the contender's function that sends

  constructor(ping, stream, messageBytes) {
    this.#ping = ping;
    this.stream = stream;
    this.#request = Buffer.alloc(messageBytes);
  }

  /** @param {(message: Buffer) => void} write */
  attach(write) {
    this.#write = write;
  }

  /** Prepares the next request as one of the verify phase. */
  prepareVerify(seed) {
    fill(this.#request, seed, this.stream, this.sequence);
  }

  /** Prepares the next request with a new header. */
  prepare() {
    this.#request.writeUInt32BE(Math.floor(this.sequence / TWO_32), 0);
    this.#request.writeUInt32BE(this.sequence % TWO_32, 4);
    this.#request.writeUInt32BE(this.stream, 8);
  }

  /** @param {number} now the current time */
  send(now = nowNs()) {
    this.#sentNs = now;
    this.#write(this.#request);
    this.#outstanding = true;
    this.requests++;
  }

  /** Classifies a received message. */
  take(echo, receivedNs) {
    const kind = this.#judge(echo);
    if (kind === "hello") return; // not counted
    if (kind !== "awaited") {
      this[kind]++;
      return;
    }
    this.#outstanding = false;
    this.messages++;
    this.#ping.record(this, echo, this.#sentNs, receivedNs);
    this.sequence++;
    this.#ping.proceed(this);
  }

  #judge(echo) {
    if (echo.length !== this.#request.length) return "strange";
    if (this.#ping.isHello(echo)) return "hello";
    const sequence = echo.readUInt32BE(0) * TWO_32 + echo.readUInt32BE(4);
    if (echo.readUInt32BE(8) !== this.stream || echo.readUInt32BE(12) !== 0) return "strange";
    if (sequence < this.sequence) return "late";
    return sequence === this.sequence && this.#outstanding ? "awaited" : "strange";
  }

  /** Whether every byte of an echo equals the request. */
  matches(echo) {
    return this.#request.equals(echo);
  }

  /** Declares the request lost if it was sent before that time. */
  giveUp(beforeNs) {
    if (!this.#outstanding || this.#sentNs > beforeNs) return;
    this.#outstanding = false;
    this.lost++;
    this.sequence++;
    this.#ping.proceed(this);
  }
}
