// The twelve reads and the checks of their values. Values are buffers; objects and properties are lower-case hex digits.
import { fill } from "../payload.mjs";

export const NODE_PROFILE = "0ef001";
export const LIGHTING = "029101";
export const MANUFACTURER_CODE = [0x00, 0x00, 0x0b];

const PAYLOAD_BYTES = 13; // at the end of the identification number
const IDENTIFICATION_BYTES = 17;
const MAX_LISTED_CODES = 15;
const BITMAP_BYTES = 17;
const FIRST_CODE = 0x80;
// In every map of readable properties; several libraries lose others.
const READABLE_CODES = [0x80, 0x82, 0x83, 0x8a, 0x9d, 0x9e, 0x9f];

const MAPS = ["9d", "9e", "9f"];
const LENGTHS = new Map([["82", 4], ["8a", 3]]);
// Several libraries count the node profile as a class, which the contract tolerates.
const EXACT = new Map([
  ["80", ["30"]],
  ["d3", ["000001"]],
  ["d4", ["0002"]],
  ["d6", ["01029101"]],
  ["d7", ["010291", "0202910ef0", "020ef00291"]],
]);

const OF_NODE = ["80", "82", "83", "8a", "9d", "9e", "9f", "d3", "d4", "d6", "d7"];

/** The reads of a round, in order: [object, property]. */
export const READS = [...OF_NODE.map((epc) => [NODE_PROFILE, epc]), [LIGHTING, "80"]];

/** The index of the read whose value ends with the payload. */
export const IDENTIFICATION = OF_NODE.indexOf("83");

export function payload(seed) {
  const message = Buffer.alloc(PAYLOAD_BYTES);
  fill(message, seed, 0, 0);
  return message;
}

/** Returns the payload at the end of an identification number. */
export const payloadOf = (value) => value.subarray(value.length - PAYLOAD_BYTES);

/** The value of the node profile's identification number. */
export const identification = (seed) => Buffer.from([0xfe, ...MANUFACTURER_CODE, ...payload(seed)]);

/** Throws an error if a value is wrong. */
export function check(read, value, seed) {
  const [, epc] = read;
  const wanted = wantedOf(epc, value, seed);
  if (wanted) throw new Error(`${nameOf(read)}: ${value.toString("hex")}, not ${wanted}`);
}

export const nameOf = ([object, epc]) => `object ${object}, property ${epc}`;

/** Whether two values are equal. The order of the codes in a map is ignored. */
export function isSame([, epc], value, other) {
  if (value.equals(other)) return true;
  const codes = MAPS.includes(epc) && value.length === other.length ? mapCodes(value) : undefined;
  return codes !== undefined && codes.sort().join() === mapCodes(other).sort().join();
}

/** Describes the expected value; undefined if the value is right. */
function wantedOf(epc, value, seed) {
  const exact = EXACT.get(epc);
  if (exact) return exact.includes(value.toString("hex")) ? undefined : exact[0];
  const length = LENGTHS.get(epc);
  if (length) return value.length === length ? undefined : `${length} bytes`;
  if (epc === "83") {
    const end = payload(seed);
    const good = value.length === IDENTIFICATION_BYTES && value[0] === 0xfe && payloadOf(value).equals(end);
    return good ? undefined : `fe, three bytes, ${end.toString("hex")}`;
  }
  const codes = mapCodes(value);
  if (!codes) return "a property map";
  const missing = epc === "9f" ? READABLE_CODES.find((code) => !codes.includes(code)) : undefined;
  return missing === undefined ? undefined : `a property map with ${missing.toString(16)}`;
}

/** Returns the codes of a property map in either form; undefined if it is not a map. */
export function mapCodes(value) {
  if (value.length === 0) return undefined;
  const list = [...value.subarray(1)];
  if (value[0] <= MAX_LISTED_CODES) {
    return list.length === value[0] && list.every((code) => code >= FIRST_CODE) ? list : undefined;
  }
  if (value.length !== BITMAP_BYTES) return undefined;
  return list.flatMap((bits, i) => [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (bits >> bit) & 1).map((bit) => FIRST_CODE + 16 * bit + i));
}
