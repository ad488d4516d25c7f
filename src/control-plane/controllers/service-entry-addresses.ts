/**
 * ServiceEntries in; an IPv4 and an IPv6 address for every host that has none, in `.status.addresses`, out. Only the
 * leader writes; the registry reads what stands there and never makes addresses up.
 */
import { type Collection, sameData } from "../../collections/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { kindRef } from "../../kube/index.ts";
import {
  formatIp,
  type Logger,
  parseIp,
  type QueueMeter,
  readList,
  readRecord,
  readText,
  readTexts,
  sortBy,
} from "../../lib/index.ts";
import { type KubeObject, serviceEntry } from "../../model/index.ts";
import { type AddressPool, createAddressPool } from "./address-pool.ts";
import { runKeyedWork } from "./keyed-work.ts";

export interface ServiceEntryAddressesOptions {
  readonly client: KubeClient;
  readonly serviceEntries: Collection<KubeObject>;
  /** False for entries in namespaces that discoverySelectors leave out. */
  readonly discovered: (object: KubeObject) => boolean;
  readonly log: Logger;
  readonly meter?: QueueMeter;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Ranges, IPv4 first. */
  readonly ranges?: readonly string[];
}

interface HostAddress {
  readonly value: string;
  readonly host: string;
}

/** Who says that an address is theirs: an owner who wrote it down beats one it was given to. */
type Claim = "written" | "given";

export function runServiceEntryAddresses(options: ServiceEntryAddressesOptions): void {
  const { serviceEntries, client, signal } = options;
  const pools = (options.ranges ?? ["240.240.0.0/16", "2001:2::/48"]).map(createAddressPool);
  const claims = createClaims(pools);
  /** Given but not yet seen in a status, by entry and host, so that a second attempt gives the same. */
  const given = new Map<string, Map<string, readonly string[]>>();
  const reserved = new Set<string>();

  const isTaken = (address: string): boolean => claims.of(address).size > 0 || reserved.has(address);
  const give = (key: string, host: string): readonly string[] => {
    const own = given.get(key) ?? new Map<string, readonly string[]>();
    given.set(key, own);
    const addresses = own.get(host) ?? pools.flatMap((pool) => pool.pick(`${key}|${host}`, isTaken) ?? []);
    if (addresses.length < pools.length) options.log.error(`no address is left for ${host} of ServiceEntry ${key}`);
    own.set(host, addresses);
    for (const address of addresses) reserved.add(address);
    return addresses;
  };
  const settle = (key: string): void => {
    for (const address of [...(given.get(key)?.values() ?? [])].flat()) reserved.delete(address);
    given.delete(key);
  };
  const work = async (key: string): Promise<void> => {
    const entry = serviceEntries.get(key);
    if (!entry || !options.discovered(entry)) return;
    const current = statusAddresses(entry);
    const wanted = isAllocated(entry) ? wantedAddresses(entry, current, loses(serviceEntries, claims, key), give) : [];
    if (sameData(wanted, current)) return;
    const { name, namespace, resourceVersion } = entry.metadata;
    // With the version, an entry that has changed meanwhile is not written but looked at again.
    const patch = { metadata: { resourceVersion }, status: { addresses: wanted } };
    await client.patch(kindRef(serviceEntry), { name, namespace }, "merge", patch, { subresource: "status", signal });
  };
  const queue = runKeyedWork({ ...options, name: "addresses of ServiceEntry", work });

  const follow = (key: string, now: KubeObject | undefined): void => {
    const before = claims.ofEntry(key);
    claims.replace(key, now);
    if (!now || statusAddresses(now).length > 0) settle(key);
    queue.due(key);
    // Others who hold an address that is in dispute now, or no longer.
    for (const address of [...before, ...claims.ofEntry(key)])
      for (const other of claims.of(address).keys()) if (other !== key) queue.due(other);
  };
  const stop = serviceEntries.subscribe(follow);
  signal.addEventListener("abort", stop, { once: true });
  // All claims are known before the first address is given.
  const keys = serviceEntries.keys();
  for (const key of keys) claims.replace(key, serviceEntries.get(key));
  for (const key of keys) queue.due(key);
}

