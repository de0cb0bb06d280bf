/** Splits the chunks of a byte stream into messages of one length. */
export class Frames {
  #messageBytes;
  #take;
  #parts = [];
  #length = 0; // of the parts

  /**
   * @param {number} messageBytes
   * @param {(message: Buffer, receivedNs?: number) => void} take is called with each message and the time of its last chunk
   */
  constructor(messageBytes, take) {
    this.#messageBytes = messageBytes;
    this.#take = take;
  }

  push(chunk, receivedNs) {
    if (this.#length === 0 && chunk.length === this.#messageBytes) {
      this.#take(chunk, receivedNs); // the common case, without a copy
      return;
    }
    for (let from = 0; from < chunk.length; ) {
      const part = chunk.subarray(from, from + this.#messageBytes - this.#length);
      this.#parts.push(part);
      this.#length += part.length;
      from += part.length;
      if (this.#length === this.#messageBytes) this.#take(this.#join(), receivedNs);
    }
  }

  #join() {
    const message = Buffer.concat(this.#parts, this.#length);
    this.#parts = [];
    this.#length = 0;
    return message;
  }
}
