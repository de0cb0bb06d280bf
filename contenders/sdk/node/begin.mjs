// The first lines of a conversation, for a workload: who this process is, and whether it can be that.
import { connect, RUNTIME } from "./contender.mjs";

const SECONDS = [0.2, 3_600];

/**
 * Connects and says `ready`. Where the setup is not for us it says so, ends the process, and never resolves; what nobody
 * catches later on ends it as failed.
 * @param {{name: string, version: string, language: string}} implementation
 * @param {(setup: object) => string | undefined} refusal why a setup is not for us, if so
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

/** What of the parameters is out of its range, if anything: `seconds`, or one of `ranges`, which are [name, least, greatest]. */
export function outOfRange(params, ranges) {
  for (const [name, min, max] of ranges) {
    const value = params[name];
    if (!Number.isSafeInteger(value) || value < min || value > max) return `${name} ${value} is not ${min}..${max}`;
  }
  const { seconds } = params;
  if (!(seconds >= SECONDS[0] && seconds <= SECONDS[1])) return `seconds ${seconds} is not ${SECONDS.join("..")}`;
  return undefined;
}
