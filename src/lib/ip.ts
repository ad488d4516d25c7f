/** IP addresses and prefixes as Go's netip reads them: text in, bytes (or the error netip words) out. */
import { isIPv4, isIPv6 } from "node:net";

export interface Prefix {
  readonly family: 4 | 6;
  readonly address: Uint8Array;
  readonly bits: number;
}

/** 4 or 16 bytes, undefined for anything else; zones (`fe80::1%eth0`) are not addresses here. */
export function parseIp(text: string): Uint8Array | undefined {
  if (isIPv4(text)) return Uint8Array.from(text.split(".").map(Number));
  if (!isIPv6(text) || text.includes("%")) return undefined;
  return parseIpv6(text);
}

/** True for 127.0.0.0/8 and ::1, also as IPv4 inside IPv6. */
export function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}

/** Inverse of `parseIp`, IPv6 in the short form of RFC 5952. */
export function formatIp(address: Uint8Array): string {
  if (address.length === 4) return address.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((address[2 * i] ?? 0) << 8) | (address[2 * i + 1] ?? 0));
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) return `::ffff:${address.subarray(12).join(".")}`;
  const gap = longestZeroRun(groups);
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(":");
  if (gap.length < 2) return hex(groups);
  return `${hex(groups.slice(0, gap.start))}::${hex(groups.slice(gap.start + gap.length))}`;
}

/** `ADDRESS/BITS`, strictly: no leading zeros or sign in the length, no zone. */
export function parsePrefix(text: string): Prefix | { readonly error: string } {
  const fail = (why: string): { readonly error: string } => ({
    error: `netip.ParsePrefix(${JSON.stringify(text)}): ${why}`,
  });
  const slash = text.lastIndexOf("/");
  if (slash < 0) return fail("no '/'");
  const [host, length] = [text.slice(0, slash), text.slice(slash + 1)];
  const address = parseIp(host);
  if (address === undefined) {
    if (host.includes("%")) return fail("IPv6 zones cannot be present in a prefix");
    return fail(`ParseAddr(${JSON.stringify(host)}): unable to parse IP`);
  }
  if (!/^(0|[1-9]\d*)$/.test(length)) return fail(`bad bits after slash: ${JSON.stringify(length)}`);
  const family = address.length === 4 ? 4 : 6;
  const bits = Number(length);
  return bits > address.length * 8 ? fail("prefix length out of range") : { family, address, bits };
}

function parseIpv6(text: string): Uint8Array {
  const out = new Uint8Array(16);
  const [head = "", tail] = text.split("::");
  const front = groupBytes(head);
  out.set(front, 0);
  if (tail !== undefined) {
    const back = groupBytes(tail);
    out.set(back, 16 - back.length);
  }
  return out;
}

function groupBytes(part: string): readonly number[] {
  return part
    .split(":")
    .filter((group) => group !== "")
    .flatMap((group) => {
      if (group.includes(".")) return group.split(".").map(Number);
      const value = Number.parseInt(group, 16);
      return [value >> 8, value & 0xff];
    });
}

function longestZeroRun(groups: readonly number[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}
