/** The stages and connections of a control plane in; what its debug paths show, in istiod's shapes, out. */
import type { Collection } from "../collections/index.ts";
import type { InjectSettings } from "../inject/index.ts";
import { kindRef } from "../kube/index.ts";
import { istioKinds, type KubeObject, type ResourceType, types } from "../model/index.ts";
import type { DebugView } from "../ops/index.ts";
import { type Ads, type ProxyStatus, shortName } from "../xds/index.ts";
import type { ConfigDump } from "./config-dump.ts";
import type { ControlledSource } from "./resource-source.ts";
import type { Stages } from "./stages.ts";

export interface DebugViewInputs {
  readonly stages: Stages;
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly configDump: ConfigDump;
  objects(group: string, kind: string): Collection<KubeObject>;
  injectSettings(): InjectSettings;
  readonly cluster: string;
  readonly now: () => Date;
}

type Views = readonly (readonly [string, DebugView])[];

export function createDebugViews(inputs: DebugViewInputs): Map<string, DebugView> {
  return new Map([...dumps(inputs), ...connections(inputs), ...inputModel(inputs), ...derived(inputs)]);
}

/** What one proxy is sent. */
function dumps({ configDump }: DebugViewInputs): Views {
  const typed = (help: string, type: ResourceType): DebugView => ({
    help,
    about: "proxy",
    answer: ({ proxy }) => configDump(proxy?.connectionId ?? "", { only: [type] }),
  });
  return [
    [
      "config_dump",
      {
        help: "what a proxy is sent, as Envoy's own dump: ?proxyID=, types=, include_eds",
        about: "proxy",
        answer: ({ proxy, query }) =>
          configDump(proxy?.connectionId ?? "", {
            only: typesOf(query.get("types") ?? ""),
            endpoints: query.has("include_eds"),
          }),
      },
    ],
    ["edsz", typed("endpoints that a proxy is sent: ?proxyID=", types.endpoint)],
    ["ndsz", typed("names that a proxy is sent: ?proxyID=", types.nameTable)],
    ["ecdsz", typed("extensions that a proxy is sent: ?proxyID=", types.extension)],
  ];
}

function typesOf(names: string): readonly ResourceType[] {
  const wanted = new Set(names.toUpperCase().split(","));
  return Object.values(types).filter((type) => wanted.has(shortName(type)));
}

function connections({ ads, resources }: DebugViewInputs): Views {
  const client = (proxy: ProxyStatus) => ({
    connectionId: proxy.connectionId,
    connectedAt: proxy.connectedAt.toISOString(),
    address: proxy.peer,
  });
  const all = (clients: readonly object[]) => ({ totalClients: clients.length, clients });
  return [
    [
      "adsz",
      {
        help: "connected clients and what they follow; ?push=true pushes to all",
        about: "either",
        async answer({ proxy, query }) {
          const proxies = proxy ? [proxy] : ads.status();
          if (query.has("push")) {
            await resources.flush();
            return `Pushed to ${ads.status().length} servers\n`;
          }
          return all(
            proxies.map((one) => ({
              ...client(one),
              variant: one.variant,
              labels: one.node.metadata.LABELS ?? {},
              metadata: one.node.metadata,
              locality: one.node.locality,
              watches: Object.fromEntries(one.types.map((type) => [type.type, type.subscribed])),
            })),
          );
        },
      },
    ],
    ["connections", { help: "connected clients", answer: () => all(ads.status().map(client)) }],
  ];
}

/** Those that are built in have no text. */
function templatesOf({ templates, policy }: InjectSettings): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries([...templates.keys()].map((name) => [name, ""])),
    ...Object.fromEntries(policy.templates),
  };
}

/** What came in. */
function inputModel({ stages, objects, injectSettings, cluster, ads, resources, now }: DebugViewInputs): Views {
  const { registry, settings } = stages;
  const shards: DebugView = {
    help: "endpoints by host, namespace and cluster",
    answer: () => {
      const byHost = new Map<string, Map<string, object>>();
      for (const key of registry.services.keys()) {
        const service = registry.services.get(key);
        if (!service) continue;
        const endpoints = service.ports.flatMap((port) => stages.mesh.endpointsByName(key, port.name));
        const namespaces = byHost.get(service.host) ?? new Map<string, object>();
        byHost.set(service.host, namespaces);
        namespaces.set(service.namespace, {
          Shards: { [`Kubernetes/${cluster}`]: endpoints },
          ServiceAccounts: Object.fromEntries(stages.mesh.identities(key).map((identity) => [identity, {}])),
        });
      }
      return Object.fromEntries([...byHost].map(([host, namespaces]) => [host, Object.fromEntries(namespaces)]));
    },
  };
  return [
    ["mesh", { help: "MeshConfig in force", answer: () => settings.current() }],
    ["inject", { help: "templates of the injection webhook, by name", answer: () => templatesOf(injectSettings()) }],
    [
      "registryz",
      {
        help: "all services",
        answer: () => registry.services.keys().flatMap((key) => registry.services.get(key) ?? []),
      },
    ],
    ["endpointShardz", shards],
    ["endpointz", { ...shards, help: "the same as endpointShardz" }],
    [
      "configz",
      {
        help: "all objects of Istio's kinds",
        answer: () =>
          istioKinds.flatMap(({ group, kind }) => {
            const collection = objects(group, kind);
            return collection.keys().flatMap((key) => collection.get(key) ?? []);
          }),
      },
    ],
    [
      "resourcesz",
      {
        help: "kinds that are followed",
        answer: () =>
          istioKinds.map(kindRef).map(({ group, version, kind }) => ({ Group: group, Version: version, Kind: kind })),
      },
    ],
    [
      "instancesz",
      {
        help: "services that each connected proxy belongs to",
        answer: () =>
          Object.fromEntries(
            ads
              .status()
              .map((proxy) => [proxy.node.id, resources.rendererOf(proxy.node)?.proxy.targets ?? []] as const),
          ),
      },
    ],
    [
      "clusterz",
      {
        help: "clusters whose endpoints are read",
        answer: () => [
          {
            id: cluster,
            secretName: "",
            syncStatus: "synced",
            lastSyncTime: now().toISOString(),
            clusterName: cluster,
          },
        ],
      },
    ],
    ["networkz", { help: "gateways to other networks", answer: () => [] }],
    ["mcsz", { help: "multi-cluster services", answer: () => [] }],
    ["ambientz", { help: "ambient state", answer: () => ({ workloads: [], services: [], policies: [] }) }],
  ];
}

