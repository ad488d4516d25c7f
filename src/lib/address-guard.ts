/** An address that is about to be dialled in; why it must not be, if so, out. */
import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
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
];

export type AddressGuard = (address: string) => string | undefined;

/** `more`: ranges that this installation blocks too. */
export function createAddressGuard(more: readonly string[] = []): AddressGuard {
  const own = more.map((range) => [range, "in a range that is blocked here"] as const);
  const ranges = [...always, ...own].map(([text, what]) => {
    const prefix = parsePrefix(text);
    // A range that cannot be read would block nothing, and nobody would know.
    if ("error" in prefix) throw new FairleadError("usage", `${text} is not a range of addresses: ${prefix.error}`);
    return { prefix, what };
  });
  return (address) => {
    const parsed = parseIp(address.replace(/%.*$/, ""));
    if (!parsed) return "not an address";
    const bytes = embeddedIpv4(parsed) ?? parsed;
    const found = ranges.find(({ prefix }) => covers(prefix, bytes));
    return found && `${formatIp(bytes)} is ${found.what}`;
  };
}

/** IPv4 in an IPv6 coat: mapped (::ffff:a.b.c.d), compatible (::a.b.c.d) and translated (64:ff9b::a.b.c.d). */
function embeddedIpv4(bytes: Uint8Array): Uint8Array | undefined {
  if (bytes.length !== 16) return undefined;
  const head = Buffer.from(bytes.subarray(0, 12)).toString("hex");
  const coats = ["00000000000000000000ffff", "0064ff9b0000000000000000"];
  const compatible = head === "000000000000000000000000" && bytes[12] !== 0;
  return coats.includes(head) || compatible ? bytes.subarray(12) : undefined;
}

function covers({ address, bits }: Prefix, bytes: Uint8Array): boolean {
  if (address.length !== bytes.length) return false;
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false;
  const mask = (0xff << (8 - (bits & 7))) & 0xff;
  return (bits & 7) === 0 || ((address[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask);
}

/** R40: what a name means is decided when it is dialled; answers that the guard refuses are never dialled. */
export function guardedLookup(guard: AddressGuard, lookup: typeof systemLookup = systemLookup): LookupFunction {
  return (host, options, done) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) {
        done(error, "", 0);
        return;
      }
      const all = [found].flat();
      const allowed = all.filter(({ address }) => guard(address) === undefined);
      const [first] = allowed;
      if (!first) {
        const why = all.map(({ address }) => guard(address)).join(", ") || "no address";
        done(new FairleadError("forbidden", `${host} may not be called: ${why}`), "", 0);
      } else if (options.all) done(null, allowed);
      else done(null, first.address, first.family);
    });
  };
}
