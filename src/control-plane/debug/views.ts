/** The stages and connections of a control plane in; what its debug paths show, in istiod's shapes, out. */
import type { Collection } from "../../collections/index.ts";
import type { InjectSettings } from "../../inject/index.ts";
import { sortBy } from "../../lib/index.ts";
import {
  type Kind,
  type KubeObject,
  kinds,
  type ResourceType,
  type Service,
  type ServiceTarget,
  storageVersion,
  types,
} from "../../model/index.ts";
import type { DebugView } from "../../ops/index.ts";
import { type Ads, type ProxyStatus, proxyName, shortName } from "../../xds/index.ts";
import type { ControlledSource } from "../resource-source.ts";
import type { Stages } from "../stages.ts";
import { cacheNames, cacheSizes, nothingToClear } from "./cache-view.ts";
import type { ConfigDump } from "./config-dump.ts";
import { refused, withoutEndpoints } from "./push-status.ts";
import { scopeShape, telemetryShape } from "./scope-shape.ts";
import { endpointShape, portShape, serviceShape } from "./service-shape.ts";

export interface DebugViewInputs {
  readonly stages: Stages;
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly configDump: ConfigDump;
  objects(group: string, kind: string): Collection<KubeObject>;
  injectSettings(): InjectSettings;
  readonly cluster: string;
  readonly domain: string;
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
  const sorted = (): readonly ProxyStatus[] => sortBy(ads.status(), ({ connectionId }) => connectionId);
  const namesOf = (proxy: ProxyStatus) => (type: ResourceType) =>
    [...(ads.followed(proxy.connectionId, type) ?? [])].sort();
  const push: DebugView = {
    help: "pushes to all",
    async answer() {
      await resources.flush();
      return `Pushed to ${ads.status().length} servers\n`;
    },
  };
  return [
    [
      "adsz",
      {
        help: "connected clients and what they follow",
        about: "either",
        answer: (asked) => {
          if (asked.query.has("push")) return push.answer(asked);
          const proxies = asked.proxy ? [asked.proxy] : sorted();
          return all(proxies.map((one) => ({ ...client(one), ...followed(one, namesOf(one)) })));
        },
      },
    ],
    ["adsz?push=true", push],
    ["connections", { help: "connected clients", answer: () => all(sorted().map(client)) }],
  ];
}

function followed(proxy: ProxyStatus, namesOf: (type: ResourceType) => readonly string[]): object {
  const { region, zone, subZone } = proxy.node.locality;
  return {
    variant: proxy.variant,
    labels: proxy.node.metadata.LABELS ?? {},
    metadata: proxy.node.metadata,
    locality: Object.fromEntries(Object.entries({ region, zone, subZone }).filter(([, value]) => value !== "")),
    watches: Object.fromEntries(proxy.types.map(({ type }) => [type, namesOf(type)])),
  };
}

/** Those that are built in have no text. */
function templatesOf({ templates, policy }: InjectSettings): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries([...templates.keys()].map((name) => [name, ""])),
    ...Object.fromEntries(policy.templates),
  };
}

