// Whether a setup is for a contender of this workload.
import { beginUnless, outOfRange } from "../begin.mjs";

const RANGES = [
  ["outstanding", 1, 128],
  ["timeout_ms", 100, 60_000],
];

/** Connects and says `ready`, as `beginUnless` does. */
export const begin = (implementation) => beginUnless(refusal, implementation);

/** Why this setup is not for us, if so. */
export function refusal({ workload, role, params }) {
  if (workload !== "echonet") return `no workload ${workload}`;
  if (role !== "controller" && role !== "device") return `no role ${role}`;
  return outOfRange(params, RANGES);
}
