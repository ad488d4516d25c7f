/** The stages and connections of a control plane in; what its debug paths show, in istiod's shapes, out. */
import type { Collection } from "../../collections/index.ts";
import type { InjectSettings } from "../../inject/index.ts";
import { compareText, type LazyJson, lazyFields, lazyList } from "../../lib/index.ts";
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
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import { cacheNames, cacheSizes, keptParts, nothingToClear } from "./cache-view.ts";
import { createCauseView } from "./causes.ts";
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
function dumps({ configDump, resources }: DebugViewInputs): Views {
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
    ["causez", createCauseView(resources)],
  ];
}

function typesOf(names: string): readonly ResourceType[] {
  const wanted = new Set(names.toUpperCase().split(","));
  return Object.values(types).filter((type) => wanted.has(shortName(type)));
}

function connections({ ads, resources, stages }: DebugViewInputs): Views {
  const client = (proxy: ProxyStatus) => ({
    connectionId: proxy.connectionId,
    connectedAt: proxy.connectedAt.toISOString(),
    address: proxy.peer,
  });
  const all = (ids: readonly string[], shown: (proxy: ProxyStatus) => object): LazyJson =>
    lazyFields([
      ["totalClients", ids.length],
      [
        "clients",
        lazyList(ids.values().flatMap((id) => [ads.statusOf(id)].flatMap((proxy) => (proxy ? [shown(proxy)] : [])))),
      ],
    ]);
  const sorted = (): readonly string[] =>
    [...ads.connected().map(({ connectionId }) => connectionId)].sort(compareText);
  const namesOf = (proxy: ProxyStatus) => (type: ResourceType) =>
    [...(ads.followed(proxy.connectionId, type) ?? [])].sort();
  const push: DebugView = {
    help: "pushes to all",
    async answer() {
      await resources.flush();
      return `Pushed to ${ads.connected().toArray().length} servers\n`;
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
          const ids = asked.proxy ? [asked.proxy.connectionId] : sorted();
          return all(ids, (one) => ({ ...client(one), ...followed(one, stages, namesOf(one)) }));
        },
      },
    ],
    ["adsz?push=true", push],
    ["connections", { help: "connected clients", answer: () => all(sorted(), client) }],
  ];
}

