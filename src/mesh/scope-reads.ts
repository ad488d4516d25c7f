/** Scopes by id in; how their contents are read out: host by host and recorded so, or as a whole. */
import type { Graph } from "../collections/index.ts";
import type { IstioEgressListener, ProxyType } from "../model/index.ts";
import type { PublicServices } from "./public-services.ts";
import type { EgressData, ScopeData } from "./scope.ts";

export interface ScopeReads {
  services(): readonly string[];
  keyFor(host: string): string | undefined;
  /** The ports that are left of a service; all where nothing is said. */
  ports(key: string): readonly number[] | undefined;
  /** Ports that other objects add to it: their keys, by port. */
  added(key: string): ReadonlyMap<number, string> | undefined;
  listeners(): number;
  listener(i: number): IstioEgressListener | undefined;
  listenerServices(i: number): readonly string[];
  listenerPorts(i: number, key: string): readonly number[] | undefined;
  virtualServices(i: number): readonly string[];
}

/** Each answer is a memo: a scope that gains another service leaves those alone who read of one. */
export function createCutReads(graph: Graph, data: (id: string) => ScopeData): (id: string) => ScopeReads {
  const cut = <V>(name: string, read: (id: string, rest: string) => V) =>
    graph.memo<V>(name, (key) => {
      const at = key.indexOf("\n");
      return read(key.slice(0, at), key.slice(at + 1));
    });
  const entry = (id: string, i: string): EgressData => egressOf(data(id), Number(i));
  const services = cut("services of scope", (id) => data(id).services.keys);
  const keyFor = cut("service of host", (id, host) => data(id).byHost.get(host));
  const ports = cut("ports in scope", (id, key) => data(id).services.ports.get(key));
  const added = cut("ports of others", (id, key) => data(id).services.added.get(key));
  const listeners = cut("egress listeners", (id) => data(id).egress.length);
  const listener = cut("listener", (id, i) => entry(id, i).listener);
  const listenerServices = cut("services of listener", (id, i) => entry(id, i).services.keys);
  const listenerPorts = cut("ports at listener", (id, rest) => {
    const at = rest.indexOf("|");
    return entry(id, rest.slice(0, at)).services.ports.get(rest.slice(at + 1));
  });
  const virtualServices = cut("VirtualServices of listener", (id, i) => entry(id, i).virtualServices);
  return (id) => ({
    services: () => services.get(`${id}\n`),
    keyFor: (host) => keyFor.get(`${id}\n${host}`),
    ports: (key) => ports.get(`${id}\n${key}`),
    added: (key) => added.get(`${id}\n${key}`),
    listeners: () => listeners.get(`${id}\n`),
    listener: (i) => listener.get(`${id}\n${i}`),
    listenerServices: (i) => listenerServices.get(`${id}\n${i}`),
    listenerPorts: (i, key) => listenerPorts.get(`${id}\n${i}|${key}`),
    virtualServices: (i) => virtualServices.get(`${id}\n${i}`),
  });
}

/** For those who go through all of a scope: one read is recorded for all. */
export function wholeReads(id: string, data: (id: string) => ScopeData): ScopeReads {
  return {
    services: () => data(id).services.keys,
    keyFor: (host) => data(id).byHost.get(host),
    ports: (key) => data(id).services.ports.get(key),
    added: (key) => data(id).services.added.get(key),
    listeners: () => data(id).egress.length,
    listener: (i) => egressOf(data(id), i).listener,
    listenerServices: (i) => egressOf(data(id), i).services.keys,
    listenerPorts: (i, key) => egressOf(data(id), i).services.ports.get(key),
    virtualServices: (i) => egressOf(data(id), i).virtualServices,
  };
}

/** What everybody sees is kept host by host, so a service that comes or goes is no matter of the others. */
export function publicReads(
  type: ProxyType,
  open: PublicServices,
  virtualServices: (type: ProxyType) => readonly string[],
): ScopeReads {
  return {
    services: () => open.services(type),
    keyFor: (host) => open.host(host)?.key,
    ports: () => undefined,
    added: (key) => open.added(key),
    listeners: () => 1,
    listener: () => undefined,
    listenerServices: () => (type === "router" ? open.services(type) : open.listed()),
    listenerPorts: () => undefined,
    virtualServices: () => virtualServices(type),
  };
}

const egressOf = ({ egress }: ScopeData, i: number): EgressData => egress[i] ?? emptyEgress;

const emptyEgress: EgressData = {
  listener: undefined,
  services: { keys: [], ports: new Map(), added: new Map() },
  virtualServices: [],
};
