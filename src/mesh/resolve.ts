/** A VirtualService with names as its owner wrote them in, the same with full host and gateway names out. */
import { type Config, type Destination, type HTTPRoute, resolveHost, type VirtualServiceSpec } from "../model/index.ts";

type VirtualService = Config<VirtualServiceSpec>;

export function resolveVirtualService(config: VirtualService, domain: string): VirtualService {
  const { spec, meta } = config;
  const host = (name: string): string => resolveHost(name, meta.namespace, domain);
  const destination = (d: Destination): Destination => ({ ...d, host: host(d.host ?? "") });
  const gateways = (names: readonly string[]): readonly string[] =>
    names.map((name) => resolveGateway(name, meta.namespace));
  const matches = <M extends { readonly gateways?: readonly string[] }>(list: readonly M[]): readonly M[] =>
    list.map((match) => (match.gateways ? { ...match, gateways: gateways(match.gateways) } : match));
  const routes = <R extends { readonly destination?: Destination }>(list: readonly R[]): readonly R[] =>
    list.map((route) => (route.destination ? { ...route, destination: destination(route.destination) } : route));
  const layer4 = <
    T extends {
      readonly match?: readonly { readonly gateways?: readonly string[] }[];
      readonly route?: readonly { readonly destination?: Destination }[];
    },
  >(
    list: readonly T[],
  ): readonly T[] =>
    list.map((entry) => ({
      ...entry,
      ...(entry.match ? { match: matches(entry.match) } : {}),
      ...(entry.route ? { route: routes(entry.route) } : {}),
    }));
  const http = (route: HTTPRoute): HTTPRoute => ({
    ...route,
    ...(route.match ? { match: matches(route.match) } : {}),
    ...(route.route ? { route: routes(route.route) } : {}),
    ...(route.mirror ? { mirror: destination(route.mirror) } : {}),
    ...(route.mirrors ? { mirrors: routes(route.mirrors) } : {}),
  });
  return {
    ...config,
    spec: {
      ...spec,
      ...(spec.hosts ? { hosts: spec.hosts.map(host) } : {}),
      ...(spec.gateways ? { gateways: gateways(spec.gateways) } : {}),
      ...(spec.http ? { http: spec.http.map(http) } : {}),
      ...(spec.tcp ? { tcp: layer4(spec.tcp) } : {}),
      ...(spec.tls ? { tls: layer4(spec.tls) } : {}),
    },
  };
}

/** `mesh`, `name`, `namespace/name`, `./name`, and the old form `name.namespace[.svc.domain]`. */
function resolveGateway(name: string, namespace: string): string {
  if (name === "mesh") return name;
  const slash = name.indexOf("/");
  if (slash >= 0) return name.slice(0, slash) === "." ? `${namespace}${name.slice(slash)}` : name;
  const [first = "", second] = name.split(".");
  return second === undefined ? `${namespace}/${name}` : `${second}/${first}`;
}
