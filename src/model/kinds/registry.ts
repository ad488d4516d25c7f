/** All kinds that have a schema of their own, and how they are found by group, kind, plural or apiVersion. */
import { authorizationPolicy } from "./authorization-policy.ts";
import { destinationRule } from "./destination-rule.ts";
import { envoyFilter } from "./envoy-filter.ts";
import { gateway } from "./gateway.ts";
import {
  backendTlsPolicy,
  gatewayClass,
  grpcRoute,
  httpRoute,
  kubeGateway,
  listenerSet,
  referenceGrant,
  tcpRoute,
  tlsRoute,
} from "./gateway-api/index.ts";
import type { Kind } from "./kind.ts";
import { peerAuthentication } from "./peer-authentication.ts";
import { proxyConfig } from "./proxy-config.ts";
import { requestAuthentication } from "./request-authentication.ts";
import { serviceEntry } from "./service-entry.ts";
import { sidecar } from "./sidecar.ts";
import { telemetry } from "./telemetry.ts";
import { trafficExtension } from "./traffic-extension.ts";
import { virtualService } from "./virtual-service.ts";
import { wasmPlugin } from "./wasm-plugin.ts";
import { workloadEntry } from "./workload-entry.ts";
import { workloadGroup } from "./workload-group.ts";

export const istioKinds: readonly Kind[] = [
  authorizationPolicy,
  destinationRule,
  envoyFilter,
  gateway,
  peerAuthentication,
  proxyConfig,
  requestAuthentication,
  serviceEntry,
  sidecar,
  telemetry,
  trafficExtension,
  virtualService,
  wasmPlugin,
  workloadEntry,
  workloadGroup,
];

const gatewayApiKinds: readonly Kind[] = [
  backendTlsPolicy,
  gatewayClass,
  grpcRoute,
  httpRoute,
  kubeGateway,
  listenerSet,
  referenceGrant,
  tcpRoute,
  tlsRoute,
];

/**
 * Kinds whose status says which proxies have them (condition `Programmed`). Not those whose version of the object proxies
 * are told, where writing a status would be a push; nor those that reach a proxy before it connects; nor entries, whose
 * status is their health.
 */
export const programmedKinds: readonly Kind[] = [
  authorizationPolicy,
  destinationRule,
  envoyFilter,
  gateway,
  peerAuthentication,
  requestAuthentication,
  serviceEntry,
  sidecar,
  telemetry,
  virtualService,
];

export const kinds: readonly Kind[] = [...istioKinds, ...gatewayApiKinds];

const byGroupKind: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [`${kind.group}/${kind.kind}`, kind]));

/** The kind of an object's `apiVersion` and `kind`; the version itself is not looked at, as istiod ignores it. */
export function kindOf(apiVersion: string, kind: string): Kind | undefined {
  const slash = apiVersion.indexOf("/");
  return byGroupKind.get(`${slash < 0 ? "" : apiVersion.slice(0, slash)}/${kind}`);
}

/** The kind that a REST path names. */
export function kindOfPlural(group: string, plural: string): Kind | undefined {
  return kinds.find((kind) => kind.group === group && kind.plural === plural);
}
