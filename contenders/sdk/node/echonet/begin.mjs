// The first lines of a conversation: who this process is, and whether it can be that.
import { connect, RUNTIME } from "../contender.mjs";

const RANGES = [
  ["outstanding", 1, 128],
  ["timeout_ms", 100, 60_000],
];
const SECONDS = [0.2, 3_600];

/**
 * Connects and says `ready`. Where the setup is not for us it says so, ends the process, and never resolves; what nobody
 * catches later on ends it as failed.
 * @param {{name: string, version: string, language: string}} implementation
 */
export async function begin(implementation) {
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

/** Why this setup is not for us, if so. */
export function refusal({ workload, role, params }) {
  if (workload !== "echonet") return `no workload ${workload}`;
  if (role !== "controller" && role !== "device") return `no role ${role}`;
  for (const [name, min, max] of RANGES) {
    const value = params[name];
    if (!Number.isSafeInteger(value) || value < min || value > max) return `${name} ${value} is not ${min}..${max}`;
  }
  const { seconds } = params;
  if (!(seconds >= SECONDS[0] && seconds <= SECONDS[1])) return `seconds ${seconds} is not ${SECONDS.join("..")}`;
  return undefined;
}
