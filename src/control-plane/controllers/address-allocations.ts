/**
 * Entries that ask for addresses for their hosts in; for each host one of every pool, held until it is given back, out. Who
 * found none is told when there are some again.
 */
import type { Logger } from "../../lib/index.ts";
import type { AddressPool } from "./address-pool.ts";

export interface AddressAllocationsOptions {
  readonly pools: readonly AddressPool[];
  /** Whether some entry has it, but for this one. */
  readonly isClaimed: (address: string, but?: string) => boolean;
  /** Told of an entry that found none, and is to ask again. */
  readonly onFree: (key: string) => void;
  readonly log: Logger;
}

export interface AddressAllocations {
  /**
   * The same each time, so that a second attempt to write them writes the same, unless another entry has come to have one;
   * none where a pool has none left.
   */
  give(key: string, host: string): readonly string[];
  /** Those of an entry's hosts that are not to be written any longer. */
  giveBack(key: string, isToBeWritten: (host: string) => boolean): void;
  /** To be called with addresses that an entry had. */
  freed(addresses: readonly string[]): void;
  /** To be called when the entry has asked for all that it needs: if anything is left, another one asks. */
  done(key: string): void;
  /** The entry asks anew, or no longer. */
  forget(key: string): void;
}

/** How many hosts are named; the others are counted. */
const maxNamed = 5;

export function createAddressAllocations({
  pools,
  isClaimed,
  onFree,
  log,
}: AddressAllocationsOptions): AddressAllocations {
  const given = new Map<string, Map<string, readonly string[]>>();
  const reserved = new Set<string>();
  /** Entries that found none, in the order in which they ask again. */
  const waiting = new Set<string>();
  /** A pool had none left, and nothing was freed since: to find that takes a look at all of its addresses. */
  let isFull = false;
  /** Hosts of the entry that asks which found none. */
  let lacking: string[] = [];
  /** One by one, until somebody finds none: thousands may wait for a single address. */
  let asking: string | undefined;

  const isTaken = (address: string): boolean => isClaimed(address) || reserved.has(address);

  /** One family alone is worse than none: a name that is known by it has no addresses of the other for applications. */
  function pick(seed: string): readonly string[] {
    if (isFull) return [];
    const picked = pools.flatMap((pool) => pool.pick(seed, isTaken) ?? []);
    isFull = picked.length < pools.length;
    return isFull ? [] : picked;
  }

  function hold(key: string, host: string, addresses: readonly string[]): void {
    const own = given.get(key) ?? new Map<string, readonly string[]>();
    given.set(key, own.set(host, addresses));
    for (const address of addresses) reserved.add(address);
  }

  function release(key: string, host: string): void {
    const own = given.get(key);
    const addresses = own?.get(host) ?? [];
    for (const address of addresses) reserved.delete(address);
    own?.delete(host);
    freed(addresses);
  }

  function askNext(): void {
    if (isFull || asking !== undefined) return;
    const [key] = waiting;
    if (key === undefined) return;
    waiting.delete(key);
    asking = key;
    onFree(key);
  }

  function freed(addresses: readonly string[]): void {
    if (!isFull || addresses.every(isTaken)) return;
    isFull = false;
    askNext();
  }

  /** In one line: an entry may have hundreds of hosts. */
  function tellLacking(key: string): void {
    if (lacking.length === 0) return;
    const more = lacking.length > maxNamed ? [`${lacking.length - maxNamed} more`] : [];
    log.error(`no address is left for ${[...lacking.slice(0, maxNamed), ...more].join(", ")} of ServiceEntry ${key}`);
    lacking = [];
  }

  return {
    give(key, host) {
      const known = given.get(key)?.get(host);
      if (known && !known.some((address) => isClaimed(address, key))) return known;
      release(key, host);
      const addresses = pick(`${key}|${host}`);
      if (addresses.length > 0) hold(key, host, addresses);
      else {
        lacking.push(host);
        waiting.add(key);
      }
      return addresses;
    },
    giveBack(key, isToBeWritten) {
      const own = given.get(key) ?? new Map<string, readonly string[]>();
      for (const host of own.keys()) if (!isToBeWritten(host)) release(key, host);
      if (own.size === 0) given.delete(key);
    },
    freed,
    done(key) {
      tellLacking(key);
      if (asking === key) asking = undefined;
      askNext();
    },
    forget: (key) => void waiting.delete(key),
  };
}
