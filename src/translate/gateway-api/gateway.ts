/** Gateways and ListenerSets of Istio's classes in; an internal Gateway per listener, and what routes can attach to, out. */
import type { Graph } from "../../collections/index.ts";
import {
  type Config,
  type GatewayApiListener,
  type GatewayServer,
  type GatewaySpec,
  type KubeGatewaySpec,
  matchesSelector,
  objectKey,
} from "../../model/index.ts";
import type { Grants } from "./grant.ts";
import { type GatewayApiInputs, gatewayGroup, generatedName } from "./inputs.ts";
import { conflictingListeners } from "./listener-conflict.ts";
import { type ListenerOwner, listenerTls } from "./listener-tls.ts";
import { joinProblems, type Problem, problem } from "./problem.ts";

/** One listener: what routes attach to. */
export interface Parent {
  /** `group/Kind/namespace/name` of the object that has the listener. */
  readonly owner: string;
  /** `namespace/name` of its internal Gateway. */
  readonly gateway: string;
  readonly section: string;
  readonly port: number;
  readonly protocol: string;
  /** Kinds of routes that it takes. */
  readonly kinds: readonly string[];
  /** As internal gateways write them: `namespace/host`. */
  readonly hosts: readonly string[];
  /** As written; empty: any. */
  readonly hostname: string;
}

export interface TranslatedListener {
  readonly parent: Parent;
  readonly config: Config<GatewaySpec>;
  /** A listener with a problem is told of, and not served. */
  readonly problem: Problem | undefined;
}

/** `group/Kind/namespace/name`. */
export const ownerKey = (kind: string, namespace: string, name: string): string =>
  `${gatewayGroup}/${kind}/${namespace}/${name}`;

const controllers: ReadonlyMap<string, string> = new Map([["istio", "istio.io/gateway-controller"]]);

/** Undefined for Gateways of other controllers, and of classes that Istio does not make listeners for. */
function isOurs({ configs }: GatewayApiInputs, className: string): boolean {
  const controller = configs.gatewayClasses.get(className)?.spec.controllerName ?? controllers.get(className);
  return controller === "istio.io/gateway-controller";
}

export function translateGateway(graph: Graph, inputs: GatewayApiInputs, grants: Grants) {
  const { gateways, listenerSets } = inputs.configs;
  const setsByGateway = graph.index(listenerSets, "gateway", ({ spec, meta }) => [
    `${spec.parentRef?.namespace ?? meta.namespace}/${spec.parentRef?.name ?? ""}`,
  ]);
  return graph.derive<Config<KubeGatewaySpec>, TranslatedListener>("gateway listeners", gateways, (gateway) => {
    if (!isOurs(inputs, gateway.spec.gatewayClassName ?? "")) return [];
    const services = gatewayServices(gateway, inputs.domain);
    if (services.length === 0) return [];
    const sets = setsByGateway
      .get(objectKey(gateway.meta))
      .flatMap((key) => listenerSets.get(key) ?? [])
      .filter(({ meta }) => allowsListeners(inputs, gateway, meta.namespace));
    const owners = [
      { kind: "Gateway" as const, meta: gateway.meta, listeners: gateway.spec.listeners ?? [] },
      ...sets.map(({ meta, spec }) => ({
        kind: "ListenerSet" as const,
        meta,
        listeners: (spec.listeners ?? []) as readonly GatewayApiListener[],
      })),
    ];
    const conflicts = conflictingListeners(owners);
    return owners.flatMap(({ kind, meta, listeners }) =>
      listeners
        .filter((listener) => !conflicts.has(`${kind}/${objectKey(meta)}/${listener.name ?? ""}`))
        .flatMap((listener) => {
          const made = translateListener(inputs, grants, gateway, { kind, meta }, listener, services);
          return made ? [[made.parent.gateway, made] as const] : [];
        }),
    );
  });
}

interface Owner {
  readonly kind: "Gateway" | "ListenerSet";
  readonly meta: Config<unknown>["meta"];
}

