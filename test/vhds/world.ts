/** Changes in; every state that the routes were ever wanted in, and what each would answer, out. */
import { create, fromBinary, toJson } from "@bufbuild/protobuf";
import {
  type RouteSchema,
  type VirtualHost,
  VirtualHostSchema,
} from "../../src/gen/envoy/config/route/v3/route_components_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../src/gen/envoy/config/route/v3/route_pb.js";
import { bytesOf, type Resource } from "../../src/model/index.ts";
import { encoded } from "../../src/xds/server/testing-envoy.ts";

export interface Host {
  readonly domains: readonly string[];
  readonly answer: string;
  /** Why Envoy refuses it, where it does. */
  readonly bad?: "route" | "domain";
}

/** By name. */
export type Hosts = ReadonlyMap<string, Host>;

/** One route configuration as it was wanted, and whether a listener used it. */
export interface State {
  readonly hosts: Hosts;
  readonly live: boolean;
}

export const isBad = ({ hosts }: State): boolean => [...hosts.values()].some(({ bad }) => bad !== undefined);

/** What a request for a domain is answered: the most specific domain counts. */
export function answerOf({ hosts }: State, domain: string): string {
  const byDomain = new Map([...hosts.values()].flatMap(({ domains, answer }) => domains.map((one) => [one, answer])));
  const [suffix, prefix] = [`*${domain.slice(domain.indexOf("."))}`, `${domain.slice(0, domain.indexOf(".") + 1)}*`];
  const wild = domain.includes(".") ? (byDomain.get(suffix) ?? byDomain.get(prefix)) : undefined;
  return byDomain.get(domain) ?? wild ?? byDomain.get("*") ?? "404";
}

type RouteInit = Parameters<typeof create<typeof RouteSchema>>[1];

export function routeResource(name: string, hosts: Hosts): Resource {
  const virtualHosts = [...hosts].map(([host, { domains, answer, bad }]) => {
    const route: RouteInit = {
      match: bad === "route" ? {} : { pathSpecifier: { case: "prefix", value: "/" } },
      action: {
        case: "directResponse",
        value: { status: 200, body: { specifier: { case: "inlineString", value: answer } } },
      },
    };
    return { name: host, domains: [...domains, ...(bad === "domain" ? [domains[0] ?? ""] : [])], routes: [route] };
  });
  return encoded(name, RouteConfigurationSchema, { name, virtualHosts });
}

/** As it is to be compared: hosts named as they travel, in order. */
export function shown(config: RouteConfiguration): string {
  const named = ({ name, ...host }: VirtualHost): VirtualHost =>
    create(VirtualHostSchema, { ...host, name: name.startsWith(`${config.name}/`) ? name : `${config.name}/${name}` });
  const virtualHosts = config.virtualHosts.map(named).sort((a, b) => (a.name < b.name ? -1 : 1));
  const { vhds: _, ...rest } = config;
  return JSON.stringify(toJson(RouteConfigurationSchema, create(RouteConfigurationSchema, { ...rest, virtualHosts })));
}

export const shownRoute = (route: Resource): string => shown(fromBinary(RouteConfigurationSchema, bytesOf(route)));
