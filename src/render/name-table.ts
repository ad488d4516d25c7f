/** The services that a proxy sees in; the table from which its agent answers DNS questions out. */
import { isIP } from "node:net";
import { create } from "@bufbuild/protobuf";
import { type NameTable_NameInfo, NameTable_NameInfoSchema, NameTableSchema } from "../gen/istio/nds_pb.js";
import { compareText } from "../lib/index.ts";
import { type Endpoint, type Service, types } from "../model/index.ts";
import { isWildcardAddress, servicePlaces } from "./addresses.ts";
import { clientScope } from "./client-scope.ts";
import type { ResourceKind } from "./kind.ts";
import { encodePart, type Part, type View } from "./view.ts";

/** Istio's agents take the one resource of this type whatever its name. */
const tableName = "nds";

export const nameTableKind: ResourceKind = {
  type: types.nameTable,
  names: (view) => (view.proxy.metadata.DNS_CAPTURE === "true" ? [tableName] : []),
  /** A map on the wire is its entries one after the other: each host is a part of its own. */
  render(view, name) {
    if (name !== tableName) return undefined;
    const hosts = [...servicesByHost(view).keys()].sort(compareText);
    return { bytes: Buffer.concat(hosts.map((host) => hostPart(view, host).bytes)), needs: [] };
  },
};

function servicesByHost(view: View): ReadonlyMap<string, readonly string[]> {
  return view.shared("names|hosts", () => {
    const scope = clientScope(view);
    const byHost = new Map<string, string[]>();
    for (const key of scope.services) {
      const host = scope.service(key)?.host;
      if (host !== undefined) byHost.set(host, [...(byHost.get(host) ?? []), key]);
    }
    return byHost;
  });
}

function hostPart(view: View, host: string): Part {
  return view.part(`names|${host}`, () => {
    const scope = clientScope(view);
    const services = (servicesByHost(view).get(host) ?? []).flatMap((key) => scope.service(key) ?? []);
    return encodePart(NameTableSchema, create(NameTableSchema, { table: tableOf(view, host, services) }));
  });
}

/** A Service has precedence over ServiceEntries of its name; several of these are put together. */
function tableOf(view: View, host: string, all: readonly Service[]): Record<string, NameTable_NameInfo> {
  const ofCluster = all.filter(({ registry }) => registry === "Kubernetes").slice(0, 1);
  const services = ofCluster.length > 0 ? ofCluster : all;
  const found = services.map((service) => namesOf(view, service));
  const ips = [...new Set(found.flatMap(({ addresses }) => addresses))];
  const [first] = services;
  const pods = Object.assign({}, ...found.map(({ byPod }) => byPod)) as Record<string, NameTable_NameInfo>;
  if (!first || ips.length === 0) return pods;
  const { registry, name, namespace } = first;
  const short = registry === "Kubernetes" ? { shortname: name, namespace } : {};
  return { [host]: create(NameTable_NameInfoSchema, { ips, registry, ...short }), ...pods };
}

interface Names {
  readonly addresses: readonly string[];
  /** Of a headless Service's Pods with names of their own. */
  readonly byPod: Readonly<Record<string, NameTable_NameInfo>>;
}

function namesOf(view: View, service: Service): Names {
  const addresses = servicePlaces(view.proxy, service).flat();
  if (!addresses.some(isWildcardAddress))
    return { addresses: addresses.filter((address) => isIP(address) !== 0), byPod: {} };
  const [port] = service.ports;
  if (service.resolution !== "passthrough" || !port) return { addresses: [], byPod: {} };
  const endpoints = view.mesh.endpoints(service.key, port).filter((endpoint) => isAnswer(view, service, endpoint));
  return {
    addresses: endpoints.flatMap((endpoint) => endpoint.addresses),
    byPod: Object.fromEntries(endpoints.flatMap((endpoint) => podName(service, endpoint))),
  };
}

function isAnswer({ proxy }: View, service: Service, endpoint: Endpoint): boolean {
  const reachable = proxy.network === "" || endpoint.network === "" || proxy.network === endpoint.network;
  const healthy = endpoint.health === "healthy" || endpoint.health === "unknown" || service.publishNotReady;
  return reachable && healthy && endpoint.cluster === proxy.cluster && isIP(endpoint.addresses[0] ?? "") !== 0;
}

/** As Kubernetes names the Pods of a StatefulSet: `mysql-0.mysql.default.svc.cluster.local`. */
function podName(service: Service, endpoint: Endpoint): readonly (readonly [string, NameTable_NameInfo])[] {
  if (endpoint.hostname === "" || endpoint.subdomain === "") return [];
  const shortname = `${endpoint.hostname}.${endpoint.subdomain}`;
  const rest = service.host.slice(service.host.indexOf(".") + 1);
  const { registry, namespace } = service;
  const ips = [...endpoint.addresses];
  return [[`${shortname}.${rest}`, create(NameTable_NameInfoSchema, { ips, registry, namespace, shortname })]];
}
