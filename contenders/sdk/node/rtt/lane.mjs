import { fill } from "../payload.mjs";
import { nowNs } from "./clock.mjs";

const TWO_32 = 2 ** 32;

/** One socket of ping, and the request that is under way on it. */
export class Lane {
  requests = 0;
  messages = 0;
  lost = 0;
  late = 0;
  strange = 0;

  // What Pacer uses: the next request's number over all lanes, when it is due, and whether the pacer has it.
  number = 0;
  dueNs = 0;
  waits = false;

  sequence = 0; // of the request under way, or else of the next
  stream;
  #underWay = false;
  #sentNs = 0;
  #ping;
  #request;
  #write; // the contender's

  constructor(ping, stream, messageBytes) {
    this.#ping = ping;
    this.stream = stream;
    this.#request = Buffer.alloc(messageBytes);
  }

  /** @param {(message: Buffer) => void} write */
  attach(write) {
    this.#write = write;
  }

  /** Makes the next request one of the verify phase. */
  prepareVerify(seed) {
    fill(this.#request, seed, this.stream, this.sequence);
  }

  /** Makes the next request: a fresh header. */
  prepare() {
    this.#request.writeUInt32BE(Math.floor(this.sequence / TWO_32), 0);
    this.#request.writeUInt32BE(this.sequence % TWO_32, 4);
    this.#request.writeUInt32BE(this.stream, 8);
  }

  /** @param {number} now a reading of the clock just taken */
  send(now = nowNs()) {
    this.#sentNs = now;
    this.#write(this.#request);
    this.#underWay = true;
    this.requests++;
  }

  /** Judges what the lane has received. */
  take(echo, receivedNs) {
    const kind = this.#judge(echo);
    if (kind === "hello") return; // is in no counter
    if (kind !== "awaited") {
      this[kind]++;
      return;
    }
    this.#underWay = false;
    this.messages++;
    this.#ping.took(this, echo, this.#sentNs, receivedNs);
    this.sequence++;
    this.#ping.goOn(this);
  }

  #judge(echo) {
    if (echo.length !== this.#request.length) return "strange";
    if (this.#ping.isHello(echo)) return "hello";
    const sequence = echo.readUInt32BE(0) * TWO_32 + echo.readUInt32BE(4);
    if (echo.readUInt32BE(8) !== this.stream || echo.readUInt32BE(12) !== 0) return "strange";
    if (sequence < this.sequence) return "late";
    return sequence === this.sequence && this.#underWay ? "awaited" : "strange";
  }

  /** Whether every byte is as it was sent. */
  matches(echo) {
    return this.#request.equals(echo);
  }

  /** Gives the request up if it has been under way since before that time. */
  giveUp(beforeNs) {
    if (!this.#underWay || this.#sentNs > beforeNs) return;
    this.#underWay = false;
    this.lost++;
    this.sequence++;
    this.#ping.goOn(this);
  }
}
