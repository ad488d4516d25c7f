/** Services in; those that everybody sees, host by host, out: one that comes or goes concerns its own host alone. */
import type { Collection, Graph, Ordered } from "../collections/index.ts";
import type { ProxyType } from "../model/index.ts";
import { compareHeads, type ServiceHead } from "./service-index.ts";

/** The public services of one host, as a scope without Sidecar has them. */
export interface PublicHost {
  /** Of the one that has the host. */
  readonly key: string;
  /** It, and those of its namespace that share the host; oldest first. */
  readonly listed: readonly string[];
  /** Ports that others add to it: their keys, by port. */
  readonly added: ReadonlyMap<number, string>;
}

export interface PublicServices {
  host(host: string): PublicHost | undefined;
  added(key: string): ReadonlyMap<number, string> | undefined;
  /** Keys of those whose host is this one in lower case, in the order of `listed`. */
  named(host: string): readonly string[];
  /** Keys of those that have their host, oldest first. */
  services(type: ProxyType): readonly string[];
  /** All that sidecars' listeners are made from, oldest first. */
  listed(): readonly string[];
}

interface Placed extends PublicHost {
  readonly place: Readonly<Record<ProxyType, ServiceHead>>;
}

/** A service, and what its place in lists goes by: where it has its host, that of the host. */
interface Listed {
  readonly own: ServiceHead;
  readonly ofHost: Placed["place"] | undefined;
}

export interface PublicServicesOptions {
  head(key: string): ServiceHead | undefined;
  byAge(keys: readonly string[]): readonly string[];
  /** Of services with one host, oldest first. */
  choose(keys: readonly string[]): PublicHost | undefined;
}

export function createPublicServices(
  graph: Graph,
  byHost: Collection<ReadonlySet<string>>,
  { head, byAge, choose }: PublicServicesOptions,
): PublicServices {
  const hosts = graph.derive<ReadonlySet<string>, Placed>("public hosts", byHost, (keys, host) => {
    const all = byAge([...keys].sort());
    const found = choose(all);
    // Sidecars leave out services of other namespaces before they are put in order, gateways do not.
    const [sidecar, router] = [head(found?.listed[0] ?? ""), head(all[0] ?? "")];
    return found && sidecar && router ? [[host, { ...found, place: { sidecar, router } }]] : [];
  });
  const listed = graph.derive<Placed, Listed>("public services", hosts, (host) =>
    host.listed.flatMap((key) => {
      const own = head(key);
      return own ? [[key, { own, ofHost: key === host.key ? host.place : undefined }] as const] : [];
    }),
  );
  const services: Readonly<Record<ProxyType, Ordered>> = {
    sidecar: graph.ordered(listed, { place: ({ ofHost }) => ofHost?.sidecar, compare: compareHeads }),
    router: graph.ordered(listed, { place: ({ ofHost }) => ofHost?.router, compare: compareHeads }),
  };
  const all = graph.ordered(listed, { place: ({ own }) => own, compare: compareHeads });
  const byName = graph.index(listed, "name", ({ own }) => [own.host.toLowerCase()]);
  return {
    host: hosts.get,
    named: (host) => byAge(byName.get(host)),
    added(key) {
      const of = head(key);
      const found = of && hosts.get(of.host);
      return found?.key === key && found.added.size > 0 ? found.added : undefined;
    },
    services: (type) => services[type].keys(),
    listed: all.keys,
  };
}
