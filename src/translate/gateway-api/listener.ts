/** One listener of a Gateway or ListenerSet in; an internal Gateway for it, and what routes can attach to, out. */
import {
  type Config,
  type GatewayApiListener,
  type GatewayServer,
  type GatewaySpec,
  type KubeGatewaySpec,
  matchesSelector,
} from "../../model/index.ts";
import { serviceAccount } from "./gateway-name.ts";
import type { Grants } from "./grant.ts";
import { type GatewayApiInputs, gatewayGroup, generatedName } from "./inputs.ts";
import { expiredCertificates, type ListenerOwner, listenerTls } from "./listener-tls.ts";
import { type Problem, problem } from "./problem.ts";

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
  readonly tlsProblem: Problem | undefined;
  readonly protocolProblem: Problem | undefined;
  /** What is told of, and served all the same: clients say more plainly what is wrong than a closed port does. */
  readonly expired: Problem | undefined;
}

/** `group/Kind/namespace/name`. */
const ownerKey = (kind: string, namespace: string, name: string): string =>
  `${gatewayGroup}/${kind}/${namespace}/${name}`;

export interface Owner {
  readonly kind: "Gateway" | "ListenerSet";
  readonly meta: Config<unknown>["meta"];
}

export function translateListener(
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
          "internal.istio.io/gateway-service": services.join(","),
          "internal.istio.io/service-account-name": serviceAccount(gateway),
          ...(kind === "ListenerSet" ? { "internal.istio.io/parent-namespace": gateway.meta.namespace } : {}),
        },
      },
      spec: { servers: [server] },
    },
    tlsProblem: tls.problem,
    protocolProblem: unsupported,
    expired: tls.value && expiredCertificates(inputs, tls.value),
  };
}

const protocols: ReadonlySet<string> = new Set(["HTTP", "HTTPS", "TLS", "TCP"]);

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
export const namespaceLabels = (
  labels: Readonly<Record<string, string>>,
  name: string,
): Readonly<Record<string, string>> => ({
  ...labels,
  "kubernetes.io/metadata.name": name,
});

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
