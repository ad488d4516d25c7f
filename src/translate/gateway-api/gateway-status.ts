/** A Gateway's listeners, and the Services it is reached by, in; its status out. */
import { isIP } from "node:net";
import { type Config, type KubeGatewaySpec, portByNumber } from "../../model/index.ts";
import type { GatewayOutcome, ListenerOutcome } from "./gateway.ts";
import { type GatewayApiInputs, gatewayGroup } from "./inputs.ts";
import { kindsOf } from "./listener.ts";
import { type Problem, problem } from "./problem.ts";
import { type Condition, condition, conditions, joinWords } from "./status.ts";

export interface GatewayStatusContext {
  readonly inputs: GatewayApiInputs;
  /** Routes bound to the listener, by `namespace/name` of its internal Gateway. */
  attachedRoutes(gateway: string): number;
}

export function gatewayStatus(
  context: GatewayStatusContext,
  outcome: GatewayOutcome,
): Readonly<Record<string, unknown>> {
  const { gateway, services, listeners } = outcome;
  const own = listeners.filter(({ owner }) => owner.kind === "Gateway");
  const generation = gateway.meta.generation;
  const places = resolveInstances(context.inputs, outcome);
  const addresses =
    places.external.length > 0
      ? places.external
      : places.internal
          .map((place) => place.slice(0, place.lastIndexOf(":")))
          .filter((host) => !places.pending.includes(host));
  return {
    ...(addresses.length > 0
      ? { addresses: [...new Set(addresses)].map((value) => ({ type: isIP(value) ? "IPAddress" : "Hostname", value })) }
      : {}),
    ...(attachedSets(outcome) > 0 ? { attachedListenerSets: attachedSets(outcome) } : {}),
    conditions: conditions(
      acceptedCondition(own, outcome.problem, generation),
      ...insecureFallback(gateway),
      condition(
        "Programmed",
        generation,
        { reason: "Programmed", message: programmedMessage(places.internal) },
        notProgrammed(services, places),
      ),
      condition("ResolvedRefs", generation, { reason: "ResolvedRefs", message: "All references resolved" }),
    ),
    listeners: own.map((listener) => listenerStatus(context, listener, generation)),
  };
}

/** As a Gateway's, but it is accepted only if one of its listeners is good; then it is reached where its Gateway is. */
export function listenerSetStatus(
  context: GatewayStatusContext,
  outcome: GatewayOutcome,
  { meta }: Config<unknown>,
): Readonly<Record<string, unknown>> {
  const { generation } = meta;
  const own = outcome.listeners.filter(({ owner }) => owner.kind === "ListenerSet" && isSame(owner.meta, meta));
  const isGood = own.some((listener) => !problemOf(listener));
  const bad = isGood ? undefined : problem("ListenersNotValid", "None of the ListenerSet's listeners are valid");
  const parent = outcome.problem && {
    ...outcome.problem,
    message: `Parent not accepted: ${outcome.problem.message}`,
  };
  const places = resolveInstances(context.inputs, { ...outcome, listeners: own });
  return {
    conditions: conditions(
      condition("Accepted", generation, { reason: "Accepted", message: "Resource accepted" }, parent ?? bad),
      condition(
        "Programmed",
        generation,
        { reason: "Programmed", message: programmedMessage(places.internal) },
        bad ?? notProgrammed(outcome.services, places),
      ),
    ),
    listeners: own.map((listener) => listenerStatus(context, listener, generation)),
  };
}

export function refusedSetStatus({ meta }: Config<unknown>): Readonly<Record<string, unknown>> {
  const told = problem(
    "NotAllowed",
    "The parent Gateway does not allow this reference; check the 'spec.allowedRoutes'",
  );
  const refused = (type: string) => condition(type, meta.generation, { reason: type, message: "" }, told);
  return { conditions: conditions(refused("Accepted"), refused("Programmed")), listeners: [] };
}

/** A set is attached where one of its listeners works. */
function attachedSets({ listenerSets, listeners }: GatewayOutcome): number {
  const isAttached = ({ meta }: Config<unknown>): boolean =>
    listeners.some(
      (listener) => listener.owner.kind === "ListenerSet" && isSame(listener.owner.meta, meta) && !problemOf(listener),
    );
  return listenerSets.filter(isAttached).length;
}

/** Said only where it is so: clients are let in whose certificates nobody has verified. */
function insecureFallback({ meta, spec }: Config<KubeGatewaySpec>): readonly Condition[] {
  const { default: usual, perPort = [] } = spec.tls?.frontend ?? {};
  const all = [usual, ...perPort.map(({ tls }) => tls)];
  if (!all.some((tls) => tls?.validation?.mode === "AllowInsecureFallback")) return [];
  const message = "Gateway is operating in AllowInsecureFallback mode for frontend validation";
  return [condition("InsecureFrontendValidationMode", meta.generation, { reason: "ConfigurationChanged", message })];
}

const isSame = (a: Config<unknown>["meta"], b: Config<unknown>["meta"]): boolean =>
  a.name === b.name && a.namespace === b.namespace;

function acceptedCondition(
  own: readonly ListenerOutcome[],
  wrong: Problem | undefined,
  generation: number | undefined,
): Condition {
  const good = { reason: "Accepted", message: "Resource accepted" };
  if (wrong) return condition("Accepted", generation, good, wrong);
  const valid = own.filter((outcome) => !problemOf(outcome)).length;
  if (own.length === 0 || valid === own.length) return condition("Accepted", generation, good);
  if (valid === 0)
    return condition(
      "Accepted",
      generation,
      good,
      problem("ListenersNotValid", "None of the Gateway's listeners are valid"),
    );
  return condition("Accepted", generation, {
    reason: "ListenersNotValid",
    message: "One or more of the Gateway's listeners are invalid",
  });
}

