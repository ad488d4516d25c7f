/**
 * The virtual hosts of route configurations in; by name, and what leads from those of one to those of another, out. Many
 * have the same list of hosts but for a few: the list has one index for all, and two lists are compared once.
 */
import { type Resource, type RouteParts, routeHosts } from "../../model/index.ts";

export interface RouteHosts {
  readonly size: number;
  has(name: string): boolean;
  get(name: string): Resource | undefined;
  keys(): MapIterator<string>;
  /** In their order. */
  list(): readonly Resource[];
  /** No name is there twice. */
  readonly areUnique: boolean;
  /** Those of the list, one index for all who have it. */
  readonly usual: ByName;
  /** Those that are there instead of one of the same name. */
  readonly instead: ByName;
}

type ByName = ReadonlyMap<string, Resource>;

export interface HostStep {
  readonly changed: readonly Resource[];
  readonly removed: readonly string[];
}

export interface HostIndex {
  of(parts: RouteParts): RouteHosts;
  between(from: RouteHosts, to: RouteHosts): HostStep;
}

export function createHostIndex(): HostIndex {
  const usual = new WeakMap<readonly Resource[], ByName>();
  const compared = new WeakMap<ByName, WeakMap<ByName, readonly string[]>>();

  function byName(hosts: readonly Resource[]): ByName {
    const found = usual.get(hosts) ?? new Map(hosts.map((host) => [host.name, host]));
    usual.set(hosts, found);
    return found;
  }

  /** Names of which one list has something else than the other, or nothing. */
  function differing(from: ByName, to: ByName): readonly string[] {
    if (from === to) return [];
    const byTarget = compared.get(from) ?? new WeakMap<ByName, readonly string[]>();
    compared.set(from, byTarget);
    const found = byTarget.get(to) ?? [
      ...to.keys().filter((name) => from.get(name)?.hash !== to.get(name)?.hash),
      ...from.keys().filter((name) => !to.has(name)),
    ];
    byTarget.set(to, found);
    return found;
  }

  return {
    of(parts) {
      const { hosts, instead } = keepsNames(parts) ? parts : { hosts: routeHosts(parts), instead: nothing };
      const all = byName(hosts);
      const own: ByName = instead.size === 0 ? noHosts : new Map([...instead.values()].map((one) => [one.name, one]));
      return {
        size: all.size,
        has: (name) => all.has(name),
        get: (name) => own.get(name) ?? all.get(name),
        keys: () => all.keys(),
        list: () => routeHosts({ hosts, instead }),
        areUnique: all.size === hosts.length,
        usual: all,
        instead: own,
      };
    },
    between(from, to) {
      const names = new Set([...differing(from.usual, to.usual), ...from.instead.keys(), ...to.instead.keys()]);
      const changed = [...names].flatMap((name) => to.get(name) ?? []);
      return {
        changed: changed.filter(({ name, hash }) => from.get(name)?.hash !== hash),
        removed: [...names].filter((name) => from.has(name) && !to.has(name)),
      };
    },
  };
}

const nothing: RouteParts["instead"] = new Map();
const noHosts: ByName = new Map();

/** Whether each host that takes another's place has its name too. */
const keepsNames = ({ hosts, instead }: RouteParts): boolean =>
  instead.entries().every(([i, { name }]) => hosts[i]?.name === name);

/** What leads from these versions, by name, to the hosts. */
export function stepFrom(versions: ReadonlyMap<string, string>, to: RouteHosts): HostStep {
  return {
    changed: to.list().filter(({ name, hash }) => versions.get(name) !== hash),
    removed: [...versions.keys()].filter((name) => !to.has(name)),
  };
}
