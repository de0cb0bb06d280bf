// Checks the setup of a contender of this workload.
import { beginUnless, outOfRange } from "../begin.mjs";
import { HEADER_BYTES } from "../payload.mjs";

const CHOICES = [
  ["transport", ["udp", "tcp"]],
  ["pacing", ["spin", "timer"]],
];
const RANGES = [
  ["message_bytes", HEADER_BYTES, 60_000],
  ["rate", 0, 1_000_000],
  ["outstanding", 1, 1_000],
  ["tasks", 0, 10_000],
  ["echo_delay_ns", 0, 1_000_000],
  ["timeout_ms", 100, 60_000],
  ["verify_messages", 1, 100_000],
];

/** Connects and prints `ready`, like `beginUnless`. */
export const begin = (implementation) => beginUnless(refusal, implementation);

/** Returns the reason why a setup is unsupported, if any. */
export function refusal({ workload, role, params }) {
  if (workload !== "rtt") return `unsupported workload ${workload}`;
  if (role !== "ping" && role !== "pong") return `unsupported role ${role}`;
  for (const [name, choices] of CHOICES) {
    if (!choices.includes(params[name])) return `${name} ${params[name]} is not one of ${choices.join(", ")}`;
  }
  return outOfRange(params, RANGES);
}
