const SECOND_NS = 1_000_000_000;

/** The schedule of all lanes: request n is due floor(n * 10^9 / rate) ns after the first. */
export class Schedule {
  /** @param {number} rate requests per second, not 0 */
  constructor(rate, lanes) {
    this.rate = rate;
    this.lanes = lanes;
  }

  /** The number, over all lanes, of request `k` of a lane. */
  number(lane, k) {
    return k * this.lanes + lane;
  }

  /** Whole seconds are computed separately, so that no product reaches 2^53. */
  dueNs(number) {
    const rest = number % this.rate;
    return ((number - rest) / this.rate) * SECOND_NS + Math.floor((rest * SECOND_NS) / this.rate);
  }
}
