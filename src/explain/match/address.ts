/** Ranges of addresses and an address in; whether it lies inside out. */
import type { CidrRange } from "../../gen/envoy/config/core/v3/address_pb.js";
import { parseIp } from "../../lib/index.ts";

export function inRange({ addressPrefix, prefixLen }: CidrRange, address: string): boolean {
  const [range, ip] = [parseIp(addressPrefix), parseIp(address)];
  if (!range || !ip || range.length !== ip.length) return false;
  const bits = prefixLen ?? 0;
  const whole = Math.floor(bits / 8);
  for (let i = 0; i < whole; i++) if (range[i] !== ip[i]) return false;
  const rest = bits % 8;
  return rest === 0 || (range[whole] ?? 0) >> (8 - rest) === (ip[whole] ?? 0) >> (8 - rest);
}

/** Length of the longest range that has the address; undefined where none has. */
export function longestRange(ranges: readonly CidrRange[], address: string): number | undefined {
  const found = ranges.filter((range) => inRange(range, address)).map(({ prefixLen }) => prefixLen ?? 0);
  return found.length === 0 ? undefined : Math.max(...found);
}

export const showRange = ({ addressPrefix, prefixLen }: CidrRange): string => `${addressPrefix}/${prefixLen ?? 0}`;
