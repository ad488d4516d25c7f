/** The registry's services and the decoded config objects in, the view that rendering reads out. */
import type { Graph } from "../collections/index.ts";
import { type Endpoint, hostKey, jwksKey } from "../model/index.ts";
import { createClientLabels } from "./client-labels.ts";
import { createCredentials } from "./credential.ts";
import { createDestinationRules } from "./destination-rule.ts";
import { identitiesOf } from "./identities.ts";
import type { MeshInputs } from "./inputs.ts";
import type { Mesh, PeerMtls, Scope } from "./mesh.ts";
import { createNodeUse } from "./node-use.ts";
import { composePeerAuthentication } from "./peer-authentication.ts";
import { createNamespaceList } from "./policy.ts";
import { effectiveProxyConfig } from "./proxy-config.ts";
import { createPublicServices } from "./public-services.ts";
import {
  gatewayScope,
  publicHost,
  publicVirtualServices,
  type ScopeContext,
  type ScopeData,
  sidecarScope,
} from "./scope.ts";
import { createCutReads, publicReads, type ScopeReads, wholeReads } from "./scope-reads.ts";
import { createScopeViews } from "./scope-view.ts";
import { createSelection } from "./selection.ts";
import { createServiceIndex } from "./service-index.ts";
import { createVirtualServices } from "./virtual-service.ts";