function problemOf({ conflict, translated }: ListenerOutcome): boolean {
  return conflict !== undefined || translated?.tlsProblem !== undefined || translated?.protocolProblem !== undefined;
}

const noErrors = "No errors found";

function listenerStatus(
  { attachedRoutes }: GatewayStatusContext,
  outcome: ListenerOutcome,
  generation: number | undefined,
) {
  const { listener, translated } = outcome;
  const asked = listener.allowedRoutes?.kinds ?? [];
  const kinds = kindsOf(listener);
  return {
    name: listener.name ?? "",
    attachedRoutes: translated ? attachedRoutes(translated.parent.gateway) : 0,
    supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
    conditions: listenerConditions(outcome, asked.length === 0 || asked.length === kinds.length, generation),
  };
}

function listenerConditions(
  { conflict, translated }: ListenerOutcome,
  areKindsValid: boolean,
  generation: number | undefined,
): readonly Condition[] {
  const good = (reason: string) => ({ reason, message: noErrors });
  if (conflict) {
    const told = problem(conflict, "Listener has a conflict with another listener attached to the same Gateway");
    return conditions(
      condition("Accepted", generation, good("Accepted"), told),
      condition("Conflicted", generation, { ...told, status: "True" }),
      condition("Programmed", generation, good("Programmed"), told),
    );
  }
  const tls = translated?.tlsProblem;
  const isCa = tls && ["InvalidCACertificateRef", "InvalidCACertificateKind", "RefNotPermitted"].includes(tls.reason);
  const accepted = translated?.protocolProblem ?? (isCa ? problem("NoValidCACertificate", tls.message) : undefined);
  return conditions(
    condition("Accepted", generation, good("Accepted"), accepted),
    condition("Conflicted", generation, { ...good("NoConflicts"), status: "False" }),
    condition("Programmed", generation, good("Programmed"), tls && problem("Invalid", "Bad TLS configuration")),
    areKindsValid
      ? condition("ResolvedRefs", generation, good("ResolvedRefs"), tls ?? translated?.expired)
      : condition("ResolvedRefs", generation, {
          reason: "InvalidRouteKinds",
          message: "Invalid route kinds",
          status: "False",
        }),
  );
}

interface Places {
  /** `host:port` of Services that have instances there. */
  readonly internal: readonly string[];
  readonly external: readonly string[];
  readonly pending: readonly string[];
  readonly warnings: readonly string[];
  /** False where something must change before an address can be used, rather than be waited for. */
  readonly allUsable: boolean;
}

function resolveInstances(inputs: GatewayApiInputs, { gateway, services, listeners }: GatewayOutcome): Places {
  const ports = [
    ...new Set(listeners.flatMap(({ translated, listener }) => (translated && listener.port ? [listener.port] : []))),
  ];
  const internal = new Set<string>();
  const external = new Set<string>();
  const pending = new Set<string>();
  const warnings: string[] = [];
  let allUsable = true;
  for (const host of services) {
    const service = inputs.service(`${gateway.meta.namespace}/${host}`);
    if (!service) {
      warnings.push(elsewhere(inputs, host, gateway.meta.namespace));
      allUsable = false;
      continue;
    }
    const endpoints = inputs.endpoints(service.key);
    for (const port of ports) {
      const name = portByNumber(service.ports, port)?.name;
      if (name !== undefined && endpoints.some((endpoint) => endpoint.portName === name)) {
        internal.add(`${host}:${port}`);
        for (const address of service.externalAddresses) external.add(address);
        if (service.externalAddresses.length === 0 && service.type === "LoadBalancer") pending.add(host);
      } else if (endpoints.length === 0) warnings.push(`no instances found for hostname "${host}"`);
      else if (name === undefined || service.labels["gateway.istio.io/managed"] === undefined) {
        warnings.push(`port ${port} not found for hostname "${host}"`);
        allUsable = false;
      }
    }
  }
  for (const host of pending) warnings.push(`address pending for hostname "${host}"`);
  return {
    internal: [...internal].sort(),
    external: [...external].sort(),
    pending: [...pending],
    warnings: [...new Set(warnings)].sort(),
    allUsable,
  };
}

function elsewhere(inputs: GatewayApiInputs, host: string, namespace: string): string {
  const others = inputs.namespacesOfHost(host).map((name) => `"${name}"`);
  if (others.length === 0) return `hostname "${host}" not found`;
  return `hostname "${host}" not found in namespace "${namespace}", but it was found in namespace(s) ${others.join(", ")}`;
}

const programmedMessage = (internal: readonly string[]): string =>
  internal.length > 0 ? `Resource programmed, assigned to service(s) ${joinWords(internal)}` : "Resource programmed";

function notProgrammed(services: readonly string[], { internal, warnings, allUsable }: Places): Problem | undefined {
  if (services.length === 0) return problem("UnsupportedAddress", "Failed to assign to any requested addresses");
  if (warnings.length === 0) return undefined;
  const why = warnings.join("; ");
  const message =
    internal.length > 0
      ? `Assigned to service(s) ${joinWords(internal)}, but failed to assign to all requested addresses: ${why}`
      : `Failed to assign to any requested addresses: ${why}`;
  return problem(allUsable ? "AddressNotAssigned" : "AddressNotUsable", message);
}
