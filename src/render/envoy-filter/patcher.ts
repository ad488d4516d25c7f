/** The patches of a proxy in; per kind of resource, how one resource is patched and which ones are added, out. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { bytesOf, type Resource } from "../../model/index.ts";
import { inboundTargets } from "../cluster/inbound.ts";
import { inboundCluster, inboundPassthroughCluster } from "../outbound/cluster-name.ts";
import { encodePart, resourceOf } from "../part.ts";
import type { View } from "../view.ts";
import { addedClusters, patchCluster } from "./cluster.ts";
import { patchInlineRoutes } from "./inline-routes.ts";
import { addedListeners, patchListener } from "./listener.ts";
import { gatewayPorts } from "./match-route.ts";
import type { ApplyTo, Patch, PatchContext } from "./patch.ts";
import { type PatchRun, valueOf } from "./patch-run.ts";
import { patchRoutes } from "./route.ts";

/** What patching one resource depends on beside the patches. */
export interface PatchPlace {
  readonly where: PatchContext;
  /** Hosts of the services behind an inbound cluster. */
  readonly hosts: readonly string[];
  /** Ports that Gateways name, of a gateway's route configuration. */
  readonly ports: readonly number[];
}

/** How patches change one kind of resource. */
export interface Patcher {
  /** The object that such a resource is; undefined where patches can neither remove nor rename it. */
  readonly own: ApplyTo | undefined;
  /** The objects whose patches reach into such a resource. */
  readonly applyTo: readonly ApplyTo[];
  /** Where a resource is. */
  place(view: View, resource: Resource): PatchPlace;
  /** Whether the patch may change a resource that is there. */
  reaches(patch: Patch, where: PatchContext): boolean;
  /** The one resource, patched; undefined where it is to go. */
  patch(run: PatchRun, resource: Resource, place: PatchPlace): Resource | undefined;
  added(run: PatchRun): readonly Resource[];
}

const sidecarContexts: readonly PatchContext[] = ["SIDECAR_OUTBOUND", "SIDECAR_INBOUND"];

export const contextsOf = ({ proxy }: View): readonly PatchContext[] =>
  proxy.type === "router" ? ["GATEWAY"] : sidecarContexts;

const at = (where: PatchContext): PatchPlace => ({ where, hosts: [], ports: [] });

/** The name is the message's own: patches may have changed it. */
function encoded<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc> & { readonly name: string },
  needs: readonly string[] = [],
): Resource {
  return resourceOf(message.name, encodePart(schema, message, needs));
}

/** What is added changes nothing that is there. */
const isMeant = (own: ApplyTo, { applyTo, operation, context }: Patch, where: PatchContext): boolean =>
  (context === "ANY" || context === where) && !(applyTo === own && operation === "ADD");

const routeObjects: readonly ApplyTo[] = ["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"];

export const listenerPatcher: Patcher = {
  own: "LISTENER",
  applyTo: ["LISTENER", "LISTENER_FILTER", "FILTER_CHAIN", "NETWORK_FILTER", "HTTP_FILTER", ...routeObjects],
  place({ proxy }, resource) {
    if (proxy.type === "router") return at("GATEWAY");
    return at(isInbound(resource) ? "SIDECAR_INBOUND" : "SIDECAR_OUTBOUND");
  },
  // Only inbound listeners have their routes inside.
  reaches: (patch, where) =>
    isMeant("LISTENER", patch, where) && (where === "SIDECAR_INBOUND" || !routeObjects.includes(patch.applyTo)),
  patch(run, resource) {
    const listener = fromBinary(ListenerSchema, bytesOf(resource));
    if (run.context === "SIDECAR_INBOUND") patchInlineRoutes(run, listener);
    return patchListener(run, listener) ? encoded(ListenerSchema, listener, resource.needs) : undefined;
  },
  added: (run) => addedListeners(run).map((listener) => encoded(ListenerSchema, listener)),
};

/** A listener never changes, so each is looked at once, whoever has it. */
const directions = new WeakMap<Resource, boolean>();

