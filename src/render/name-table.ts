/** The services that a proxy sees in; the table from which its agent answers DNS questions out. */
import { isIP } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { type NameTable_NameInfo, NameTable_NameInfoSchema, NameTableSchema } from "../gen/istio/nds_pb.js";
import { compareText } from "../lib/index.ts";
import type { Scope } from "../mesh/index.ts";
import {
  type BuildFacet,
  type ClientFacet,
  type Endpoint,
  type PlacedFacet,
  type Resource,
  type Service,
  types,
} from "../model/index.ts";
import { type FacetKind, facet } from "./facet.ts";
import { buildFacet, clientFacet } from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { layerRecipe } from "./layer.ts";
import { clientScope } from "./outbound/client-scope.ts";
import { servicePortsLeft } from "./outbound/targets.ts";
import { partOf, resourceOf, sameBytes } from "./part.ts";
import { isWildcardAddress, servicePlaces } from "./proxy/addresses.ts";
import { keyOf, recipe, resourceRecipe, wordsOf } from "./recipe.ts";
import type { View } from "./view.ts";

/** Istio's agents take the one resource of this type whatever its name. */
const tableName = "nds";

type NamesFacet = BuildFacet & Pick<PlacedFacet, "network">;

const namesFacet: FacetKind<NamesFacet> = facet([buildFacet], ["network"]);
const clientNamesFacet: FacetKind<ClientFacet & NamesFacet> = facet([clientFacet, namesFacet], []);

/** A map on the wire is its entries one after the other: each host is a part of its own, whoever has it. */
function tableResource(view: View<NamesFacet>, scope: Scope): Resource {
  const byHost = new Map<string, string[]>();
  for (const key of scope.services) {
    const host = scope.table.service(key)?.host;
    if (host !== undefined) byHost.set(host, [...(byHost.get(host) ?? []), key, scope.table.portsLeft(key)]);
  }
  const hosts = [...byHost].sort(([a], [b]) => compareText(a, b));
  return resourceOf(tableName, partOf(hosts.map(([host, services]) => namesOfHost(view, keyOf(host, ...services)))));
}

const publicTable = resourceRecipe(namesFacet, types.nameTable, (view) =>
  tableResource(view, view.mesh.publicScope(view.proxy.type)),
);
const clientTable = resourceRecipe(clientNamesFacet, types.nameTable, (view) => tableResource(view, clientScope(view)));

const publicNames = layerRecipe(
  namesFacet,
  "public names",
  (view) => new Map([[tableName, publicTable.ref(view, keyOf(tableName))]]),
);
const clientNames = layerRecipe(
  clientNamesFacet,
  "client names",
  (view) => new Map([[tableName, clientTable.ref(view, keyOf(tableName))]]),
);

export const nameTableKind: ResourceKind = {
  type: types.nameTable,
  refs(view) {
    if (view.proxy.metadata.DNS_CAPTURE !== "true") return [];
    return [clientScope(view).isPublic ? publicNames.ref(view) : clientNames.ref(view)];
  },
};

/** The key: the host, then the keys of its services, each with the ports that are left of it. */
const namesOfHost = recipe(
  namesFacet,
  "names of a host",
  (view, key): Uint8Array => {
    const [host = "", ...words] = wordsOf(key);
    const services = words.flatMap((word, i) => {
      const service = i % 2 === 0 ? view.mesh.service(word) : undefined;
      return service ? [{ ...service, ports: servicePortsLeft(view, service, words[i + 1] ?? "") }] : [];
    });
    return toBinary(NameTableSchema, create(NameTableSchema, { table: tableOf(view, host, services) }));
  },
  sameBytes,
);

/** A Service has precedence over ServiceEntries of its name; several of these are put together. */
function tableOf(view: View<NamesFacet>, host: string, all: readonly Service[]): Record<string, NameTable_NameInfo> {
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

function namesOf(view: View<NamesFacet>, service: Service): Names {
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

function isAnswer({ proxy }: View<NamesFacet>, service: Service, endpoint: Endpoint): boolean {
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
