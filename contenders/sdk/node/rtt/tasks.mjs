import { setTimeout as sleep } from "node:timers/promises";

const STEPS_PER_RUN = 100;
const REST_MS = 1;

/** The background tasks of a role, each of which is an asynchronous function. */
export class Tasks {
  runs = 0;
  #count;
  #stopped = false;

  constructor(count) {
    this.#count = count;
  }

  start() {
    for (let i = 0; i < this.#count; i++) this.#run(i + 1);
  }

  stop() {
    this.#stopped = true;
  }

  async #run(x) {
    while (!this.#stopped) {
      x = step(x);
      this.runs++;
      await sleep(REST_MS);
    }
  }
}

/** Performs one run. @param {number} x 32 bits, signed */
export function step(x) {
  for (let i = 0; i < STEPS_PER_RUN; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x;
}
