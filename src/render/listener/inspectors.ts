/** The chains of an inbound listener in; the listener filters that find out which chain a connection is for out. */
import type { ListenerFilter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { httpInspector, not, tlsInspector, toPorts } from "../build/listener-filter.ts";

export interface Inspected {
  /** 0 for chains that are for any port. */
  readonly port: number;
  readonly transport: string;
  readonly applicationProtocols: readonly string[];
}

/** HTTP is looked for after TLS: where TLS is found, there is nothing to read. */
export function inspectors(chains: readonly Inspected[]): readonly ListenerFilter[] {
  const tls = new Map<number, boolean>();
  const http = new Map<number, boolean>();
  for (const { port, transport, applicationProtocols } of chains) {
    tls.set(port, tls.get(port) === true || transport === "tls");
    http.set(port, http.get(port) === true || applicationProtocols.includes("http/1.1"));
  }
  return [...tlsFilter(tls), ...httpFilter(http)];
}

/** Off on ports that do not need it; or, where the catch-all does not need it, on for those that do. */
function tlsFilter(needs: ReadonlyMap<number, boolean>): readonly ListenerFilter[] {
  if (![...needs.values()].includes(true)) return [];
  const byDefault = needs.get(0) === true;
  const exceptions = portsWhere(needs, !byDefault).filter((port) => port !== 0);
  if (exceptions.length === 0) return [tlsInspector()];
  return [tlsInspector(byDefault ? toPorts(exceptions) : not(toPorts(exceptions)))];
}

function httpFilter(needs: ReadonlyMap<number, boolean>): readonly ListenerFilter[] {
  if (![...needs.values()].includes(true)) return [];
  const off = portsWhere(needs, false);
  return [off.length === 0 ? httpInspector() : httpInspector(toPorts(off))];
}

const portsWhere = (needs: ReadonlyMap<number, boolean>, value: boolean): number[] =>
  [...needs].flatMap(([port, need]) => (need === value ? [port] : [])).sort((a, b) => a - b);
