/** A range of addresses, and which of them are taken, in; a free one out. */
import { createHash } from "node:crypto";
import { formatIp, parseIp, parsePrefix } from "../../lib/index.ts";

export interface AddressPool {
  contains(address: string): boolean;
  /** The first free one from where the seed points; undefined when every address is taken. */
  pick(seed: string, isTaken: (address: string) => boolean): string | undefined;
}

/** Choosing by hash gives the same addresses to a mesh that is set up anew, and one that was given up is not soon another's. */
export function createAddressPool(range: string): AddressPool {
  const prefix = parsePrefix(range);
  if ("error" in prefix) throw new Error(prefix.error);
  const length = prefix.address.length;
  const base = toNumber(prefix.address);
  const end = base + (1n << BigInt(length * 8 - prefix.bits));
  // The network's own address is none; more than a /16 is never needed, and short addresses read better.
  const size = [end - base - 1n, 65_535n].reduce((a, b) => (a < b ? a : b));
  return {
    contains(address) {
      const bytes = parseIp(address);
      if (bytes?.length !== length) return false;
      const value = toNumber(bytes);
      return value >= base && value < end;
    },
    pick(seed, isTaken) {
      const start = BigInt(createHash("sha256").update(seed).digest().readUInt32BE(0));
      for (let step = 0n; step < size; step++) {
        const address = formatIp(toBytes(base + 1n + ((start + step) % size), length));
        if (!isTaken(address)) return address;
      }
      return undefined;
    },
  };
}

function toNumber(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function toBytes(value: bigint, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = length - 1, rest = value; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 0xffn);
  return bytes;
}