function followed(
  proxy: ProxyStatus,
  { podProxy }: Stages,
  namesOf: (type: ResourceType) => readonly string[],
): object {
  const { region, zone, subZone } = proxy.node.locality;
  const [name = "", namespace = ""] = proxyName(proxy.node).split(/\.(?=[^.]*$)/);
  return {
    variant: proxy.variant,
    // The Pod's, with where it runs: as they are selected by.
    labels: podProxy(`${namespace}/${name}`)?.labels ?? proxy.node.metadata.LABELS ?? {},
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
      const byHost = Map.groupBy(registry.services.keys(), (key) => registry.services.get(key)?.host ?? "");
      const shown = byHost.entries().map(([host, keys]) => [host, shardsOf(keys)] as const);
      return lazyFields(shown.filter(([, namespaces]) => Object.keys(namespaces).length > 0));
    },
  };
  const shardsOf = (keys: readonly string[]): object =>
    Object.fromEntries(
      keys.flatMap((key) => {
        const service = registry.services.get(key);
        const found = service?.ports.flatMap((port) => stages.mesh.endpointsByName(key, port.name)) ?? [];
        if (!service || found.length === 0) return [];
        const shard = {
          Shards: { [`${service.registry}/${cluster}`]: found.map(endpointShape) },
          ServiceAccounts: Object.fromEntries(stages.mesh.identities(key).map((identity) => [identity, {}])),
        };
        return [[service.namespace, shard]];
      }),
    );
  return [
    ["mesh", { help: "MeshConfig in force", answer: () => withoutEmpty(settings.current()) }],
    ["inject", { help: "templates of the injection webhook, by name", answer: () => templatesOf(injectSettings()) }],
    [
      "registryz",
      {
        help: "all services",
        answer: () => lazyList([...registry.services.keys()].values().flatMap((key) => shownService(key))),
      },
    ],
    ["endpointShardz", shards],
    ["endpointz", { ...shards, help: "the same as endpointShardz" }],
    [
      "configz",
      {
        help: "all objects of the mesh's kinds",
        answer: () => {
          const all = kinds.map(({ group, kind }) => objects(group, kind));
          const found = all.map((collection) => ({ collection, keys: [...collection.keys()] }));
          return lazyList(found.values().flatMap(({ collection, keys }) => eachOf(collection, keys)));
        },
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
        answer: () => {
          const nodes = new Map(ads.connected().map(({ node }) => [proxyName(node), node]));
          const shown = nodes.entries().map(([name, node]) => {
            const targets = resources.rendererOf(node)?.proxy.targets ?? [];
            const of = targets.flatMap((target) => targetShape(target, registry.services.get(target.service), cluster));
            return [name, of] as const;
          });
          return lazyFields(shown);
        },
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

function* eachOf<V>(collection: Collection<V>, keys: readonly string[]): Generator<V> {
  for (const key of keys) {
    const found = collection.get(key);
    if (found !== undefined) yield found;
  }
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
  ): LazyJson => {
    const collection = objects(group, kind);
    const groups = Map.groupBy(eachOf(collection, [...collection.keys()]), ({ metadata }) => metadata.namespace ?? "");
    const listed = groups.entries().map(([namespace, list]) => {
      const each = list
        .values()
        .map(({ metadata, spec }) => shown({ name: metadata.name, namespace }, metadata.annotations, spec));
      return [namespace, lazyList(each)] as const;
    });
    return lazyFields(listed);
  };
  const rootNamespace = (): string => stages.settings.current().rootNamespace ?? "istio-system";
  const policies = (): LazyJson => {
    const found = byNamespace("security.istio.io", "AuthorizationPolicy", (name, annotations, spec) => ({
      ...name,
      ...{ annotations: annotations ?? null, spec },
    }));
    return lazyFields([
      ["namespace_to_policies", found],
      ["root_namespace", rootNamespace()],
    ]);
  };
  return [
    [
      "authorizationz",
      {
        help: "authorization policies by namespace",
        answer: () => lazyFields([["authorization_policies", policies()]]),
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
          const all = byNamespace("telemetry.istio.io", "Telemetry", (name, _, spec) => ({ ...name, spec }));
          const telemetries = lazyFields([
            ["namespace_to_telemetries", all],
            ["root_namespace", rootNamespace()],
          ]);
          return lazyFields([["telemetries", telemetries]]);
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
        answer: async () => ({ ...(await withoutEndpoints(stages)), ...refused(ads.refusing()) }),
      },
    ],
    [
      "pushcontext",
      {
        help: "state that the next push is made from",
        answer: () =>
          lazyFields([
            ["AuthorizationPolicies", policies()],
            ["NetworkGateways", null],
            ["UnresolvedGateways", null],
          ]),
      },
    ],
    [
      "cachez",
      {
        help: "resources kept, by type",
        answer: ({ query }) => {
          if (query.has("clear")) return nothingToClear;
          return query.has("sizes") ? cacheSizes(resources) : cacheNames(resources);
        },
      },
    ],
    ["cachez?clear=true", { help: "clears them", answer: () => nothingToClear }],
    ["cachez?sizes=true", { help: "the same in bytes", answer: () => cacheSizes(resources) }],
    [
      "krtz",
      {
        help: "classes of proxies and their members; parts=true: what recipes keep for them",
        answer: async ({ query }) => ({
          ...{ classes: resources.classes, proxies: resources.nodes },
          ...(query.has("parts") ? await keptParts(resources) : {}),
        }),
      },
    ],
  ];
}

function targetShape(
  { portName, targetPort }: ServiceTarget,
  service: Service | undefined,
  cluster: string,
): readonly object[] {
  const of = service?.ports.find(({ name }) => name === portName);
  if (!service || !of) return [];
  return [{ Service: serviceShape(service, cluster), Port: { ...portShape(of), TargetPort: targetPort } }];
}
