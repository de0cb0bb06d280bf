// The start of a contender: reads the setup and checks whether it is supported.
import { connect, RUNTIME } from "./contender.mjs";

const SECONDS = [0.2, 3_600];

/**
 * Connects and prints `ready`. An unsupported setup prints `unsupported`, ends the process, and never resolves. From then on,
 * an uncaught exception prints `failed`.
 * @param {{name: string, version: string, language: string}} implementation
 * @param {(setup: object) => string | undefined} refusal returns the reason why a setup is unsupported
 */
export async function beginUnless(refusal, implementation) {
  const { lab, setup } = await connect();
  process.on("uncaughtException", (error) => {
    console.error(error);
    lab.failed(error?.message ?? error);
  });
  const reason = refusal(setup);
  if (reason) {
    lab.unsupported(reason);
    return new Promise(() => {});
  }
  lab.ready({ ...implementation, runtime: RUNTIME });
  return { lab, setup };
}

/** Describes a parameter that is out of range, if any: `seconds`, or one of `ranges`, which are [name, minimum, maximum]. */
export function outOfRange(params, ranges) {
  for (const [name, min, max] of ranges) {
    const value = params[name];
    if (!Number.isSafeInteger(value) || value < min || value > max) return `${name} ${value} is not ${min}..${max}`;
  }
  const { seconds } = params;
  if (!(seconds >= SECONDS[0] && seconds <= SECONDS[1])) return `seconds ${seconds} is not ${SECONDS.join("..")}`;
  return undefined;
}
