import { nowNs } from "./clock.mjs";

const MS_NS = 1_000_000;

/**
 * Sends the requests of the open loop when they are due. Lanes register when they become free. Requests are due in the order of
 * their numbers, so one position in that order suffices for all lanes.
 */
export class Pacer {
  #lanes;
  #sleeps;
  #waiting = 0; // lanes
  #next = 0; // no waiting lane has a lower number
  #timer = undefined;
  #turn = undefined;
  #run = () => this.#sendDue();

  /** @param {boolean} sleeps by a timer; otherwise it polls in every iteration of the event loop */
  constructor(lanes, sleeps) {
    this.#lanes = lanes;
    this.#sleeps = sleeps;
  }

  /** Registers a lane without an outstanding request: its request `number` is sent at `dueNs`, or now if that is past. */
  free(lane) {
    const now = nowNs();
    if (lane.dueNs <= now) {
      lane.send(now);
      return;
    }
    const first = this.#waiting === 0 || lane.number < this.#next;
    if (first) this.#next = lane.number;
    this.#waiting++;
    lane.waits = true;
    if (first) this.#await(lane, now);
  }

  /** Schedules a wake-up for the lane that is due first. */
  #await(lane, now) {
    if (this.#sleeps) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#run, Math.ceil((lane.dueNs - now) / MS_NS));
    } else {
      this.#turn ??= setImmediate(this.#run);
    }
  }

  stop() {
    clearTimeout(this.#timer);
    clearImmediate(this.#turn);
  }

  #sendDue() {
    this.#turn = undefined;
    let now = nowNs();
    while (this.#waiting > 0) {
      const lane = this.#lanes[this.#next % this.#lanes.length];
      if (lane.waits && lane.number === this.#next) {
        if (lane.dueNs > now) {
          this.#await(lane, now);
          return;
        }
        lane.waits = false;
        this.#waiting--;
        lane.send(now);
        now = nowNs();
      }
      this.#next++; // a lane with an outstanding request sends its own
    }
  }
}