export function createMesh(graph: Graph, inputs: MeshInputs): Mesh {
  const { configs, services, settings } = inputs;
  const root = (): string => settings().rootNamespace ?? "";
  const index = createServiceIndex(graph, services);
  const virtualServices = createVirtualServices(graph, inputs);
  const rules = createDestinationRules(graph, inputs);
  const context: ScopeContext = { graph, inputs, index, virtualServices };

  const endpoints = graph.memo<readonly Endpoint[]>("endpoints by port", (id) => {
    const [key = "", name = "", number, protocol] = id.split("|");
    return inputs.endpoints(key).filter(({ portName, servicePort, isUdp = false }) => {
      const byNumber = number !== undefined && servicePort !== undefined;
      return byNumber ? servicePort === Number(number) && isUdp === (protocol === "UDP") : portName === name;
    });
  });
  /** Every cluster reads them, and an endpoint that comes or goes hardly ever changes them. */
  const identities = graph.memo<readonly string[]>(
    "identities",
    (key) =>
      identitiesOf(
        services.get(index.variants(key).at(-1) ?? key),
        inputs.endpoints(key),
        settings().trustDomainAliases ?? [],
      ),
    { isEager: true },
  );

  const selection = createSelection(graph, inputs);
  /** A scope without Sidecar of a namespace that nobody names, or that is treated like one. */
  const plain = graph.memo<boolean>(
    "plain namespace",
    (namespace) => index.seesPublicOnly(namespace) && virtualServices.seesPublicOnly(namespace),
  );
  const isPublic = (id: string): boolean => {
    const at = id.indexOf("|");
    if (at === 0) return true;
    const isWithoutSidecar = at === id.length - 1 || id.endsWith(gatewayEnd);
    return isWithoutSidecar && plain.get(id.slice(0, at));
  };
  const open = createPublicServices(graph, index.publicByHost, {
    head: index.head,
    byAge: index.byAge,
    choose: (keys) => publicHost(context, keys),
  });
  const openRoutes = graph.memo<readonly string[]>("public VirtualServices", (type) =>
    publicVirtualServices(context, type === "router" ? "router" : "sidecar"),
  );
  const publicScopes = {
    sidecar: publicReads("sidecar", open, openRoutes.get),
    router: publicReads("router", open, openRoutes.get),
  };
  const publicOf = (id: string): ScopeReads => publicScopes[id.endsWith(gatewayEnd) ? "router" : "sidecar"];
  /** `namespace|sidecar key`, or `namespace|gateway`. */
  const scopes = graph.memo<ScopeData>("scope", (id) => {
    const [namespace = "", key = ""] = id.split("|");
    return key === gatewayKey
      ? gatewayScope(context, namespace)
      : sidecarScope(context, namespace, configs.sidecars.get(key)?.spec);
  });
  const cutReads = createCutReads(graph, scopes.get);
  const view = createScopeViews({
    ...context,
    rules,
    reads: (id) => (isPublic(id) ? publicOf(id) : cutReads(id)),
    wholeReads: (id) => (isPublic(id) ? publicOf(id) : wholeReads(id, scopes.get)),
    isPublic,
  });
  /** Who makes what a class has asks for its scope dozens of times. */
  let lastScope: Scope | undefined;
  const scope = (namespace: string, key: string): Scope => {
    const id = `${namespace}|${key}`;
    if (lastScope?.key !== id) lastScope = view({ id, namespace, sidecar: () => configs.sidecars.get(key) });
    return lastScope;
  };
  const ofEverybody = { sidecar: scope("", ""), router: scope("", gatewayKey) };

  const peerMtls = (keys: readonly string[]): PeerMtls =>
    composePeerAuthentication(
      keys.flatMap((key) => configs.peerAuthentications.get(key) ?? []),
      root(),
    );
  const proxyConfigs = createNamespaceList(graph, "ProxyConfigs", configs.proxyConfigs);

  return {
    graph,
    domain: inputs.domain,
    settings,
    service: (key) => services.get(key),
    sees: (namespace, key) => index.isVisible(key, namespace),
    endpoints: (key, { name, port, protocol }) =>
      endpoints.get(`${hostKey(key)}|${name}|${port}${protocol === "UDP" ? "|UDP" : ""}`),
    endpointsByName: (key, name) => endpoints.get(`${hostKey(key)}|${name}`),
    identities: identities.get,
    serviceNamed(name) {
      const keys = name.includes("/") ? [name] : index.ofHost(name);
      const [key] = keys;
      return key !== undefined && keys.length === 1 ? services.get(key) : undefined;
    },
    keySet: (source) => inputs.keySets?.get(jwksKey(source)),
    credentials: createCredentials(inputs),
    maySeeSecrets: inputs.maySeeSecrets ?? (() => true),
    usesNodes: createNodeUse(graph, inputs),
    selection,
    clientLabels: createClientLabels(graph, inputs),
    scope: (namespace, labels) => scope(namespace, selection.sidecar(namespace, labels)),
    sidecarScope: scope,
    gatewayScope: (namespace) => scope(namespace, gatewayKey),
    publicScope: (type) => ofEverybody[type === "router" ? "router" : "sidecar"],
    publicServicesNamed: open.named,
    sidecar: (key) => configs.sidecars.get(key),
    gateway: (key) => configs.gateways.get(key),
    virtualService: virtualServices.get,
    virtualServiceHead: virtualServices.head,
    virtualServiceTargets: virtualServices.targets,
    virtualServiceKeysForGateway: virtualServices.bound,
    virtualServicesForGateway: (namespace, gateway) =>
      virtualServices.bound(namespace, gateway).flatMap((key) => virtualServices.get(key) ?? []),
    peerAuthentication: (namespace, labels) => peerMtls(selection.peerAuthentications(namespace, labels)),
    peerMtls,
    requestAuthentication: (key) => configs.requestAuthentications.get(key),
    authorizationPolicy: (key) => configs.authorizationPolicies.get(key),
    telemetry: (key) => configs.telemetries.get(key),
    // No object's name has the character that those of a generation before have.
    envoyFilter: (key) => (key.includes("@") ? inputs.keptEnvoyFilters?.get(key) : configs.envoyFilters.get(key)),
    rule: rules.get,
    wasmPlugin: (key) => configs.wasmPlugins.get(key),
    trafficExtension: (key) => configs.trafficExtensions.get(key),
    proxyConfig: (namespace, labels, annotations) =>
      effectiveProxyConfig({
        base: settings().defaultConfig,
        mesh: proxyConfigs(root()),
        namespace: namespace === root() ? [] : proxyConfigs(namespace),
        workload: proxyConfigs(namespace),
        labels,
        annotation: annotations["proxy.istio.io/config"],
      }),
  };
}

/** In place of a Sidecar's key. */
const gatewayKey = "gateway";
const gatewayEnd = `|${gatewayKey}`;
