/** The Gateway API's objects in; internal Gateways, VirtualServices and DestinationRules that mean the same, and statuses, out. */
import { type Collection, type Graph, unionOf } from "../../collections/index.ts";
import { readList, readRecord, readText } from "../../lib/index.ts";
import {
  type Config,
  type DestinationRuleSpec,
  type GatewayClassSpec,
  type GatewaySpec,
  objectKey,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import type { BackendContext } from "./backend.ts";
import { type PolicyVerdict, translateBackendTls } from "./backend-tls-policy.ts";
import { backendTlsStatus } from "./backend-tls-status.ts";
import { supportedFeatures } from "./features.ts";
import { type GatewayOutcome, gatewayController, translateGateways } from "./gateway.ts";
import { gatewayStatus, listenerSetStatus, refusedSetStatus } from "./gateway-status.ts";
import { type GatewayWorkload, gatewayWorkload } from "./gateway-workload.ts";
import { createGrants } from "./grant.ts";
import { grpcRoutes, httpRoutes } from "./http-route.ts";
import { type GatewayApiInputs, gatewayGroup } from "./inputs.ts";
import { tcpRoutes, tlsRoutes } from "./layer4-route.ts";
import type { TranslatedListener } from "./listener.ts";
import type { Outcome } from "./problem.ts";
import { type RouteOutcome, routeStatus } from "./route-status.ts";
import { condition, type ObjectStatus } from "./status.ts";
import { backendContext, type Route, type RouteContext, routeAttachments, translateRoutes } from "./virtual-service.ts";

export interface TranslatedGatewayApi {
  readonly gateways: Collection<Config<GatewaySpec>>;
  readonly virtualServices: Collection<Config<VirtualServiceSpec>>;
  readonly destinationRules: Collection<Config<DestinationRuleSpec>>;
  /** What has to run for Gateways, by their keys. */
  readonly workloads: Collection<GatewayWorkload>;
  /** By `Kind/namespace/name`. */
  readonly statuses: Collection<ObjectStatus>;
}

export function createGatewayApi(graph: Graph, inputs: GatewayApiInputs): TranslatedGatewayApi {
  const grants = createGrants(graph, inputs);
  const outcomes = translateGateways(graph, inputs, grants);
  const listeners = graph.derive<GatewayOutcome, TranslatedListener>("gateway listeners", outcomes, (outcome) =>
    outcome.listeners.flatMap(({ translated }) =>
      translated ? [[translated.parent.gateway, translated] as const] : [],
    ),
  );
  const byOwner = graph.index(listeners, "owner", ({ parent }) => [parent.owner]);
  const parentsOf = (owner: string) => byOwner.get(owner).flatMap((key) => listeners.get(key)?.parent ?? []);
  const context: RouteContext = { inputs, grants, parentsOf };
  const backendTls = translateBackendTls(graph, inputs);
  return {
    gateways: graph.derive<TranslatedListener, Config<GatewaySpec>>("Gateway API gateways", listeners, (made, key) =>
      made.tlsProblem || made.protocolProblem ? [] : [[key, made.config]],
    ),
    virtualServices: translateRoutes(graph, context),
    destinationRules: backendTls.destinationRules,
    workloads: graph.derive<GatewayOutcome, GatewayWorkload>("gateway workloads", outcomes, (outcome, key) => {
      const workload = gatewayWorkload(outcome);
      return workload ? [[key, workload]] : [];
    }),
    statuses: createStatuses(graph, context, outcomes, backendTls.verdicts),
  };
}

interface RouteEntry {
  readonly route: Route;
  readonly kind: string;
  readonly outcome: RouteOutcome;
}

function createStatuses(
  graph: Graph,
  context: RouteContext,
  gateways: Collection<GatewayOutcome>,
  policies: Collection<PolicyVerdict>,
): Collection<ObjectStatus> {
  const { configs } = context.inputs;
  const entries = <R extends Route>(
    kind: string,
    routes: Collection<R>,
    convert: (route: R, context: BackendContext) => Outcome<unknown>,
  ) =>
    graph.derive<R, RouteEntry>(`${kind} outcomes`, routes, (route, key) => [
      [`${kind}/${key}`, { route, kind, outcome: outcomeOf(context, kind, route, convert) }],
    ]);
  const routes = unionOf<RouteEntry>("route outcomes", [
    entries("HTTPRoute", configs.httpRoutes, httpRoutes),
    entries("GRPCRoute", configs.grpcRoutes, grpcRoutes),
    entries("TCPRoute", configs.tcpRoutes, tcpRoutes),
    entries("TLSRoute", configs.tlsRoutes, tlsRoutes),
  ]);
  const byGateway = graph.index(routes, "gateway", ({ outcome }) =>
    outcome.attachments.filter(({ denied, isMesh }) => !denied && !isMesh).map(({ gateway }) => gateway),
  );
  const byBackend = graph.index(routes, "backend", ({ route }) => backendsOf(route));
  const gatewaysOf = ({ policy }: PolicyVerdict): readonly string[] => {
    const targets = (policy.spec.targetRefs ?? []).map(({ kind, name }) => `${kind}/${policy.meta.namespace}/${name}`);
    const entries = targets.flatMap(byBackend.get).flatMap((key) => routes.get(key) ?? []);
    const owners = entries.flatMap(({ outcome }) => outcome.attachments.flatMap(({ parent }) => parent?.owner ?? []));
    const names = owners.filter((owner) => owner.startsWith(`${gatewayGroup}/Gateway/`)).sort();
    return [...new Set(names.map((owner) => owner.slice(owner.lastIndexOf("/") + 1)))];
  };
  const statusContext = { inputs: context.inputs, attachedRoutes: (id: string) => byGateway.get(id).length };
  const statusOf = (kind: string, { meta }: Config<unknown>, status: ObjectStatus["status"]): ObjectStatus => ({
    group: gatewayGroup,
    kind,
    namespace: meta.namespace,
    name: meta.name,
    status,
  });
  return unionOf<ObjectStatus>("Gateway API statuses", [
    graph.derive<Config<GatewayClassSpec>, ObjectStatus>(
      "GatewayClass statuses",
      configs.gatewayClasses,
      (gatewayClass, key) =>
        classControllers.includes(gatewayClass.spec.controllerName ?? "")
          ? [[`GatewayClass/${key}`, statusOf("GatewayClass", gatewayClass, classStatus(gatewayClass))]]
          : [],
    ),
    graph.derive<GatewayOutcome, ObjectStatus>("Gateway statuses", gateways, (outcome, key) => [
      [`Gateway/${key}`, statusOf("Gateway", outcome.gateway, gatewayStatus(statusContext, outcome))],
    ]),
    graph.derive<GatewayOutcome, ObjectStatus>("ListenerSet statuses", gateways, (outcome) =>
      [
        ...outcome.listenerSets.map((set) => [set, listenerSetStatus(statusContext, outcome, set)] as const),
        ...outcome.refusedSets.map((set) => [set, refusedSetStatus(set)] as const),
      ].map(([set, status]) => [`ListenerSet/${objectKey(set.meta)}`, statusOf("ListenerSet", set, status)]),
    ),
    graph.derive<PolicyVerdict, ObjectStatus>("BackendTLSPolicy statuses", policies, (verdict, key) => {
      const status = backendTlsStatus(verdict.policy, { ...verdict, gateways: gatewaysOf(verdict) });
      return [[`BackendTLSPolicy/${key}`, statusOf("BackendTLSPolicy", verdict.policy, status)]];
    }),
    graph.derive<RouteEntry, ObjectStatus>("route statuses", routes, ({ route, kind, outcome }, key) => [
      [key, statusOf(kind, route, routeStatus(outcome, route.meta.namespace, route.meta.generation))],
    ]),
  ]);
}

/** `Kind/namespace/name` of what a route sends to. */
function backendsOf({ meta, spec }: Route): readonly string[] {
  const rules = readList(readRecord(spec).rules).map(readRecord);
  return rules.flatMap(({ backendRefs }) =>
    readList(backendRefs)
      .map(readRecord)
      .map(({ kind, namespace, name }) =>
        [readText(kind) || "Service", readText(namespace) || meta.namespace, readText(name)].join("/"),
      ),
  );
}

function outcomeOf<R extends Route>(
  context: RouteContext,
  kind: string,
  route: R,
  convert: (route: R, context: BackendContext) => Outcome<unknown>,
): RouteOutcome {
  const attachments = routeAttachments(context, kind, route);
  const converted = (isMesh: boolean): Outcome<unknown> => {
    if (!attachments.some((attachment) => attachment.isMesh === isMesh)) return {};
    const { problem } = convert(route, backendContext(context, kind, route.meta.namespace, isMesh));
    return problem ? { problem } : {};
  };
  return { attachments, gateway: converted(false), mesh: converted(true) };
}

/** Classes that are ours to accept; gateways of the second kind run elsewhere and get no config. */
const classControllers: readonly string[] = [gatewayController, "istio.io/unmanaged-gateway"];

function classStatus({ meta }: Config<GatewayClassSpec>): ObjectStatus["status"] {
  return {
    conditions: [
      condition("Accepted", meta.generation, { reason: "Accepted", message: "Handled by Istio controller" }),
    ],
    supportedFeatures: supportedFeatures.map((name) => ({ name })),
  };
}