/** What was made of it. */
function derived({ stages, ads, resources, objects }: DebugViewInputs): Views {
  const byNamespace = (group: string, kind: string): Readonly<Record<string, readonly object[]>> => {
    const collection = objects(group, kind);
    const all = collection.keys().flatMap((key) => collection.get(key) ?? []);
    const groups = Map.groupBy(all, ({ metadata }) => metadata.namespace ?? "");
    return Object.fromEntries(
      [...groups].map(([namespace, list]) => [
        namespace,
        list.map(({ metadata, spec }) => ({ name: metadata.name, namespace, spec })),
      ]),
    );
  };
  const rootNamespace = (): string => stages.settings.current().rootNamespace ?? "istio-system";
  const policies = () => ({
    namespace_to_policies: byNamespace("security.istio.io", "AuthorizationPolicy"),
    root_namespace: rootNamespace(),
  });
  return [
    [
      "authorizationz",
      {
        help: "authorization policies by namespace",
        answer: () => ({ authorization_policies: policies() }),
      },
    ],
    [
      "telemetryz",
      {
        help: "Telemetry objects; those of one proxy with ?proxyID=",
        about: "either",
        answer: ({ proxy }) => {
          const owner = proxy && resources.rendererOf(proxy.node)?.proxy;
          if (owner) return owner.telemetries.flatMap((key) => stages.mesh.telemetry(key) ?? []);
          return {
            telemetries: {
              namespace_to_telemetries: byNamespace("telemetry.istio.io", "Telemetry"),
              root_namespace: rootNamespace(),
            },
          };
        },
      },
    ],
    [
      "sidecarz",
      {
        help: "what a proxy sees: ?proxyID=",
        about: "proxy",
        answer: ({ proxy }) => {
          const owner = proxy && resources.rendererOf(proxy.node)?.proxy;
          if (!owner) return {};
          const scope =
            owner.type === "router"
              ? stages.mesh.gatewayScope(owner.namespace)
              : stages.mesh.scope(owner.namespace, owner.labels);
          return { name: scope.sidecar?.meta.name ?? "", namespace: scope.namespace, services: scope.services };
        },
      },
    ],
    ["push_status", { help: "problems met at the last push", answer: () => ({ ProxyStatus: refused(ads.status()) }) }],
    [
      "pushcontext",
      {
        help: "state that the next push is made from",
        answer: () => ({ AuthorizationPolicies: policies(), NetworkGateways: [], UnresolvedGateways: [] }),
      },
    ],
    [
      "cachez",
      {
        help: "resources kept, by type; ?sizes=true in bytes",
        answer: ({ query }) => (query.has("sizes") ? cacheSizes(resources, ads) : cacheNames(resources, ads)),
      },
    ],
    [
      "krtz",
      {
        help: "classes of proxies and their members",
        answer: () => ({ classes: resources.classes, proxies: resources.nodes }),
      },
    ],
  ];
}

function refused(proxies: readonly ProxyStatus[]): object {
  return Object.fromEntries(
    proxies.flatMap((proxy) =>
      proxy.types
        .filter(({ lastError }) => lastError !== "")
        .map(({ type, lastError }) => [
          `${shortName(type).toLowerCase()}_reject`,
          { [proxy.node.id]: { proxy: proxy.node.id, message: lastError } },
        ]),
    ),
  );
}

function cached(resources: ControlledSource, ads: Ads) {
  const renderers = new Set(ads.status().flatMap((proxy) => resources.rendererOf(proxy.node) ?? []));
  return Object.values(types).flatMap((type) =>
    [...renderers].flatMap((renderer) => [...renderer.all(type).entries()].map(([, resource]) => ({ type, resource }))),
  );
}

function cacheNames(resources: ControlledSource, ads: Ads): object {
  const names = new Map<string, Set<string>>();
  for (const { type, resource } of cached(resources, ads))
    names.set(type, (names.get(type) ?? new Set()).add(resource.name));
  return Object.fromEntries([...names].map(([type, set]) => [type, [...set].sort()]));
}

/** A resource that many proxies are sent is there once. */
function cacheSizes(resources: ControlledSource, ads: Ads): object {
  const seen = new Set<object>();
  const sizes = new Map<string, number>();
  for (const { type, resource } of cached(resources, ads)) {
    if (seen.has(resource)) continue;
    seen.add(resource);
    sizes.set(type, (sizes.get(type) ?? 0) + resource.size);
  }
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  return Object.fromEntries([...sizes, ["total", total] as const].map(([name, bytes]) => [name, `${bytes}B`]));
}