/** What came in. */
function inputModel({ stages, objects, injectSettings, cluster, ads, resources }: DebugViewInputs): Views {
  const { registry, settings } = stages;
  const shownService = (key: string): readonly object[] => {
    const service = registry.services.get(key);
    return service ? [serviceShape(service, cluster)] : [];
  };
  const shards: DebugView = {
    help: "endpoints by host, namespace and cluster",
    answer: () => {
      const byHost = new Map<string, Map<string, object>>();
      for (const key of registry.services.keys()) {
        const service = registry.services.get(key);
        if (!service) continue;
        const found = service.ports.flatMap((port) => stages.mesh.endpointsByName(key, port.name));
        if (found.length === 0) continue;
        const endpoints = found.map(endpointShape);
        const namespaces = byHost.get(service.host) ?? new Map<string, object>();
        byHost.set(service.host, namespaces);
        namespaces.set(service.namespace, {
          Shards: { [`${service.registry}/${cluster}`]: endpoints },
          ServiceAccounts: Object.fromEntries(stages.mesh.identities(key).map((identity) => [identity, {}])),
        });
      }
      return Object.fromEntries([...byHost].map(([host, namespaces]) => [host, Object.fromEntries(namespaces)]));
    },
  };
  return [
    ["mesh", { help: "MeshConfig in force", answer: () => withoutEmpty(settings.current()) }],
    ["inject", { help: "templates of the injection webhook, by name", answer: () => templatesOf(injectSettings()) }],
    [
      "registryz",
      {
        help: "all services",
        answer: () => registry.services.keys().flatMap((key) => shownService(key)),
      },
    ],
    ["endpointShardz", shards],
    ["endpointz", { ...shards, help: "the same as endpointShardz" }],
    [
      "configz",
      {
        help: "all objects of the mesh's kinds",
        answer: () =>
          kinds.flatMap(({ group, kind }) => {
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
          [...kinds.map(shownKind), { group: "networking.k8s.io", version: "v1", kind: "Ingress" }].map(
            ({ group, version, kind }) => ({ group, version, kind }),
          ),
      },
    ],
    [
      "instancesz",
      {
        help: "services that each connected proxy belongs to",
        answer: () =>
          Object.fromEntries(
            ads.status().map((proxy) => {
              const targets = resources.rendererOf(proxy.node)?.proxy.targets ?? [];
              const shown = targets.flatMap((target) =>
                targetShape(target, registry.services.get(target.service), cluster),
              );
              return [proxyName(proxy.node), shown] as const;
            }),
          ),
      },
    ],
    [
      "clusterz",
      {
        help: "clusters whose endpoints are read",
        answer: () => [{ id: cluster, secretName: "", syncStatus: "synced" }],
      },
    ],
    ["networkz", { help: "gateways to other networks", answer: () => null }],
    ["mcsz", { help: "multi-cluster services", answer: () => null }],
    ["ambientz", { help: "ambient state", answer: () => ({ workloads: null, services: null, policies: null }) }],
  ];
}

/** In the version that Istio speaks of, which need not be the one that the API stores. */
function shownKind(of: Kind): { readonly group: string; readonly version: string; readonly kind: string } {
  const version = of.versions.some(({ name }) => name === "v1") ? "v1" : storageVersion(of);
  return { group: of.group, version, kind: of.kind };
}

/** As protobuf's JSON has it, what says nothing is left out. */
function withoutEmpty(value: object): object {
  const says = ([, one]: readonly [string, unknown]): boolean =>
    one !== "" && one !== false && !(Array.isArray(one) && one.length === 0);
  return Object.fromEntries(Object.entries(value).filter(says));
}

/** What was made of it. */
function derived({ stages, ads, resources, objects, cluster, domain }: DebugViewInputs): Views {
  const byNamespace = (
    group: string,
    kind: string,
    shown: (name: object, annotations: object | undefined, spec: unknown) => object,
  ): Readonly<Record<string, readonly object[]>> => {
    const collection = objects(group, kind);
    const all = collection.keys().flatMap((key) => collection.get(key) ?? []);
    const groups = Map.groupBy(all, ({ metadata }) => metadata.namespace ?? "");
    return Object.fromEntries(
      [...groups].map(([namespace, list]) => [
        namespace,
        list.map(({ metadata, spec }) => shown({ name: metadata.name, namespace }, metadata.annotations, spec)),
      ]),
    );
  };
  const rootNamespace = (): string => stages.settings.current().rootNamespace ?? "istio-system";
  const policies = () => ({
    namespace_to_policies: byNamespace("security.istio.io", "AuthorizationPolicy", (name, annotations, spec) => ({
      ...name,
      ...{ annotations: annotations ?? null, spec },
    })),
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
          const found = owner?.telemetries.flatMap((key) => stages.mesh.telemetry(key) ?? []);
          if (found) return telemetryShape(found, rootNamespace());
          return {
            telemetries: {
              namespace_to_telemetries: byNamespace("telemetry.istio.io", "Telemetry", (name, _, spec) => ({
                ...name,
                spec,
              })),
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
          return scopeShape(scope, owner.labels, { cluster, domain });
        },
      },
    ],
    [
      "push_status",
      {
        help: "problems met at the last push",
        answer: () => ({ ...withoutEndpoints(stages), ...refused(ads.status()) }),
      },
    ],
    [
      "pushcontext",
      {
        help: "state that the next push is made from",
        answer: () => ({ AuthorizationPolicies: policies(), NetworkGateways: null, UnresolvedGateways: null }),
      },
    ],
    [
      "cachez",
      {
        help: "resources kept, by type",
        answer: ({ query }) => {
          if (query.has("clear")) return nothingToClear;
          return query.has("sizes") ? cacheSizes(resources, ads) : cacheNames(resources, ads);
        },
      },
    ],
    ["cachez?clear=true", { help: "clears them", answer: () => nothingToClear }],
    ["cachez?sizes=true", { help: "the same in bytes", answer: () => cacheSizes(resources, ads) }],
    [
      "krtz",
      {
        help: "classes of proxies and their members",
        answer: () => ({ classes: resources.classes, proxies: resources.nodes }),
      },
    ],
  ];
}

function targetShape(
  { port, targetPort }: ServiceTarget,
  service: Service | undefined,
  cluster: string,
): readonly object[] {
  const of = service?.ports.find((one) => one.port === port);
  if (!service || !of) return [];
  return [{ Service: serviceShape(service, cluster), Port: { ...portShape(of), TargetPort: targetPort } }];
}
