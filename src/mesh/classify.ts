/** A proxy as it connected, and the mesh, in; its class, which is all that rendering may read of it, out. */
import { isIPv4, isIPv6 } from "node:net";
import type { Proxy, ProxyClass, ProxyConfigValues, SelfNames, Service, ServiceTarget } from "../model/index.ts";
import type { Mesh } from "./mesh.ts";

export interface ClassifyInputs {
  readonly mesh: Mesh;
  /** Ports of services that the proxy's workload serves, in any order. */
  targets(proxy: Proxy): readonly ServiceTarget[];
  /** Whether a headless Service has an endpoint at the address. */
  isMember(address: string): boolean;
}

/** EnvoyFilters that a proxy is not to have, with the key of the generation before that it has instead, if any. */
export type Withheld = ReadonlyMap<string, string | undefined>;

/** Reads are recorded: run inside a memo, the class is made again when something it is made from changes. */
export function classify(inputs: ClassifyInputs, proxy: Proxy, withheld?: Withheld): ProxyClass {
  const { mesh } = inputs;
  const { namespace, labels } = proxy;
  const targets = sortTargets(mesh, inputs.targets(proxy));
  const { WORKLOAD_NAME: _, ...metadata } = proxy.metadata;
  const isSidecar = proxy.type === "sidecar";
  const sidecar = isSidecar ? mesh.selection.sidecar(namespace, labels) : "";
  const envoyFilters = mesh.selection.envoyFilters(namespace, labels).flatMap((key) => {
    const entry = withheld?.has(key) ? withheld.get(key) : key;
    return entry ?? [];
  });
  return {
    type: proxy.type,
    profile: proxy.profile,
    istioVersion: proxy.istioVersion,
    ipv4: proxy.addresses.some((address) => isIPv4(address)) || proxy.addresses.length === 0,
    ipv6: proxy.addresses.some((address) => isIPv6(address)),
    cluster: proxy.cluster,
    interception: proxy.interception,
    proxyConfig: readConfig(proxy.proxyConfig),
    metadata,
    locality: proxy.locality,
    network: proxy.network,
    node: mesh.usesNodes() ? proxy.node : "",
    placeLabels: mesh.clientLabels.places(labels),
    namespace,
    sidecar,
    labels: mesh.clientLabels.selected(namespace, labels),
    telemetries: mesh.selection.telemetries(namespace, labels),
    extensions: mesh.selection.extensions(namespace, labels),
    targets,
    ownAddresses: needsAddresses(inputs, proxy, targets, sidecar) ? proxy.addresses : [],
    peerAuthentications: isSidecar ? mesh.selection.peerAuthentications(namespace, labels) : [],
    requestAuthentications: mesh.selection.requestAuthentications(namespace, labels),
    authorizationPolicies: mesh.selection.authorizationPolicies(namespace, labels),
    gateways: mesh.selection.gateways(labels),
    promisesMtls: proxy.profile === "grpc" && labels["security.istio.io/tlsMode"] === "istio",
    serviceAccount: proxy.serviceAccount,
    self: selfNames(proxy),
    envoyFilters,
    matchedMetadata: pick(proxy.allMetadata, matchedKeys(mesh, envoyFilters)),
  };
}

/** What rendering reads of a ProxyConfig. */
const readSettings: ReadonlySet<string> = new Set(["proxyHeaders", "connectionSettings", "tracing", "gatewayTopology"]);

const readConfigs = new WeakMap<ProxyConfigValues, ProxyConfigValues>();

/** Of one that many proxies have, once. */
function readConfig(config: ProxyConfigValues): ProxyConfigValues {
  const known = readConfigs.get(config) ?? pick(config, readSettings);
  readConfigs.set(config, known);
  return known;
}

function selfNames({ labels, metadata, serviceCluster = "" }: Proxy): SelfNames {
  return {
    canonicalName: labels["service.istio.io/canonical-name"] ?? "",
    canonicalRevision: labels["service.istio.io/canonical-revision"] ?? "",
    appInstance: labels["app.kubernetes.io/instance"] ?? "",
    appName: labels["app.kubernetes.io/name"] ?? "",
    workload: metadata.WORKLOAD_NAME ?? "",
    serviceCluster,
  };
}

/** Proxies that no EnvoyFilter tells apart share a class, whatever else they say of themselves. */
function matchedKeys(mesh: Mesh, envoyFilters: readonly string[]): ReadonlySet<string> {
  const patches = envoyFilters.flatMap((key) => mesh.envoyFilter(key)?.spec.configPatches ?? []);
  return new Set(patches.flatMap(({ match }) => Object.keys(match?.proxy?.metadata ?? {})));
}

function pick<V>(all: Readonly<Record<string, V>>, keys: ReadonlySet<string>): Readonly<Record<string, V>> {
  return keys.size === 0 ? {} : Object.fromEntries(Object.entries(all).filter((entry) => keys.has(entry[0])));
}

/** Oldest service first, then by host; ports of one service keep their order. */
function sortTargets(mesh: Mesh, targets: readonly ServiceTarget[]): readonly ServiceTarget[] {
  const keyed = targets.map((target) => ({ target, service: mesh.service(target.service) }));
  return keyed
    .filter((entry) => entry.service !== undefined)
    .sort((a, b) => compareServices(a.service, b.service))
    .map((entry) => entry.target);
}

function compareServices(a: Service | undefined, b: Service | undefined): number {
  const [x, y] = [a?.creationTimestamp ?? "", b?.creationTimestamp ?? ""];
  if (x !== y) return x < y ? -1 : 1;
  const [m, n] = [a?.host ?? "", b?.host ?? ""];
  return m < n ? -1 : m > n ? 1 : 0;
}

/**
 * A proxy makes no listener for its own address of a headless service, in capture mode NONE it binds to its own
 * addresses, and a Sidecar may send inbound traffic to them or, where it says nothing else, bind to them. Everyone else shares a class whatever their address is.
 */
function needsAddresses(
  { mesh, isMember }: ClassifyInputs,
  proxy: Proxy,
  targets: readonly ServiceTarget[],
  sidecar: string,
): boolean {
  if (targets.some((target) => mesh.service(target.service)?.resolution === "passthrough")) return true;
  if (proxy.type !== "sidecar") return false;
  if (proxy.addresses.some(isMember)) return true;
  if (proxy.interception === "NONE") return true;
  const ingress = mesh.sidecar(sidecar)?.spec.ingress ?? [];
  return ingress.some(({ bind, defaultEndpoint = "" }) => !bind || /^(0\.0\.0\.0|\[::\]):/.test(defaultEndpoint));
}
