/** Stage 2: raw objects in; decoded configs per kind, and what is wrong with the others, out. */
import type { Collection, Graph } from "../collections/index.ts";
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
    );
    outcomes.push(all);
    return graph.derive(kind.plural, all, ({ config }, key) => (config ? [[key, config] as const] : []));
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
