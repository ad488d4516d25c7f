/** The kinds of configuration that `proxy-config` shows one by one: their names, flags, and views. */
import { viewBootstrap } from "./bootstrap.ts";
import { viewClusters } from "./cluster.ts";
import type { EnvoyDump } from "./dump.ts";
import { parseDump } from "./dump.ts";
import { viewExtensions } from "./ecds.ts";
import { viewAssignments } from "./eds.ts";
import { viewEndpoints } from "./endpoint.ts";
import type { FilterFlag, ProxyConfigFlags } from "./flags.ts";
import { viewListeners } from "./listener.ts";
import { createProtoJson } from "./proto-json.ts";
import { viewRoutes } from "./route.ts";
import { viewSecrets } from "./secret.ts";
import type { DumpSource } from "./source.ts";
import type { View, Why } from "./view.ts";

export interface ConfigKind {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly hidden?: boolean;
  readonly defaultFormat: "short" | "json";
  readonly filters: readonly FilterFlag[];
  /** With `why` the tables have one more column. */
  load(source: DumpSource, flags: ProxyConfigFlags, why?: Why): Promise<View>;
}

/** `query` asks Envoy for no more than is shown. */
function fromDump(
  query: string,
  view: (dump: EnvoyDump, flags: ProxyConfigFlags, why: Why | undefined) => View,
): ConfigKind["load"] {
  return async (source, flags, why) =>
    view(parseDump(await source.configDump(query), await createProtoJson()), flags, why);
}

const endpointFilters: readonly FilterFlag[] = ["address", "port", "cluster", "status"];

export const configKinds: readonly ConfigKind[] = [
  {
    name: "cluster",
    aliases: ["clusters", "c"],
    summary: "Show the clusters that Envoy knows",
    defaultFormat: "short",
    filters: ["fqdn", "direction", "subset", "port", "why"],
    load: fromDump("?mask=dynamic_active_clusters,dynamic_warming_clusters,static_clusters", viewClusters),
  },
  {
    name: "listener",
    aliases: ["listeners", "l"],
    summary: "Show where Envoy listens, and where it leads what comes in",
    defaultFormat: "short",
    filters: ["address", "type", "port", "verbose", "noVerbose", "why"],
    load: fromDump("?mask=dynamic_listeners,static_listeners", (dump, flags, why) =>
      viewListeners(dump, { ...flags, verbose: flags.verbose ?? true }, why),
    ),
  },
  {
    name: "route",
    aliases: ["routes", "r"],
    summary: "Show the routes that Envoy follows",
    defaultFormat: "short",
    filters: ["name", "verbose", "noVerbose", "why"],
    load: fromDump("?mask=dynamic_route_configs,static_route_configs", (dump, flags, why) =>
      viewRoutes(dump, { name: flags.name, verbose: flags.verbose ?? true }, why),
    ),
  },
  {
    name: "endpoint",
    aliases: ["endpoints", "ep"],
    summary: "Show the endpoints that Envoy knows, and their health",
    defaultFormat: "short",
    filters: [...endpointFilters, "why"],
    load: async (source, flags, why) => viewEndpoints(await source.clusters(), flags, await createProtoJson(), why),
  },
  {
    name: "eds",
    aliases: [],
    summary: "Show the endpoints that Envoy was sent",
    hidden: true,
    defaultFormat: "short",
    filters: endpointFilters,
    load: fromDump("?include_eds=true", viewAssignments),
  },
  {
    name: "bootstrap",
    aliases: ["b"],
    summary: "Show what Envoy was started with",
    defaultFormat: "json",
    filters: [],
    load: fromDump("?mask=bootstrap", viewBootstrap),
  },
  {
    name: "secret",
    aliases: ["secrets", "s"],
    summary: "Show the certificates that Envoy has, without their keys",
    defaultFormat: "short",
    filters: [],
    load: fromDump("?mask=dynamic_active_secrets,dynamic_warming_secrets", (dump) => viewSecrets(dump, new Date())),
  },
  {
    name: "ecds",
    aliases: ["ec"],
    summary: "Show the filters that Envoy got by extension discovery",
    defaultFormat: "short",
    filters: [],
    load: fromDump("?include_eds=true", viewExtensions),
  },
];
