/**
 * ServiceEntries in; an IPv4 and an IPv6 address for every host that has none, in `.status.addresses`, out. Only the
 * leader writes; the registry reads what stands there and never makes addresses up.
 */
import { type Collection, sameData } from "../../collections/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { kindRef } from "../../kube/index.ts";
import {
  createRest,
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
import { createAddressAllocations } from "./address-allocations.ts";
import { type AddressPool, createAddressPool } from "./address-pool.ts";
import { runKeyedWork } from "./keyed-work.ts";

export interface ServiceEntryAddressesOptions {
  readonly client: Pick<KubeClient, "patch">;
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
  const allocations = createAddressAllocations({
    ...{ pools, log: options.log },
    isClaimed(address, but) {
      const { size } = claims.of(address);
      return size > 1 || (size === 1 && (but === undefined || !claims.of(address).has(but)));
    },
    onFree: (key) => queue.due(key),
  });

  /** All but what is still to be written: of hosts that have no address, or have to give theirs up. */
  const giveBack = (key: string, entry: KubeObject | undefined): void => {
    const open = new Set(entry ? namedHosts(entry) : []);
    if (entry && !loses(serviceEntries, claims, key)) for (const { host } of statusAddresses(entry)) open.delete(host);
    allocations.giveBack(key, (host) => open.has(host));
  };
  const wantedNow = (entry: KubeObject, key: string): Promise<readonly HostAddress[]> =>
    wantedAddresses(entry, loses(serviceEntries, claims, key), (host) => allocations.give(key, host));
  const work = async (key: string): Promise<void> => {
    const known = serviceEntries.get(key);
    const entry = known && options.discovered(known) ? known : undefined;
    giveBack(key, entry);
    const wanted = entry ? await wantedNow(entry, key) : [];
    allocations.done(key);
    if (!entry || sameData(wanted, statusAddresses(entry))) return;
    const { name, namespace, resourceVersion } = entry.metadata;
    // With the version, an entry that has changed meanwhile is not written but looked at again.
    const patch = { metadata: { resourceVersion }, status: { addresses: wanted } };
    await client.patch(kindRef(serviceEntry), { name, namespace }, "merge", patch, { subresource: "status", signal });
  };
  const queue = runKeyedWork({ ...options, name: "addresses of ServiceEntry", work });

  const follow = (key: string, now: KubeObject | undefined): void => {
    const before = claims.ofEntry(key);
    claims.replace(key, now);
    giveBack(key, now);
    allocations.freed(before);
    allocations.forget(key);
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

/** Its hosts that are to have addresses: a wildcard stands for a name only where that is resolved at request time. */
function namedHosts(entry: KubeObject): readonly string[] {
  if (!isAllocated(entry)) return [];
  const { hosts, resolution } = readRecord(entry.spec);
  return [...new Set(readTexts(hosts))].filter((host) => !host.startsWith("*") || resolution === "DYNAMIC_DNS");
}

/**
 * Hosts keep what they have, unless the entry lost a dispute: then all of its hosts get others. Where few are left each takes
 * a look at all. An entry that has changed meanwhile is looked at again after this.
 */
async function wantedAddresses(
  entry: KubeObject,
  isLoser: boolean,
  give: (host: string) => readonly string[],
): Promise<readonly HostAddress[]> {
  const rest = createRest();
  const kept = isLoser ? [] : statusAddresses(entry);
  const wanted: HostAddress[] = [];
  for (const host of namedHosts(entry)) {
    await rest();
    const own = kept.filter((address) => address.host === host);
    wanted.push(...(own.length > 0 ? own : give(host).map((value) => ({ value, host }))));
  }
  return wanted;
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
