/** The patches of a proxy in; per kind of resource, how one resource is patched and which ones are added, out. */
import { fromBinary } from "@bufbuild/protobuf";
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { type TypedExtensionConfig, TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { type RouteConfiguration, RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { inboundTargets } from "../cluster-inbound.ts";
import { inboundCluster, inboundPassthroughCluster } from "../cluster-name.ts";
import { inboundListenerNames } from "../listener-inbound.ts";
import { encodePart, type Part, type View } from "../view.ts";
import { addedClusters, patchCluster } from "./cluster.ts";
import { patchInlineRoutes } from "./inline-routes.ts";
import { addedListeners, patchListener } from "./listener.ts";
import type { ApplyTo, Patch, PatchContext } from "./patch.ts";
import { type PatchRun, valueOf } from "./patch-run.ts";
import { patchRoutes } from "./route.ts";

/** How patches change one kind of resource. */
export interface Patcher {
  /** The object that such a resource is; undefined where patches can neither remove nor rename it. */
  readonly own: ApplyTo | undefined;
  /** The objects whose patches reach into such a resource. */
  readonly applyTo: readonly ApplyTo[];
  /** Where a resource of that name is. */
  context(view: View, name: string): PatchContext;
  /** Whether the patch may change a resource that is there. */
  reaches(patch: Patch, where: PatchContext): boolean;
  /** The one resource, patched; undefined where it is to go. */
  patch(run: PatchRun, name: string, part: Part): Part | undefined;
  added(run: PatchRun): readonly Part[];
  nameOf(part: Part): string;
}

const sidecarContexts: readonly PatchContext[] = ["SIDECAR_OUTBOUND", "SIDECAR_INBOUND"];

export const contextsOf = ({ proxy }: View): readonly PatchContext[] =>
  proxy.type === "router" ? ["GATEWAY"] : sidecarContexts;

/** What is added changes nothing that is there. */
const isMeant = (own: ApplyTo, { applyTo, operation, context }: Patch, where: PatchContext): boolean =>
  (context === "ANY" || context === where) && !(applyTo === own && operation === "ADD");

const routeObjects: readonly ApplyTo[] = ["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"];

export const listenerPatcher: Patcher = {
  own: "LISTENER",
  applyTo: ["LISTENER", "LISTENER_FILTER", "FILTER_CHAIN", "NETWORK_FILTER", "HTTP_FILTER", ...routeObjects],
  context(view, name) {
    if (view.proxy.type === "router") return "GATEWAY";
    return inboundListenerNames(view).includes(name) ? "SIDECAR_INBOUND" : "SIDECAR_OUTBOUND";
  },
  // Only inbound listeners have their routes inside.
  reaches: (patch, where) =>
    isMeant("LISTENER", patch, where) && (where === "SIDECAR_INBOUND" || !routeObjects.includes(patch.applyTo)),
  patch(run, _name, { bytes, needs }) {
    const listener = fromBinary(ListenerSchema, bytes);
    if (run.context === "SIDECAR_INBOUND") patchInlineRoutes(run, listener);
    return patchListener(run, listener) ? encodePart(ListenerSchema, listener, needs) : undefined;
  },
  added: (run) => addedListeners(run).map((listener) => encodePart(ListenerSchema, listener)),
  nameOf: ({ bytes }) => fromBinary(ListenerSchema, bytes).name,
};

export const routePatcher: Patcher = {
  own: undefined,
  applyTo: routeObjects,
  context: (view) => (view.proxy.type === "router" ? "GATEWAY" : "SIDECAR_OUTBOUND"),
  reaches: ({ context }, where) => context === "ANY" || context === where,
  patch(run, _name, { bytes, needs }) {
    const config = fromBinary(RouteConfigurationSchema, bytes);
    patchRoutes(run, config);
    const named = [...new Set([...needs, ...clustersNamed(config)])];
    return encodePart(RouteConfigurationSchema, config, named);
  },
  added: () => [],
  nameOf: ({ bytes }) => fromBinary(RouteConfigurationSchema, bytes).name,
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
  context(view, name) {
    if (view.proxy.type === "router") return "GATEWAY";
    const isInbound = name.startsWith("inbound|") || name === inboundPassthroughCluster;
    return isInbound ? "SIDECAR_INBOUND" : "SIDECAR_OUTBOUND";
  },
  reaches: (patch, where) => isMeant("CLUSTER", patch, where),
  patch(run, name, { bytes }) {
    const cluster = fromBinary(ClusterSchema, bytes);
    return patchCluster(run, cluster, servicesBehind(run.view, name)) ? clusterPart(cluster) : undefined;
  },
  added: (run) => addedClusters(run).map(clusterPart),
  nameOf: ({ bytes }) => fromBinary(ClusterSchema, bytes).name,
};

function clusterPart(cluster: Cluster): Part {
  const assignment = assignmentOf(cluster);
  return encodePart(ClusterSchema, cluster, assignment === undefined ? [] : [assignment]);
}

/** The name by which a cluster asks for its endpoints; undefined where it does not. */
export function assignmentOf({ name, clusterDiscoveryType, edsClusterConfig }: Cluster): string | undefined {
  const isEds = clusterDiscoveryType.case === "type" && clusterDiscoveryType.value === Cluster_DiscoveryType.EDS;
  return isEds ? edsClusterConfig?.serviceName || name : undefined;
}

function servicesBehind(view: View, name: string): readonly string[] {
  if (!name.startsWith("inbound|")) return [];
  const target = inboundTargets(view).find(({ port }) => inboundCluster(port) === name);
  const own = view.proxy.targets
    .filter(({ targetPort }) => targetPort === target?.port)
    .flatMap(({ service }) => view.mesh.service(service)?.host ?? []);
  return [...new Set([...own, ...(target ? [target.service.host] : [])])];
}

/** Whatever context they name: an extension is wherever a filter asks for it. */
export function addedExtensions(run: PatchRun): ReadonlyMap<string, TypedExtensionConfig> {
  const found = new Map<string, TypedExtensionConfig>();
  for (const ready of run.of("EXTENSION_CONFIG", TypedExtensionConfigSchema)) {
    const config = valueOf(ready);
    run.apply(ready, () => {
      if (found.has(config.name)) return { error: `there is another extension ${config.name}` };
      found.set(config.name, config);
      return true;
    });
  }
  return found;
}
