/** A data folder in, the names and address ranges of its mesh network out: the same folder always gives the same. */
import { createHash } from "node:crypto";
import { FairleadError } from "../../lib/index.ts";

export interface NetworkPlan {
  /** Short word that begins the name of everything made on the host for this data folder. */
  readonly prefix: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
  /** The host's address on the mesh network: DNS and 15012 are bound to it. */
  readonly hostAddress: string;
  readonly prefixLength: number;
}

export interface PlanOptions {
  /** Canonical path of the data folder. */
  readonly dataDir: string;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  /** How many pairs of ranges are passed over, below `rangePairs`: the first ones may be taken on this machine. */
  readonly passed?: number;
}

/** Two neighbouring /16 of 10.0.0.0/8 each, away from the ranges that clusters and container tools use by default. */
export const rangePairs = 60;

export function planNetwork(options: PlanOptions): NetworkPlan {
  const hash = createHash("sha256").update(options.dataDir).digest();
  const slot = 130 + ((hash.readUInt16BE(0) + (options.passed ?? 0)) % rangePairs) * 2;
  const podCidr = options.podCidr ?? `10.${slot}.0.0/16`;
  const serviceCidr = options.serviceCidr ?? `10.${slot + 1}.0.0/16`;
  const pods = parseCidr(podCidr, "--pod-cidr");
  const services = parseCidr(serviceCidr, "--service-cidr");
  if (overlap(pods, services))
    throw new FairleadError("usage", `pods (${podCidr}) and services (${serviceCidr}) overlap`, {
      hint: "give two separate ranges with --pod-cidr and --service-cidr",
    });
  return {
    prefix: `fl${hash.toString("hex").slice(0, 6)}`,
    podCidr,
    serviceCidr,
    hostAddress: formatAddress(pods.base + 1),
    prefixLength: pods.length,
  };
}

export interface Range {
  readonly base: number;
  readonly length: number;
}

export function parseCidr(text: string, flag: string): Range {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  const numbers = match?.slice(1).map(Number) ?? [];
  const [a = 256, b = 256, c = 256, d = 256, length = 33] = numbers;
  if ([a, b, c, d].some((n) => n > 255) || length > 28 || length < 8)
    throw new FairleadError("usage", `${flag}: ${text} is not an IPv4 range between /8 and /28`);
  const address = a * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
  return { base: address - (address % 2 ** (32 - length)), length };
}

export function overlap(a: Range, b: Range): boolean {
  const end = (range: Range): number => range.base + 2 ** (32 - range.length);
  return a.base < end(b) && b.base < end(a);
}

function formatAddress(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

/** How many addresses of the range come before it; 0 where it is none of them. */
export function placeOf(cidr: string, address: string): number {
  const { base, length } = parseCidr(cidr, "range");
  const place = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0) - base;
  return place > 0 && place < 2 ** (32 - length) ? place : 0;
}

/** All addresses of a range that may be given out, lowest first; the network's own, the broadcast and `skip` low ones are left out. */
export function* addressesOf(cidr: string, skip: number): Generator<string> {
  const { base, length } = parseCidr(cidr, "range");
  for (let i = 1 + skip; i < 2 ** (32 - length) - 1; i++) yield formatAddress(base + i);
}
