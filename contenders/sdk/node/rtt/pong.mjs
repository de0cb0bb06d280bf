// The role that returns messages: its counters.
import { nowNs } from "./clock.mjs";
import { Tasks } from "./tasks.mjs";

/** `signal`, `start`, `mark` and `stop` are the handlers of the lab's messages. */
export class Pong {
  #lab;
  #delayNs;
  #tasks;
  #messages = 0;
  #bytes = 0;

  /**
   * @param {(setup: object, pong: Pong) => Promise<number>} listen binds and resolves to the port; for each message it
   *   calls `delay`, calls `count`, and returns the message
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

  /** Applies the artificial delay. Called between receiving a message and returning it. */
  delay() {
    if (this.#delayNs === 0) return;
    const endNs = nowNs() + this.#delayNs;
    while (nowNs() < endNs);
  }

  /** Counts a message. Called right before returning it, so that ping never receives an uncounted echo. */
  count(bytes) {
    this.#messages++;
    this.#bytes += bytes;
  }

  signal(from) {
    throw new Error(`unexpected signal from ${from}`);
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