function isInbound(resource: Resource): boolean {
  const known = directions.get(resource);
  if (known !== undefined) return known;
  const found = fromBinary(ListenerSchema, bytesOf(resource)).trafficDirection === TrafficDirection.INBOUND;
  directions.set(resource, found);
  return found;
}

export const routePatcher: Patcher = {
  own: undefined,
  applyTo: routeObjects,
  place: (view, { name }) =>
    view.proxy.type === "router"
      ? { where: "GATEWAY", hosts: [], ports: gatewayPorts(view, name) }
      : at("SIDECAR_OUTBOUND"),
  reaches: ({ context }, where) => context === "ANY" || context === where,
  patch(run, resource) {
    const config = fromBinary(RouteConfigurationSchema, bytesOf(resource));
    patchRoutes(run, config);
    return encoded(RouteConfigurationSchema, config, [...new Set([...resource.needs, ...clustersNamed(config)])]);
  },
  added: () => [],
};

/** Routes that were added may send to clusters that were added. */
function clustersNamed({ virtualHosts }: RouteConfiguration): readonly string[] {
  return virtualHosts.flatMap(({ routes }) =>
    routes.flatMap(({ action }) => {
      if (action.case !== "route") return [];
      const { clusterSpecifier } = action.value;
      if (clusterSpecifier.case === "cluster") return [clusterSpecifier.value];
      return clusterSpecifier.case === "weightedClusters"
        ? clusterSpecifier.value.clusters.map(({ name }) => name)
        : [];
    }),
  );
}

export const clusterPatcher: Patcher = {
  own: "CLUSTER",
  applyTo: ["CLUSTER"],
  place(view, { name }) {
    if (view.proxy.type === "router") return at("GATEWAY");
    if (name.startsWith("inbound|")) return { ...at("SIDECAR_INBOUND"), hosts: servicesBehind(view, name) };
    return at(name === inboundPassthroughCluster ? "SIDECAR_INBOUND" : "SIDECAR_OUTBOUND");
  },
  reaches: (patch, where) => isMeant("CLUSTER", patch, where),
  patch(run, resource, { hosts }) {
    const cluster = fromBinary(ClusterSchema, bytesOf(resource));
    return patchCluster(run, cluster, hosts) ? clusterResource(cluster) : undefined;
  },
  added: (run) => addedClusters(run).map(clusterResource),
};

function clusterResource(cluster: Cluster): Resource {
  const assignment = assignmentOf(cluster);
  return encoded(ClusterSchema, cluster, assignment === undefined ? [] : [assignment]);
}

/** The name by which a cluster asks for its endpoints; undefined where it does not. */
export function assignmentOf({ name, clusterDiscoveryType, edsClusterConfig }: Cluster): string | undefined {
  const isEds = clusterDiscoveryType.case === "type" && clusterDiscoveryType.value === Cluster_DiscoveryType.EDS;
  return isEds ? edsClusterConfig?.serviceName || name : undefined;
}

function servicesBehind(view: View, name: string): readonly string[] {
  const target = inboundTargets(view).find(({ port }) => inboundCluster(port) === name);
  const own = view.proxy.targets
    .filter(({ targetPort }) => targetPort === target?.port)
    .flatMap(({ service }) => view.mesh.service(service)?.host ?? []);
  return [...new Set([...own, ...(target ? [target.service.host] : [])])];
}

/** Whatever context they name: an extension is wherever a filter asks for it. */
export function addedExtensions(run: PatchRun): readonly Resource[] {
  const found = new Map<string, Resource>();
  for (const ready of run.of("EXTENSION_CONFIG", TypedExtensionConfigSchema)) {
    const config = valueOf(ready);
    run.apply(ready, () => {
      if (found.has(config.name)) return { error: `there is another extension ${config.name}` };
      found.set(config.name, encoded(TypedExtensionConfigSchema, config));
      return true;
    });
  }
  return [...found.values()];
}
