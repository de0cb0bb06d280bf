// An HDR histogram from 1 to 60 * 10^9 with three significant digits, and its V2 compressed encoding. It only records and
// encodes. https://github.com/HdrHistogram/HdrHistogram is the reference of both layouts.
import { deflateSync } from "node:zlib";

const SIGNIFICANT_DIGITS = 3;
const LOWEST = 1;
export const HIGHEST = 60_000_000_000;

// Bucket 0 has 2048 counts of width 1. Each further bucket has 1024 counts, twice as wide as those of the one before.
const SUB_BUCKETS = 2048;
const HALF_BUCKETS = SUB_BUCKETS / 2;
const HALF_MAGNITUDE = 10;
const BUCKETS = Math.floor(Math.log2(HIGHEST)) - HALF_MAGNITUDE + 1;
const WIDTHS = Array.from({ length: BUCKETS }, (_, bucket) => 2 ** bucket);
const TWO_32 = 2 ** 32;

const COOKIE_V2 = 0x1c849303 | 0x10; // the counts are of variable length
const COOKIE_V2_COMPRESSED = 0x1c849304 | 0x10;
const HEADER_BYTES = 40;
const MAX_COUNT_BYTES = 8; // of the variable length of an integer below 2^54

export class Histogram {
  #counts = new Float64Array((BUCKETS + 1) * HALF_BUCKETS);

  /** @param {number} value an integer; values out of range count as the nearest bound */
  record(value) {
    this.#counts[indexOf(Math.min(Math.max(value, LOWEST), HIGHEST))]++;
  }

  /** The V2 compressed encoding, in base64. */
  encode() {
    const length = this.#counts.findLastIndex((count) => count > 0) + 1;
    const bytes = Buffer.alloc(HEADER_BYTES + length * MAX_COUNT_BYTES);
    const end = writeCounts(bytes, HEADER_BYTES, this.#counts.subarray(0, length));
    bytes.writeInt32BE(COOKIE_V2, 0);
    bytes.writeInt32BE(end - HEADER_BYTES, 4);
    bytes.writeInt32BE(0, 8); // normalizing index offset
    bytes.writeInt32BE(SIGNIFICANT_DIGITS, 12);
    bytes.writeBigInt64BE(BigInt(LOWEST), 16);
    bytes.writeBigInt64BE(BigInt(HIGHEST), 24);
    bytes.writeDoubleBE(1, 32); // integer to double conversion ratio
    const compressed = deflateSync(bytes.subarray(0, end));
    const head = Buffer.alloc(8);
    head.writeInt32BE(COOKIE_V2_COMPRESSED, 0);
    head.writeInt32BE(compressed.length, 4);
    return Buffer.concat([head, compressed]).toString("base64");
  }
}

/** Returns the index of a value's count. */
export function indexOf(value) {
  if (value < SUB_BUCKETS) return value;
  const magnitude = value < TWO_32 ? 31 - Math.clz32(value) : 63 - Math.clz32(value / TWO_32);
  const bucket = magnitude - HALF_MAGNITUDE;
  return bucket * HALF_BUCKETS + Math.floor(value / WIDTHS[bucket]);
}

/** Writes each count as a variable-length zigzag integer, and a run of zeros as its negative length. Returns the end. */
function writeCounts(bytes, at, counts) {
  for (let i = 0; i < counts.length; ) {
    if (counts[i] > 0) {
      at = writeInteger(bytes, at, counts[i++] * 2);
      continue;
    }
    const from = i;
    while (counts[i] === 0) i++; // the last count is not 0
    at = writeInteger(bytes, at, (i - from) * 2 - 1);
  }
  return at;
}

/** LEB128, by division, since shifts end at 32 bits. */
function writeInteger(bytes, at, value) {
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes[at++] = 0x80 + (value % 0x80);
  bytes[at++] = value;
  return at;
}
