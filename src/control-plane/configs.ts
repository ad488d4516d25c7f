/** Stage 2: raw objects in; decoded configs per kind, and what is wrong with the others, out. */
import { type Collection, type Graph, sameData } from "../collections/index.ts";
import { decode, type Problem } from "../config/index.ts";
import type { MeshConfigs } from "../mesh/index.ts";
import {
  authorizationPolicy,
  backendTlsPolicy,
  type Config,
  destinationRule,
  envoyFilter,
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
  type Kind,
  type KubeObject,
  kubeGateway,
  listenerSet,
  peerAuthentication,
  proxyConfig,
  referenceGrant,
  requestAuthentication,
  type ServiceEntrySpec,
  type SpecOf,
  serviceEntry,
  sidecar,
  tcpRoute,
  telemetry,
  tlsRoute,
  trafficExtension,
  virtualService,
  type WorkloadEntrySpec,
  wasmPlugin,
  workloadEntry,
} from "../model/index.ts";
import type { ObjectsOf } from "../registry/index.ts";
import type { GatewayApiConfigs } from "../translate/index.ts";

export interface DecodedConfigs {
  readonly configs: MeshConfigs;
  readonly serviceEntries: Collection<Config<ServiceEntrySpec>>;
  readonly workloadEntries: Collection<Config<WorkloadEntrySpec>>;
  readonly gatewayApi: GatewayApiConfigs;
  /** Problems of objects that were met, worst first; recorded nowhere else. */
  problems(): readonly Problem[];
}

interface Outcome<Spec> {
  readonly config: Config<Spec> | undefined;
  readonly problems: readonly Problem[];
}

export function createConfigs(
  graph: Graph,
  objects: ObjectsOf,
  discovered: (object: KubeObject) => boolean,
): DecodedConfigs {
  const outcomes: Collection<Outcome<unknown>>[] = [];
  const decoded = <K extends Kind>(kind: K): Collection<Config<SpecOf<K>>> => {
    const all = graph.derive<KubeObject, Outcome<SpecOf<K>>>(
      `decoded ${kind.plural}`,
      objects(kind.group, kind.kind),
      (object, key) => {
        if (!discovered(object)) return [];
        const result = decode(kind, object);
        return [[key, { config: result.ok, problems: result.problems }]];
      },
      (a, b) => sameConfig(kind, a.config, b.config) && sameData(a.problems, b.problems),
    );
    outcomes.push(all);
    return graph.derive(
      kind.plural,
      all,
      ({ config }, key) => (config ? [[key, config] as const] : []),
      (a, b) => sameConfig(kind, a, b),
    );
  };
  const configs: MeshConfigs = {
    virtualServices: decoded(virtualService),
    destinationRules: decoded(destinationRule),
    gateways: decoded(gateway),
    sidecars: decoded(sidecar),
    peerAuthentications: decoded(peerAuthentication),
    requestAuthentications: decoded(requestAuthentication),
    authorizationPolicies: decoded(authorizationPolicy),
    telemetries: decoded(telemetry),
    envoyFilters: decoded(envoyFilter),
    wasmPlugins: decoded(wasmPlugin),
    trafficExtensions: decoded(trafficExtension),
    proxyConfigs: decoded(proxyConfig),
  };
  return {
    configs,
    serviceEntries: decoded(serviceEntry),
    workloadEntries: decoded(workloadEntry),
    gatewayApi: {
      gatewayClasses: decoded(gatewayClass),
      gateways: decoded(kubeGateway),
      listenerSets: decoded(listenerSet),
      httpRoutes: decoded(httpRoute),
      grpcRoutes: decoded(grpcRoute),
      tcpRoutes: decoded(tcpRoute),
      tlsRoutes: decoded(tlsRoute),
      referenceGrants: decoded(referenceGrant),
      backendTlsPolicies: decoded(backendTlsPolicy),
    },
    problems: () => outcomes.flatMap((all) => all.keys().flatMap((key) => all.get(key)?.problems ?? [])),
  };
}

/** Proxies are told which version of the object it is. */
const versioned: ReadonlySet<string> = new Set([wasmPlugin.kind, trafficExtension.kind]);

/** A status that is written gives the object another version and is no change of its config. */
function sameConfig<Spec>(kind: Kind, a: Config<Spec> | undefined, b: Config<Spec> | undefined): boolean {
  if (!a || !b || versioned.has(kind.kind)) return sameData(a, b);
  const { resourceVersion: _a, ...before } = a.meta;
  const { resourceVersion: _b, ...now } = b.meta;
  return sameData(before, now) && sameData(a.spec, b.spec);
}
