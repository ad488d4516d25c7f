/** One capture rule as data, and the settings as one address family sees them. */
import type { CaptureConfig } from "./config.ts";

export interface CaptureRule {
  readonly table: "nat" | "mangle" | "raw";
  readonly chain: string;
  /** Where to insert; at the end where there is none. */
  readonly position?: number;
  readonly params: readonly string[];
}

export interface CaptureRules {
  readonly v4: readonly CaptureRule[];
  /** Empty where the Pod has no IPv6 address. */
  readonly v6: readonly CaptureRule[];
}

/** The settings as one family sees them. */
export interface FamilyScope {
  readonly config: CaptureConfig;
  /** The range applications call each other by inside the Pod. */
  readonly loopback: string;
  /** The source address of Envoy's inbound passthrough cluster. */
  readonly passthroughSource: string;
  readonly hostBits: 32 | 128;
  readonly dnsServers: readonly string[];
  readonly redirectDns: boolean;
  readonly tproxy: boolean;
  readonly ranges: { readonly include: Ranges; readonly exclude: Ranges };
  /** Loopback was asked for explicitly, in either family. */
  readonly capturesLoopback: boolean;
}

export interface Ranges {
  readonly wildcard: boolean;
  readonly cidrs: readonly string[];
}

export function append(table: CaptureRule["table"], chain: string, ...params: readonly string[]): CaptureRule {
  return { table, chain, params };
}

export function insert(
  table: CaptureRule["table"],
  chain: string,
  position: number,
  ...params: readonly string[]
): CaptureRule {
  return { table, chain, position, params };
}
