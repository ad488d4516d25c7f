/** The registry's services and the decoded config objects in, the view that rendering reads out. */
import type { Graph } from "../collections/index.ts";
import {
  type Config,
  compareAge,
  type Endpoint,
  hostKey,
  jwksKey,
  matchesLabels,
  objectKey,
  type SidecarSpec,
} from "../model/index.ts";
import { createCredentials } from "./credential.ts";
import { createDestinationRules } from "./destination-rule.ts";
import { identitiesOf } from "./identities.ts";
import type { MeshInputs } from "./inputs.ts";
import type { Mesh, Scope } from "./mesh.ts";
import { createNodeUse } from "./node-use.ts";
import { composePeerAuthentication } from "./peer-authentication.ts";
import { createNamespaceList, createPolicyLookup, type Labels } from "./policy.ts";
import { effectiveProxyConfig } from "./proxy-config.ts";
import { gatewayScope, type ScopeContext, type ScopeData, sidecarScope } from "./scope.ts";
import { createScopeView } from "./scope-view.ts";
import { createServiceIndex } from "./service-index.ts";
import { applicableTelemetries } from "./telemetry.ts";
import { createVirtualServices } from "./virtual-service.ts";

export function createMesh(graph: Graph, inputs: MeshInputs): Mesh {
  const { configs, services, settings } = inputs;
  const root = (): string => settings().rootNamespace ?? "";
  const index = createServiceIndex(graph, services);
  const virtualServices = createVirtualServices(graph, inputs);
  const rules = createDestinationRules(graph, inputs);
  const context: ScopeContext = { graph, inputs, index, virtualServices };

  const endpoints = graph.memo<readonly Endpoint[]>("endpoints by port", (id) => {
    const [key = "", name = "", number] = id.split("|");
    return inputs.endpoints(key).filter(({ portName, servicePort }) => {
      const byNumber = number !== undefined && servicePort !== undefined;
      return byNumber ? servicePort === Number(number) : portName === name;
    });
  });
  const identities = graph.memo<readonly string[]>("identities", (key) =>
    identitiesOf(
      services.get(index.variants(key).at(-1) ?? key),
      inputs.endpoints(key),
      settings().trustDomainAliases ?? [],
    ),
  );

  const sidecars = createNamespaceList(graph, "Sidecars", configs.sidecars);
  /** `namespace|sidecar key`, or `namespace|gateway`. */
  const scopes = graph.memo<ScopeData>("scope", (id) => {
    const [namespace = "", key = ""] = id.split("|");
    return key === "gateway"
      ? gatewayScope(context, namespace)
      : sidecarScope(context, namespace, configs.sidecars.get(key)?.spec);
  });
  const views = new Map<string, Scope>();
  const view = (namespace: string, sidecarKey: string): Scope => {
    const id = `${namespace}|${sidecarKey}`;
    let found = views.get(id);
    if (!found) {
      found = createScopeView(
        { ...context, rules },
        id,
        namespace,
        () => scopes.get(id),
        () => configs.sidecars.get(sidecarKey),
      );
      views.set(id, found);
    }
    return found;
  };

  const peerAuthentications = createPolicyLookup(graph, "PeerAuthentications", configs.peerAuthentications);
  const requestAuthentications = createPolicyLookup(graph, "RequestAuthentications", configs.requestAuthentications);
  const authorizationPolicies = createPolicyLookup(graph, "AuthorizationPolicies", configs.authorizationPolicies);
  const telemetries = createPolicyLookup(graph, "Telemetries", configs.telemetries);
  const envoyFilters = createPolicyLookup(graph, "EnvoyFilters", configs.envoyFilters);
  const wasmPlugins = createPolicyLookup(graph, "WasmPlugins", configs.wasmPlugins);
  const trafficExtensions = createPolicyLookup(graph, "TrafficExtensions", configs.trafficExtensions);
  const proxyConfigs = createNamespaceList(graph, "ProxyConfigs", configs.proxyConfigs);
  // Gateways select proxies of any namespace, so all of them are looked at.
  const gateways = graph.memo<readonly string[]>("Gateways by age", () =>
    sortedKeys(configs.gateways.keys(), (key) => configs.gateways.get(key)),
  );

  return {
    graph,
    domain: inputs.domain,
    settings,
    service: (key) => services.get(key),
    sees: (namespace, key) => index.isVisible(key, namespace),
    endpoints: (key, { name, port }) => endpoints.get(`${hostKey(key)}|${name}|${port}`),
    endpointsByName: (key, name) => endpoints.get(`${hostKey(key)}|${name}`),
    identities: identities.get,
    servicesOfHost: index.ofHost,
    keySet: (source) => inputs.keySets?.get(jwksKey(source)),
    credentials: createCredentials(inputs),
    maySeeSecrets: inputs.maySeeSecrets ?? (() => true),
    usesNodes: createNodeUse(graph, inputs),
    scope: (namespace, labels) =>
      view(namespace, sidecarFor(sidecars(namespace), labels) ?? rootSidecar(sidecars(root())) ?? ""),
    gatewayScope: (namespace) => view(namespace, "gateway"),
    gateways: (_namespace, labels) =>
      gateways
        .get("")
        .flatMap((key) => configs.gateways.get(key) ?? [])
        .filter((gateway) => matchesLabels(gateway.spec.selector ?? {}, labels)),
    virtualService: virtualServices.get,
    virtualServiceHead: virtualServices.head,
    virtualServiceKeysForGateway: virtualServices.bound,
    virtualServicesForGateway: (namespace, gateway) =>
      virtualServices.bound(namespace, gateway).flatMap((key) => virtualServices.get(key) ?? []),
    peerAuthentication: (namespace, labels) =>
      composePeerAuthentication(peerAuthentications([namespace, root()], namespace, labels), root()),
    requestAuthentications: (namespace, labels) => requestAuthentications([namespace, root()], namespace, labels),
    authorizationPolicies: (namespace, labels) => authorizationPolicies([root(), namespace], namespace, labels),
    telemetries: (namespace, labels) => applicableTelemetries(telemetries, root(), namespace, labels),
    envoyFilters: (namespace, labels) => envoyFilters([root(), namespace], namespace, labels),
    wasmPlugins: (namespace, labels) => wasmPlugins([namespace, root()], namespace, labels),
    trafficExtensions: (namespace, labels) => trafficExtensions([namespace, root()], namespace, labels),
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

/** Those with a selector first, whatever their age. */
function sidecarFor(sidecars: readonly Config<SidecarSpec>[], labels: Labels): string | undefined {
  const found =
    sidecars.find(({ spec }) => spec.workloadSelector && matchesLabels(spec.workloadSelector.labels ?? {}, labels)) ??
    rootLike(sidecars);
  return found && objectKey(found.meta);
}

function rootSidecar(sidecars: readonly Config<SidecarSpec>[]): string | undefined {
  const found = rootLike(sidecars);
  return found && objectKey(found.meta);
}

const rootLike = (sidecars: readonly Config<SidecarSpec>[]): Config<SidecarSpec> | undefined =>
  sidecars.find(({ spec }) => !spec.workloadSelector);

function sortedKeys<T extends Config<unknown>>(
  keys: readonly string[],
  get: (key: string) => T | undefined,
): readonly string[] {
  return keys
    .flatMap((key) => get(key) ?? [])
    .sort((a, b) => compareAge(a.meta, b.meta))
    .map((config) => objectKey(config.meta));
}
