/**
 * What one proxy would be sent, as JSON, in; a bootstrap that holds all of it, so that `envoy --mode validate` looks at
 * every piece, out. Validation never asks a control plane: routes, endpoints, filters and secrets must be written out.
 */
import { type Json, mapObjects } from "./json.ts";

export interface RenderedFiles {
  readonly clusters: readonly Json[];
  readonly listeners: readonly Json[];
  readonly routes: readonly Json[];
  readonly endpoints: readonly Json[];
  readonly ecds: readonly Json[];
}

/** Clusters that the agent's bootstrap brings along; config may refer to them. */
const bootstrapClusters = ["xds-grpc", "sds-grpc", "agent", "prometheus_stats"];

export function inlineClusters(files: RenderedFiles): readonly Json[] {
  const assignments = new Map(files.endpoints.map((assignment) => [assignment.clusterName, assignment]));
  return files.clusters.map(({ edsClusterConfig, ...cluster }) => {
    if (!edsClusterConfig) return cluster;
    const clusterName = edsClusterConfig.serviceName ?? cluster.name;
    return { ...cluster, type: "STATIC", loadAssignment: assignments.get(clusterName) ?? { clusterName } };
  });
}

/** Throws where a listener asks for a route configuration or a filter that is not there: Envoy would wait for it for ever. */
export function inlineListeners(files: RenderedFiles): readonly Json[] {
  const routes = new Map(files.routes.map((route) => [route.name, route]));
  const extensions = new Map(files.ecds.map((extension) => [extension.name, extension]));
  const found = (kind: string, name: string, value: Json): Json => {
    if (!value) throw new Error(`a listener refers to ${kind} ${name}, which is not among the resources`);
    return value;
  };
  return mapObjects(files.listeners, (object) => {
    const { rds, configDiscovery, ...rest } = object;
    if (rds) return { ...rest, routeConfig: found("route", rds.routeConfigName, routes.get(rds.routeConfigName)) };
    if (configDiscovery)
      return {
        ...rest,
        typedConfig: standIn(found("extension", object.name, extensions.get(object.name)).typedConfig),
      };
    return object;
  });
}

/** Wasm modules are fetched by the agent, which puts a filter that refuses everything in place of one that it cannot get. */
function standIn(config: Json): Json {
  const [, level] = /\.filters\.(http|network)\.wasm\.v3\.Wasm$/.exec(config["@type"]) ?? [];
  if (level === undefined) return config;
  const type = `type.googleapis.com/envoy.extensions.filters.${level}.rbac.v3.RBAC`;
  return { "@type": type, rules: {}, ...(level === "network" ? { statPrefix: "wasm" } : {}) };
}

export function bootstrapOf(clusters: readonly Json[], listeners: readonly Json[]): Json {
  const named = new Set(clusters.map(({ name }) => name));
  const own = bootstrapClusters.filter((name) => !named.has(name)).map((name) => ({ name, type: "STATIC" }));
  return {
    node: { id: "sidecar~10.0.0.1~test.default~default.svc.cluster.local", cluster: "test" },
    staticResources: { clusters: [...own, ...clusters], listeners },
  };
}