function translateListener(
  inputs: GatewayApiInputs,
  grants: Grants,
  gateway: Config<KubeGatewaySpec>,
  { kind, meta }: Owner,
  listener: GatewayApiListener,
  services: readonly string[],
): TranslatedListener | undefined {
  const owner: ListenerOwner = { kind, namespace: meta.namespace, labels: meta.labels ?? {} };
  const tls = listenerTls({ inputs, grants }, owner, listener, gateway.spec);
  const { name: section = "", port = 0, protocol = "" } = listener;
  // A listener for TLS without settings only holds the place for ListenerSets.
  if (!tls.value && (protocol === "HTTPS" || protocol === "TLS")) return undefined;
  const hosts = hostsOf(inputs, meta.namespace, listener);
  const server: GatewayServer = {
    port: { name: "default", number: port, protocol },
    hosts,
    ...(tls.value ? { tls: tls.value } : {}),
  };
  const name = `${meta.name}~${generatedName}~${section}`;
  const unsupported = protocols.has(protocol)
    ? undefined
    : problem("UnsupportedProtocol", `protocol "${protocol}" is unsupported`);
  return {
    parent: {
      owner: ownerKey(kind, meta.namespace, meta.name),
      gateway: `${meta.namespace}/${name}`,
      section,
      port,
      protocol,
      kinds: kindsOf(listener),
      hosts,
      hostname: listener.hostname ?? "",
    },
    config: {
      kind: "Gateway",
      meta: {
        name,
        namespace: meta.namespace,
        ...(meta.creationTimestamp === undefined ? {} : { creationTimestamp: meta.creationTimestamp }),
        annotations: {
          "internal.istio.io/parents": `${kind}/${meta.name}/${section}.${meta.namespace}`,
          "internal.istio.io/gateway-semantics": "gateway",
          "internal.istio.io/gateway-service": services.join(","),
          "internal.istio.io/service-account-name": serviceAccount(gateway),
          ...(kind === "ListenerSet" ? { "internal.istio.io/parent-namespace": gateway.meta.namespace } : {}),
        },
      },
      spec: { servers: [server] },
    },
    problem: joinProblems(tls.problem, unsupported),
  };
}

const protocols: ReadonlySet<string> = new Set(["HTTP", "HTTPS", "TLS", "TCP"]);

/** A Gateway with one Hostname address uses a Service that exists; all others get their own. */
export function isManaged({ addresses = [] }: KubeGatewaySpec): boolean {
  const [only, ...more] = addresses;
  if (!only) return true;
  return more.length === 0 && (only.type === undefined || only.type === "IPAddress");
}

export function defaultName({ meta, spec }: Config<KubeGatewaySpec>): string {
  return `${meta.name}-${spec.gatewayClassName ?? ""}`;
}

function gatewayServices(gateway: Config<KubeGatewaySpec>, domain: string): readonly string[] {
  const { meta, spec } = gateway;
  if (isManaged(spec))
    return [
      `${meta.annotations?.["gateway.istio.io/name-override"] ?? defaultName(gateway)}.${meta.namespace}.svc.${domain}`,
    ];
  return (spec.addresses ?? [])
    .filter(({ type }) => type === undefined || type === "Hostname")
    .map(({ value = "" }) => (value.includes(".") ? value : `${value}.${meta.namespace}.svc.${domain}`));
}

/** Who a managed gateway runs as; nobody knows that of a manual one. */
function serviceAccount(gateway: Config<KubeGatewaySpec>): string {
  return isManaged(gateway.spec)
    ? (gateway.meta.annotations?.["gateway.istio.io/service-account"] ?? defaultName(gateway))
    : "";
}

/** No namespace matched: `~`, which matches nothing, so that the listener still stands. */
function hostsOf(inputs: GatewayApiInputs, namespace: string, listener: GatewayApiListener): readonly string[] {
  const host = listener.hostname ?? "*";
  const found = namespacesOf(inputs, namespace, listener);
  return found.length === 0 ? [`~/${host}`] : found.map((name) => `${name}/${host}`);
}

function namespacesOf(
  { namespaces }: GatewayApiInputs,
  own: string,
  { allowedRoutes }: GatewayApiListener,
): readonly string[] {
  const { from = "Same", selector } = allowedRoutes?.namespaces ?? {};
  if (from === "Same") return [own];
  if (from === "All" || !selector) return ["*"];
  return namespaces
    .keys()
    .filter((name) => matchesSelector(selector, namespaceLabels(namespaces.get(name)?.metadata.labels ?? {}, name)));
}

/** API servers add this label to every namespace. */
const namespaceLabels = (labels: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> => ({
  ...labels,
  "kubernetes.io/metadata.name": name,
});

function allowsListeners(
  { namespaces }: GatewayApiInputs,
  gateway: Config<KubeGatewaySpec>,
  namespace: string,
): boolean {
  const { from, selector } = gateway.spec.allowedListeners?.namespaces ?? {};
  if (from === "All") return true;
  if (from === "Same") return namespace === gateway.meta.namespace;
  if (from !== "Selector" || !selector) return false;
  return matchesSelector(selector, namespaceLabels(namespaces.get(namespace)?.metadata.labels ?? {}, namespace));
}

const kindsByProtocol: ReadonlyMap<string, readonly string[]> = new Map([
  ["HTTP", ["HTTPRoute", "GRPCRoute"]],
  ["HTTPS", ["HTTPRoute", "GRPCRoute"]],
  ["TCP", ["TCPRoute"]],
  ["TLS", ["TLSRoute"]],
]);

export function kindsOf({ protocol = "", tls, allowedRoutes }: GatewayApiListener): readonly string[] {
  const supported = [
    ...(kindsByProtocol.get(protocol) ?? []),
    ...(protocol === "TLS" && tls?.mode === "Terminate" ? ["TCPRoute"] : []),
  ];
  const asked = allowedRoutes?.kinds ?? [];
  if (asked.length === 0) return supported;
  return supported.filter((kind) =>
    asked.some((ref) => ref.kind === kind && (ref.group ?? gatewayGroup) === gatewayGroup),
  );
}
