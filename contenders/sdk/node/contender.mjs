// The contender protocol: one JSON object per line, on stdin from the lab and on stdout to it.

export const PROTOCOL_VERSION = 1;
export const MAX_LINE_BYTES = 1 << 20;
export const EXIT_FAILED = 1;
export const EXIT_UNSUPPORTED = 127;
export const RUNTIME = `Node ${process.version}`;

const NEWLINE = 0x0a;
const PHASES = ["verify", "warmup", "measure"];

/** For each message that may follow `setup`: a function that returns the arguments of its handler, or undefined if a field is wrong. */
const EVENTS = new Map([
  ["signal", ({ from, body }) => (typeof from === "string" ? [from, body] : undefined)],
  ["start", ({ phase }) => (PHASES.includes(phase) ? [phase] : undefined)],
  ["mark", ({ id }) => (Number.isSafeInteger(id) ? [id] : undefined)],
  ["stop", () => []],
]);

/** CLOCK_MONOTONIC, which hrtime reads on Linux. */
export const nowNs = () => Number(process.hrtime.bigint());

/**
 * Reads the first line. If it is a `setup` of this protocol, resolves to `{ lab, setup }`. Otherwise, reports an error to the
 * lab, exits, and never resolves. Streams and exit are arguments for tests.
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
    output.on("error", () => exit(EXIT_FAILED)); // the lab has ended
  }

  /** Returns the setup, or undefined after a failure. */
  async readSetup() {
    try {
      const { value: line, done } = await this.#lines.next();
      if (done) return void this.#end(EXIT_FAILED);
      const setup = parse(line);
      if (setup.type !== "setup") throw new Error(`expected setup, not ${JSON.stringify(setup.type)}`);
      if (setup.protocol !== PROTOCOL_VERSION) throw new Error(`protocol ${setup.protocol} is not supported`);
      if (!Number.isSafeInteger(setup.seed) || setup.seed < 0) throw new Error("setup.seed exceeds 53 bits");
      if (setup.params === null || typeof setup.params !== "object") throw new Error("setup.params is missing");
      return setup;
    } catch (error) {
      this.failed(error.message);
      return undefined;
    }
  }

  /**
   * Calls `signal(from, body)`, `start(phase)`, `mark(id)` and `stop()` of `handlers` when their messages arrive. An exception
   * of a handler, or a rejection of its promise, ends the contender with `failed`. Asynchronous handlers are not awaited: the
   * next message is handled meanwhile.
   */
  async listen(handlers) {
    try {
      for await (const line of this.#lines) {
        const message = parse(line);
        const args = EVENTS.get(message.type)?.(message);
        if (!args) throw new Error(`invalid message: ${line.slice(0, 200)}`);
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

  /** @param {number[]} setupNs one duration per connection, in order */
  connected(setupNs) {
    this.#write({ type: "connected", setup_ns: setupNs });
  }

  /** Answers a mark. Call it right after reading `values`: the clock is read here. */
  counters(id, values) {
    this.#write({ type: "counters", id, at_ns: nowNs(), values });
  }

  verified(digest, messages, bytes) {
    this.#write({ type: "verified", digest, messages, bytes });
  }

  /** Sends the last message and exits with 0 when it is written, even if a native library still has threads. */
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
    throw new Error(`a line from the lab is not JSON: ${line.slice(0, 200)}`);
  }
  if (message === null || typeof message !== "object") throw new Error("a line from the lab is not a JSON object");
  return message;
}

/** Yields lines as strings. An incomplete last line is dropped. */
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
  if (length > MAX_LINE_BYTES) throw new Error(`a line from the lab is longer than ${MAX_LINE_BYTES} bytes`);
}
