// Checks the setup of a contender of this workload.
import { beginUnless, outOfRange } from "../begin.mjs";

const RANGES = [
  ["outstanding", 1, 128],
  ["timeout_ms", 100, 60_000],
];

/** Connects and prints `ready`, like `beginUnless`. */
export const begin = (implementation) => beginUnless(refusal, implementation);

/** Returns the reason why a setup is unsupported, if any. */
export function refusal({ workload, role, params }) {
  if (workload !== "echonet") return `unsupported workload ${workload}`;
  if (role !== "controller" && role !== "device") return `unsupported role ${role}`;
  return outOfRange(params, RANGES);
}
