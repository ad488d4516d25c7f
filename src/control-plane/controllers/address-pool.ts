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
  const size = Number([end - base - 1n, 65_535n].reduce((a, b) => (a < b ? a : b)));
  /** Those that were looked at: where few are left, nearly all are looked at for each that is picked. */
  const known: string[] = [];
  const addressAt = (place: number): string => {
    const address = known[place] ?? formatIp(plus(prefix.address, place + 1));
    known[place] = address;
    return address;
  };
  return {
    contains(address) {
      const bytes = parseIp(address);
      if (bytes?.length !== length) return false;
      const value = toNumber(bytes);
      return value >= base && value < end;
    },
    pick(seed, isTaken) {
      const start = createHash("sha256").update(seed).digest().readUInt32BE(0);
      for (let step = 0; step < size; step++) {
        const address = addressAt((start + step) % size);
        if (!isTaken(address)) return address;
      }
      return undefined;
    },
  };
}

function toNumber(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function plus(address: Uint8Array, more: number): Uint8Array {
  const bytes = address.slice();
  for (let i = bytes.length - 1, rest = more; rest > 0 && i >= 0; i--) {
    rest += bytes[i] ?? 0;
    bytes[i] = rest & 0xff;
    rest >>= 8;
  }
  return bytes;
}
