// The role that echoes: what is counted of it.
import { nowNs } from "./clock.mjs";
import { Tasks } from "./tasks.mjs";

/** The handlers of the lab's messages are `signal`, `start`, `mark` and `stop`. */
export class Pong {
  #lab;
  #delayNs;
  #tasks;
  #messages = 0;
  #bytes = 0;

  /**
   * @param {(setup: object, pong: Pong) => Promise<number>} listen binds and resolves to the port; for each message it
   *   calls `delay`, calls `count`, and sends it back
   */
  constructor(lab, setup, listen) {
    this.#lab = lab;
    this.#delayNs = setup.params.echo_delay_ns;
    this.#tasks = new Tasks(setup.params.tasks);
    listen(setup, this).then(
      (port) => {
        lab.signal("ping", { port });
        lab.connected([]);
      },
      (error) => lab.failed(error.message),
    );
  }

  /** Called between receiving a message and sending it back. */
  delay() {
    if (this.#delayNs === 0) return;
    const endNs = nowNs() + this.#delayNs;
    while (nowNs() < endNs);
  }

  /** Counts a message, right before it is sent back: so ping never has more echoes than are counted. */
  count(bytes) {
    this.#messages++;
    this.#bytes += bytes;
  }

  signal(from) {
    throw new Error(`a signal from ${from}`);
  }

  start(phase) {
    if (phase === "warmup") this.#tasks.start();
  }

  mark(id) {
    this.#lab.counters(id, this.#values());
  }

  stop() {
    this.#tasks.stop();
    this.#lab.result(this.#values());
  }

  #values() {
    return { messages: this.#messages, bytes: this.#bytes, task_runs: this.#tasks.runs };
  }
}
