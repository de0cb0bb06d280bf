// The conversation with the lab: one JSON object a line, in on stdin, out on stdout.

export const PROTOCOL_VERSION = 1;
export const MAX_LINE_BYTES = 1 << 20;
export const EXIT_FAILED = 1;
export const EXIT_UNSUPPORTED = 127;
export const RUNTIME = `Node ${process.version}`;

const NEWLINE = 0x0a;
const PHASES = ["verify", "warmup", "measure"];

/** Each message that may follow `setup`, as the arguments of its handler; undefined if a field is wrong. */
const EVENTS = new Map([
  ["signal", ({ from, body }) => (typeof from === "string" ? [from, body] : undefined)],
  ["start", ({ phase }) => (PHASES.includes(phase) ? [phase] : undefined)],
  ["mark", ({ id }) => (Number.isSafeInteger(id) ? [id] : undefined)],
  ["stop", () => []],
]);

/** CLOCK_MONOTONIC, which is what hrtime reads on Linux. */
export const nowNs = () => Number(process.hrtime.bigint());

/**
 * Reads the first line. If it is a `setup` of this protocol, resolves to `{ lab, setup }`; if not, tells the lab,
 * exits, and never resolves. Streams and exit are arguments for the tests' sake.
 */
export async function connect({ input = process.stdin, output = process.stdout, exit = process.exit } = {}) {
  const lab = new Lab(input, output, exit);
  const setup = await lab.readSetup();
  return setup ? { lab, setup } : new Promise(() => {});
}

class Lab {
  #lines;
  #output;
  #exit;
  #ended = false;

  constructor(input, output, exit) {
    this.#lines = splitLines(input);
    this.#output = output;
    this.#exit = exit;
    output.on("error", () => exit(EXIT_FAILED)); // the lab is gone
  }

  /** The first message, or undefined after having failed. */
  async readSetup() {
    try {
      const { value: line, done } = await this.#lines.next();
      if (done) return void this.#end(EXIT_FAILED);
      const setup = parse(line);
      if (setup.type !== "setup") throw new Error(`expected setup, not ${JSON.stringify(setup.type)}`);
      if (setup.protocol !== PROTOCOL_VERSION) throw new Error(`protocol ${setup.protocol} is not known`);
      if (!Number.isSafeInteger(setup.seed) || setup.seed < 0) throw new Error("setup.seed is not within 53 bits");
      if (setup.params === null || typeof setup.params !== "object") throw new Error("setup.params is missing");
      return setup;
    } catch (error) {
      this.failed(error.message);
      return undefined;
    }
  }

  /**
   * Calls `signal(from, body)`, `start(phase)`, `mark(id)` and `stop()` of `handlers` as their messages come. What a
   * handler throws, or the promise that it returns rejects with, ends the contender as failed. An asynchronous
   * handler holds nothing up: the next message is handled meanwhile.
   */
  async listen(handlers) {
    try {
      for await (const line of this.#lines) {
        const message = parse(line);
        const args = EVENTS.get(message.type)?.(message);
        if (!args) throw new Error(`message not understood: ${line.slice(0, 200)}`);
        Promise.resolve(handlers[message.type](...args)).catch((error) => this.failed(error.message));
      }
      this.#end(EXIT_FAILED); // stdin closed without a stop
    } catch (error) {
      this.failed(error.message);
    }
  }

  ready(implementation) {
    this.#write({ type: "ready", implementation });
  }

  signal(to, body) {
    this.#write({ type: "signal", to, body });
  }

  /** @param {number[]} setupNs one duration a connection, in order */
  connected(setupNs) {
    this.#write({ type: "connected", setup_ns: setupNs });
  }

  /** To be called right after reading `values`: the clock is read here. */
  counters(id, values) {
    this.#write({ type: "counters", id, at_ns: nowNs(), values });
  }

  verified(digest, messages, bytes) {
    this.#write({ type: "verified", digest, messages, bytes });
  }

  /** The last message; the process exits 0 once it is written, whatever threads a native library still holds. */
  result(values, histograms = {}) {
    this.#write({ type: "result", values, histograms });
    this.#end(0);
  }

  unsupported(reason) {
    this.#write({ type: "unsupported", reason });
    this.#end(EXIT_UNSUPPORTED);
  }

  failed(reason) {
    this.#write({ type: "failed", reason: String(reason) });
    this.#end(EXIT_FAILED);
  }

  #write(message) {
    if (!this.#ended) this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #end(code) {
    if (this.#ended) return;
    this.#ended = true;
    this.#output.write("", () => this.#exit(code));
  }
}

function parse(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    throw new Error(`a line is not JSON: ${line.slice(0, 200)}`);
  }
  if (message === null || typeof message !== "object") throw new Error("a line is not a JSON object");
  return message;
}

/** Lines as strings; a line that is not ended when the stream ends is dropped. */
async function* splitLines(input) {
  let parts = [];
  let length = 0;
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      checkLength(length + end - from);
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      length = 0;
      from = end + 1;
    }
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    checkLength(length);
  }
}

function checkLength(length) {
  if (length > MAX_LINE_BYTES) throw new Error(`a line is longer than ${MAX_LINE_BYTES} bytes`);
}
