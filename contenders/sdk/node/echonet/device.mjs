// The role that is read: it counts nothing.

/** The handlers of the lab's messages are `signal`, `start`, `mark` and `stop`. */
export class Device {
  #lab;

  /** @param {() => Promise<void>} start resolves once the node answers */
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
    throw new Error(`a signal from ${from}`);
  }

  start() {}

  mark(id) {
    this.#lab.counters(id, {});
  }

  stop() {
    this.#lab.result({});
  }
}
