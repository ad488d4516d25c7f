/** A proxy as it connected, and the mesh, in; its class, which is all that rendering may read of it, out. */
import { isIPv4, isIPv6 } from "node:net";
import type { Proxy, ProxyClass, Service, ServiceTarget } from "../model/index.ts";
import type { Mesh } from "./mesh.ts";
import { nodeLabel } from "./node-use.ts";

export interface ClassifyInputs {
  readonly mesh: Mesh;
  /** Ports of services that the proxy's workload serves, in any order. */
  targets(proxy: Proxy): readonly ServiceTarget[];
  /** Whether a headless Service has an endpoint at the address. */
  isMember(address: string): boolean;
}

/** Reads are recorded: run inside a memo, the class is made again when something it is made from changes. */
export function classify(inputs: ClassifyInputs, proxy: Proxy): ProxyClass {
  const { mesh } = inputs;
  const targets = sortTargets(mesh, inputs.targets(proxy));
  const usesNodes = mesh.usesNodes();
  return {
    type: proxy.type,
    namespace: proxy.namespace,
    labels: usesNodes ? proxy.labels : withoutNode(proxy.labels),
    serviceAccount: proxy.serviceAccount,
    targets,
    locality: proxy.locality,
    network: proxy.network,
    cluster: proxy.cluster,
    ipv4: proxy.addresses.some((address) => isIPv4(address)) || proxy.addresses.length === 0,
    ipv6: proxy.addresses.some((address) => isIPv6(address)),
    interception: proxy.interception,
    proxyConfig: proxy.proxyConfig,
    metadata: proxy.metadata,
    matchedMetadata: pick(proxy.allMetadata, matchedKeys(mesh, proxy)),
    istioVersion: proxy.istioVersion,
    profile: proxy.profile,
    ownAddresses: needsAddresses(inputs, proxy, targets) ? proxy.addresses : [],
    node: usesNodes ? proxy.node : "",
    ...(proxy.serviceCluster ? { serviceCluster: proxy.serviceCluster } : {}),
  };
}

/** Proxies that no EnvoyFilter tells apart share a class, whatever else they say of themselves. */
function matchedKeys(mesh: Mesh, { namespace, labels }: Proxy): ReadonlySet<string> {
  const patches = mesh.envoyFilters(namespace, labels).flatMap(({ spec }) => spec.configPatches ?? []);
  return new Set(patches.flatMap(({ match }) => Object.keys(match?.proxy?.metadata ?? {})));
}

function pick(all: Readonly<Record<string, string>>, keys: ReadonlySet<string>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.has(key)));
}

function withoutNode(labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { [nodeLabel]: _, ...rest } = labels;
  return rest;
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
function needsAddresses({ mesh, isMember }: ClassifyInputs, proxy: Proxy, targets: readonly ServiceTarget[]): boolean {
  if (targets.some((target) => mesh.service(target.service)?.resolution === "passthrough")) return true;
  if (proxy.type !== "sidecar") return false;
  if (proxy.addresses.some(isMember)) return true;
  if (proxy.interception === "NONE") return true;
  const ingress = mesh.scope(proxy.namespace, proxy.labels).sidecar?.spec.ingress ?? [];
  return ingress.some(({ bind, defaultEndpoint = "" }) => !bind || /^(0\.0\.0\.0|\[::\]):/.test(defaultEndpoint));
}
