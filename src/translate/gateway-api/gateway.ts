/** Gateways and ListenerSets of Istio's classes in; their listeners, translated or with what is wrong, out. */
import type { Collection, Graph } from "../../collections/index.ts";
import {
  type Config,
  type GatewayApiListener,
  type KubeGatewaySpec,
  type ListenerSetSpec,
  matchesSelector,
  objectKey,
} from "../../model/index.ts";
import { gatewayServices, unsupportedAddress } from "./gateway-name.ts";
import type { Grants } from "./grant.ts";
import type { GatewayApiInputs } from "./inputs.ts";
import { namespaceLabels, type Owner, type TranslatedListener, translateListener } from "./listener.ts";
import { type ConflictReason, conflictingListeners } from "./listener-conflict.ts";
import { type Problem, problem } from "./problem.ts";

export const gatewayController = "istio.io/gateway-controller";

/** A listener as it came out: translated, in conflict with an earlier one, or only holding a place. */
export interface ListenerOutcome {
  readonly owner: Owner;
  readonly listener: GatewayApiListener;
  readonly conflict: ConflictReason | undefined;
  readonly translated: TranslatedListener | undefined;
}

export interface GatewayOutcome {
  readonly gateway: Config<KubeGatewaySpec>;
  /** Hosts of the Services that the gateway is reached by; none: no address of it can be used. */
  readonly services: readonly string[];
  /** Why it is not accepted as a whole, whatever its listeners are. */
  readonly problem: Problem | undefined;
  readonly listeners: readonly ListenerOutcome[];
  readonly listenerSets: readonly Config<ListenerSetSpec>[];
  /** Those that the Gateway does not let in. */
  readonly refusedSets: readonly Config<ListenerSetSpec>[];
}

/** By key of the Gateway; those of other controllers are not there. */
export function translateGateways(graph: Graph, inputs: GatewayApiInputs, grants: Grants): Collection<GatewayOutcome> {
  const { gateways, listenerSets } = inputs.configs;
  const setsByGateway = graph.index(listenerSets, "gateway", ({ spec, meta }) => [
    `${spec.parentRef?.namespace ?? meta.namespace}/${spec.parentRef?.name ?? ""}`,
  ]);
  return graph.derive<Config<KubeGatewaySpec>, GatewayOutcome>("gateway outcomes", gateways, (gateway, key) => {
    if (!isOurs(inputs, gateway.spec.gatewayClassName ?? "")) return [];
    const services = gatewayServices(gateway, inputs.domain);
    const { yes: sets = [], no: refusedSets = [] } = Object.groupBy(
      setsByGateway.get(objectKey(gateway.meta)).flatMap((id) => listenerSets.get(id) ?? []),
      ({ meta }) => (allowsListeners(inputs, gateway, meta.namespace) ? "yes" : "no"),
    );
    const groups = [
      { kind: "Gateway" as const, meta: gateway.meta, listeners: gateway.spec.listeners ?? [] },
      ...sets.map(({ meta, spec }) => ({
        kind: "ListenerSet" as const,
        meta,
        listeners: (spec.listeners ?? []) as readonly GatewayApiListener[],
      })),
    ];
    const conflicts = conflictingListeners(groups);
    const listeners = groups.flatMap(({ kind, meta, listeners: all }) =>
      all.map((listener): ListenerOutcome => {
        const owner = { kind, meta };
        const conflict = conflicts.get(`${kind}/${objectKey(meta)}/${listener.name ?? ""}`);
        const isServed = !conflict && services.length > 0;
        return {
          owner,
          listener,
          conflict,
          translated: isServed ? translateListener(inputs, grants, gateway, owner, listener, services) : undefined,
        };
      }),
    );
    const wrong = unsupportedAddress(gateway.spec) ?? badParameters(inputs, gateway);
    return [[key, { gateway, services, problem: wrong, listeners, listenerSets: sets, refusedSets }]];
  });
}

function badParameters({ configMaps }: GatewayApiInputs, { meta, spec }: Config<KubeGatewaySpec>): Problem | undefined {
  const ref = spec.infrastructure?.parametersRef;
  if (!ref) return undefined;
  const { group = "", kind = "", name = "" } = ref;
  const message =
    group !== "" || kind !== "ConfigMap"
      ? `Unsupported parametersRef group/kind ${group}/${kind}, only ConfigMap is supported`
      : `parametersRef ConfigMap ${meta.namespace}/${name} does not exist`;
  const isThere = group === "" && kind === "ConfigMap" && configMaps.get(`${meta.namespace}/${name}`) !== undefined;
  return isThere ? undefined : problem("InvalidParameters", message);
}

/** The class `istio` need not exist as an object. */
function isOurs({ configs }: GatewayApiInputs, className: string): boolean {
  const written = configs.gatewayClasses.get(className);
  return written ? written.spec.controllerName === gatewayController : className === "istio";
}

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