/** Resolution NONE keeps the address that the application asked for; own addresses and the label opt out. */
function isAllocated({ metadata, spec }: KubeObject): boolean {
  const { resolution, addresses } = readRecord(spec);
  if ((readText(resolution) || "NONE") === "NONE" || readList(addresses).length > 0) return false;
  return metadata.labels?.["networking.istio.io/enable-autoallocate-ip"]?.toLowerCase() !== "false";
}

/** Hosts keep what they have, unless the entry lost a dispute: then all of its hosts get others. */
function wantedAddresses(
  { spec, metadata }: KubeObject,
  current: readonly HostAddress[],
  isLoser: boolean,
  give: (key: string, host: string) => readonly string[],
): readonly HostAddress[] {
  const { hosts, resolution } = readRecord(spec);
  const named = [...new Set(readTexts(hosts))].filter((host) => !host.startsWith("*") || resolution === "DYNAMIC_DNS");
  const kept = isLoser ? [] : current;
  return named.flatMap((host) => {
    const own = kept.filter((address) => address.host === host);
    if (own.length > 0) return own;
    return give(`${metadata.namespace}/${metadata.name}`, host).map((value) => ({ value, host }));
  });
}

/** Of several entries with one address the one that wrote it keeps it, else the oldest. */
function loses(entries: Collection<KubeObject>, claims: Claims, key: string): boolean {
  return claims.ofEntry(key).some((address) => {
    const holders = claims.of(address);
    if (holders.size < 2 || holders.get(key) === "written") return false;
    if ([...holders.values()].includes("written")) return true;
    const [first] = sortBy(
      holders.keys(),
      (holder) => entries.get(holder)?.metadata.creationTimestamp ?? "",
      (holder) => holder,
    );
    return first !== key;
  });
}

interface Claims {
  of(address: string): ReadonlyMap<string, Claim>;
  ofEntry(key: string): readonly string[];
  replace(key: string, entry: KubeObject | undefined): void;
}

function createClaims(pools: readonly AddressPool[]): Claims {
  const byAddress = new Map<string, Map<string, Claim>>();
  const byEntry = new Map<string, readonly string[]>();
  const none: ReadonlyMap<string, Claim> = new Map();
  return {
    of: (address) => byAddress.get(address) ?? none,
    ofEntry: (key) => byEntry.get(key) ?? [],
    replace(key, entry) {
      for (const address of byEntry.get(key) ?? []) {
        byAddress.get(address)?.delete(key);
        if (byAddress.get(address)?.size === 0) byAddress.delete(address);
      }
      byEntry.delete(key);
      if (!entry) return;
      const claimed = claimsOf(entry).filter(([address]) => pools.some((pool) => pool.contains(address)));
      byEntry.set(
        key,
        claimed.map(([address]) => address),
      );
      for (const [address, claim] of claimed) {
        const holders = byAddress.get(address) ?? new Map<string, Claim>();
        byAddress.set(address, holders);
        if (holders.get(key) !== "written") holders.set(key, claim);
      }
    },
  };
}

/** In one spelling, whatever the owner's. */
function claimsOf(entry: KubeObject): readonly (readonly [string, Claim])[] {
  const written = readTexts(readRecord(entry.spec).addresses).map((address) => [address, "written"] as const);
  const all = [...written, ...statusAddresses(entry).map(({ value }) => [value, "given"] as const)];
  return all.flatMap(([text, claim]) => {
    const bytes = parseIp(text);
    return bytes ? [[formatIp(bytes), claim] as const] : [];
  });
}

function statusAddresses({ status }: KubeObject): readonly HostAddress[] {
  return readList(readRecord(status).addresses)
    .map(readRecord)
    .map(({ value, host }) => ({ value: readText(value), host: readText(host) }));
}
