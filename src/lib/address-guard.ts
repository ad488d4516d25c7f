/** An address that is about to be dialled in; why it must not be, if so, out. */
import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { FairleadError } from "./error.ts";
import { formatIp, type Prefix, parseIp, parsePrefix } from "./ip.ts";

/** R40: addresses that no outside text may make the control plane call. Private ranges are not among them: key servers live there. */
const always: readonly (readonly [range: string, what: string])[] = [
  ["169.254.0.0/16", "link-local, where clouds keep instance metadata"],
  ["fe80::/10", "link-local"],
  ["224.0.0.0/4", "multicast"],
  ["ff00::/8", "multicast"],
  ["0.0.0.0/8", "not an address of another host"],
  ["::/128", "not an address of another host"],
  ["100.100.100.200/32", "a cloud's metadata service"],
  ["fd00:ec2::/32", "a cloud's metadata service"],
  ["168.63.129.16/32", "a cloud's metadata service"],
  ["192.0.0.192/32", "a cloud's metadata service"],
  ["fd20:ce::254/128", "a cloud's metadata service"],
  ["fd00:c1::a9fe:a9fe/128", "a cloud's metadata service"],
  ["255.255.255.255/32", "broadcast"],
];

/**
 * IPv6 addresses behind which an IPv4 address is called, with the place of its bytes. NAT64 under a network's own prefix
 * looks like any address: who has that names it in the ranges to block.
 */
const coats: readonly (readonly [range: string, bytes: readonly number[]])[] = [
  ["::ffff:0:0/96", [12, 13, 14, 15]],
  // As the stateless translation of RFC 2765 writes it.
  ["::ffff:0:0:0/96", [12, 13, 14, 15]],
  ["::/96", [12, 13, 14, 15]],
  // NAT64, the well-known prefix and that of local networks, which has the address at any of two places.
  ["64:ff9b::/96", [12, 13, 14, 15]],
  ["64:ff9b:1::/48", [12, 13, 14, 15]],
  ["64:ff9b:1::/48", [6, 7, 9, 10]],
  // 6to4.
  ["2002::/16", [2, 3, 4, 5]],
];
const teredo = "2001::/32";

export type AddressGuard = (address: string) => string | undefined;

/** `more`: ranges that this installation blocks too. */
export function createAddressGuard(more: readonly string[] = []): AddressGuard {
  return guardOf([...always, ...more.map((range) => [range, "in a range that is blocked here"] as const)]);
}

/** This machine itself: a URL may say so in plain words, but no answer of somebody else may. */
const loopback = guardOf([
  ["127.0.0.0/8", "this machine itself"],
  ["::1/128", "this machine itself"],
]);

/** A host of a URL that is this machine by its own words. */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:.+\.)?localhost\.?$/i.test(host) || (isIP(host) !== 0 && loopback(host) !== undefined);

function guardOf(blocked: readonly (readonly [range: string, what: string])[]): AddressGuard {
  const ranges = blocked.map(([text, what]) => ({ prefix: readPrefix(text), what }));
  return (address) => {
    const parsed = parseIp(address.replace(/%.*$/, ""));
    if (!parsed) return "not an address";
    for (const bytes of [parsed, ...embeddedIpv4(parsed)]) {
      const found = ranges.find(({ prefix }) => covers(prefix, bytes));
      if (found) return `${formatIp(bytes)} is ${found.what}`;
    }
    return undefined;
  };
}

/** A range that cannot be read would block nothing, and nobody would know. */
function readPrefix(text: string): Prefix {
  const prefix = parsePrefix(text);
  if ("error" in prefix) throw new FairleadError("usage", `${text} is not a range of addresses: ${prefix.error}`);
  return prefix;
}

function embeddedIpv4(bytes: Uint8Array): readonly Uint8Array[] {
  if (bytes.length !== 16 || isPlainlyIpv6(bytes)) return [];
  const found = coats
    .filter(([range]) => covers(readPrefix(range), bytes))
    .map(([, places]) => Uint8Array.from(places, (place) => bytes[place] ?? 0));
  // Written with every bit turned round.
  if (covers(readPrefix(teredo), bytes)) found.push(bytes.slice(12).map((byte) => byte ^ 0xff));
  // ISATAP says it in the second half, under whatever prefix.
  if (/^0[02]005efe$/.test(Buffer.from(bytes.subarray(8, 12)).toString("hex"))) found.push(bytes.slice(12));
  // Where there are two places for it, the other one is empty.
  const written = found.filter((ipv4) => ipv4.some((byte) => byte !== 0));
  return written.length > 0 ? written : found;
}

/** `::1` and its neighbours are in the range of compatible addresses, but mean no IPv4 host. */
const isPlainlyIpv6 = (bytes: Uint8Array): boolean => bytes.subarray(0, 13).every((byte) => byte === 0);

function covers({ address, bits }: Prefix, bytes: Uint8Array): boolean {
  if (address.length !== bytes.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false;
  const mask = (0xff << (8 - (bits & 7))) & 0xff;
  return (bits & 7) === 0 || ((address[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask);
}

/** R40: what a name means is decided when it is dialled; answers that are refused are never dialled. */
export function guardedLookup(guard: AddressGuard, lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (host, options, done) => {
    const refusal = (address: string): string | undefined =>
      guard(address) ?? (isLoopbackHost(host) ? undefined : loopback(address));
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) {
        done(error, "", 0);
        return;
      }
      const all = [found].flat();
      const allowed = all.filter(({ address }) => refusal(address) === undefined);
      const [first] = allowed;
      if (!first) {
        const why = all.map(({ address }) => refusal(address)).join(", ") || "no address";
        done(new FairleadError("forbidden", `${host} may not be called: ${why}`), "", 0);
      } else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}
