// The role that answers reads. It has no counters.

/** `signal`, `start`, `mark` and `stop` are the handlers of the lab's messages. */
export class Device {
  #lab;

  /** @param {() => Promise<void>} start resolves when the node answers */
  constructor(lab, start) {
    this.#lab = lab;
    start().then(
      () => {
        lab.signal("controller", { ready: true });
        lab.connected([]);
      },
      (error) => lab.failed(error.message),
    );
  }

  signal(from) {
    throw new Error(`unexpected signal from ${from}`);
  }

  start() {}

  mark(id) {
    this.#lab.counters(id, {});
  }

  stop() {
    this.#lab.result({});
  }
}
