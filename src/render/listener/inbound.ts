/** A sidecar in; the listener that takes its incoming connections, and those on ports of their own, out. */

import { create } from "@bufbuild/protobuf";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import { FilterChainSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { type InboundFacet, type ServerFacet, type TracedFacet, types } from "../../model/index.ts";
import { address } from "../build/address.ts";
import { duration } from "../build/duration.ts";
import { chainMatch } from "../build/listener-chain.ts";
import { originalDestination, originalSource } from "../build/listener-filter.ts";
import { inboundFacet, outboundFacet, serverFacet, tracedServerFacet } from "../facets.ts";
import { exchangeFilters } from "../filters/network-filters.ts";
import { plainTcpProxy } from "../filters/tcp-proxy.ts";
import { traced } from "../http/connection-manager.ts";
import { layerRecipe, type Steps } from "../layer.ts";
import { blackHoleCluster } from "../outbound/cluster-name.ts";
import { encodePart, joined, nested, type Part, samePart } from "../part.ts";
import { wildcards } from "../proxy/addresses.ts";
import { isMade, keyOf, type Ref, recipe, resourceRecipe, wordsOf } from "../recipe.ts";
import { securitySteps } from "../security/index.ts";
import { accessLogs } from "../telemetry/access-log.ts";
import { statsNetworkFilters } from "../telemetry/stats.ts";
import { fill, sameTemplate, type Template, templateOf } from "../template.ts";
import type { View } from "../view.ts";
import { type ChainPlan, inboundChainPart, passthroughPlans, portPlans, prepareInboundChain } from "./inbound-chain.ts";
import { type InboundPort, inboundPorts, type UndeclaredPort, undeclaredPorts } from "./inbound-plan.ts";
import { type Inspected, inspectors } from "./inspectors.ts";

const inboundListenerName = "virtualInbound";

type ServerView = View<ServerFacet & TracedFacet>;

function inboundListenerNames(view: View<ServerFacet>): readonly string[] {
  const capture = view.proxy.interception === "NONE" ? [] : [inboundListenerName];
  return [...capture, ...boundPorts(view).map(boundName)];
}

const boundPorts = (view: View<ServerFacet>): readonly InboundPort[] =>
  inboundPorts(view).filter(({ bindToPort }) => bindToPort);

const boundName = ({ binds, targetPort }: InboundPort): string => `${binds[0]}_${targetPort}`;

const inboundListener = resourceRecipe(tracedServerFacet, types.listener, (view, key) => {
  const ref = templateRef(view, wordsOf(key)[0] ?? "");
  const template = ref?.memo.get(ref.key);
  return template && fill(template, traced(view, "inbound"));
});

function templateRef(view: ServerView, name: string): Ref<Template> | undefined {
  const shape = inboundShape(view, name);
  return shape === "" ? undefined : inboundTemplate.ref(view, `${traced(view, "inbound").bytes.length} ${shape}`);
}

/**
 * All that is decided of a listener, as text; empty where there is none. It names the services that lead to the workload,
 * as spans do: alike are deployments of one service, and of all namespaces those without one. Kept twice for each server,
 * with the template's key, so it says everything once.
 */
const inboundShape = recipe(serverFacet, "inbound listener shape", (view, name): string => {
  const shape = shapeOf(view, name);
  return shape ? JSON.stringify(shape) : "";
});

/** The listener without what traces say of the proxy: shared by all of one shape under the same policies. */
const inboundTemplate = recipe(
  inboundFacet,
  "inbound listener",
  (view, input): Template => {
    const at = input.indexOf(" ");
    const place = new Uint8Array(Number(input.slice(0, at)));
    const shape = JSON.parse(input.slice(at + 1)) as InboundShape;
    return templateOf(shape.place.name, buildListener(view, shape, place), place);
  },
  sameTemplate,
);

export const inboundListeners = layerRecipe(
  tracedServerFacet,
  "inbound listeners",
  (view) => new Map(inboundListenerNames(view).map((name) => [name, inboundListener.ref(view, keyOf(name))])),
);

/** Makes the listeners chain by chain. */
export function* inboundListenerSteps(view: ServerView): Steps {
  if (isMade(inboundListeners.ref(view))) return;
  if (isLong(view) && !inboundListenerNames(view).every((name) => isTemplateMade(view, name))) yield* chainSteps(view);
  yield* inboundListeners.steps(view);
}

function isTemplateMade(view: ServerView, name: string): boolean {
  const ref = templateRef(view, name);
  return !ref || isMade(ref);
}

/** So many ports are made in one go, where nothing but their protocols says what their chains have. */
const fewPorts = 4;

/** Whether to make the chains takes so long that others are to have a turn in between; the rests cost time as well. */
function isLong({ proxy }: View<ServerFacet>): boolean {
  const { targets, sidecar, requestAuthentications, authorizationPolicies, extensions } = proxy;
  const lists = [requestAuthentications, authorizationPolicies, extensions];
  return targets.length > fewPorts || sidecar !== "" || lists.some(({ length }) => length > 0);
}

function* chainSteps(view: View<ServerFacet>): Steps {
  yield* securitySteps(view, ["http", "tcp"]);
  const captured = captureShape(view);
  for (const plan of [...(captured ? plansOf(captured) : []), ...boundPorts(view).flatMap(portPlans)]) {
    prepareInboundChain(view, plan);
    yield;
  }
}

/** What plans follow from: these say the same of a port several times over. */
interface InboundShape {
  readonly place: InboundPlace;
  readonly undeclared: readonly UndeclaredPort[];
  readonly ports: readonly InboundPort[];
}

const plansOf = ({ undeclared, ports }: Pick<InboundShape, "undeclared" | "ports">): readonly ChainPlan[] => [
  ...undeclared.flatMap(passthroughPlans),
  ...ports.flatMap(portPlans),
];

function shapeOf(view: View<ServerFacet>, name: string): InboundShape | undefined {
  if (name === inboundListenerName) return captureShape(view);
  const port = boundPorts(view).find((one) => name === boundName(one));
  if (!port) return undefined;
  return { place: { name, bind: port.binds[0], port: port.targetPort, capture: false }, undeclared: [], ports: [port] };
}

/** All that is redirected to the sidecar arrives here; chains for any port come first, then those of each port. */
function captureShape(view: View<ServerFacet>): InboundShape | undefined {
  if (view.proxy.interception === "NONE") return undefined;
  const port = view.mesh.settings().proxyInboundListenPort ?? 15006;
  const place = { name: inboundListenerName, bind: wildcards(view.proxy)[0], port, capture: true };
  const ports = inboundPorts(view).filter(({ bindToPort }) => !bindToPort);
  return { place, undeclared: undeclaredPorts(view), ports };
}

interface InboundPlace {
  readonly name: string;
  readonly bind: string;
  readonly port: number;
  readonly capture: boolean;
}

function buildListener(view: View<InboundFacet>, shape: InboundShape, tracing: Uint8Array): Part {
  const { place } = shape;
  const { capture, port } = place;
  const plans = plansOf(shape);
  const loop = { port, transport: "", applicationProtocols: [] };
  const inspected = [
    ...(capture ? [loop] : []),
    ...plans.map(({ port: own, match: { transport, applicationProtocols } }) => ({
      port: own,
      transport,
      applicationProtocols,
    })),
  ];
  const chains = [
    ...(capture ? [loopChain(view, String(port))] : []),
    ...plans.map((plan) => inboundChainPart(view, plan, tracing)),
  ];
  return joined([
    inboundFrame(view, JSON.stringify({ place, inspected } satisfies FrameInput)),
    ...chains.map((chain) => nested(ListenerSchema, "filterChains", chain)),
  ]);
}

interface FrameInput {
  readonly place: InboundPlace;
  readonly inspected: readonly Inspected[];
}

/** The listener without its chains: the same for all whose chains look at the same things. */
const inboundFrame = recipe(
  outboundFacet,
  "inbound listener frame",
  (view, key): Part => {
    const { place, inspected } = JSON.parse(key) as FrameInput;
    const { name, bind, port, capture } = place;
    const tproxy = capture && view.proxy.interception === "TPROXY";
    const timeout = duration(view.mesh.settings().protocolDetectionTimeout);
    const frame = create(ListenerSchema, {
      name,
      address: address(bind, port),
      trafficDirection: TrafficDirection.INBOUND,
      continueOnListenerFiltersTimeout: true,
      maxConnectionsToAcceptPerSocketEvent: 1,
      accessLog: accessLogs(view, "inbound", "listener"),
      listenerFilters: [
        ...(capture ? [originalDestination()] : []),
        ...(tproxy ? [originalSource()] : []),
        ...inspectors(inspected),
      ],
      ...(timeout ? { listenerFiltersTimeout: timeout } : {}),
      ...(tproxy ? { transparent: true } : {}),
    });
    return encodePart(ListenerSchema, frame);
  },
  samePart,
);

/** What is addressed to the capture port itself was not redirected: passed on, it would come back for ever. */
const loopChain = recipe(
  outboundFacet,
  "inbound loop",
  (view, port): Part => {
    const chain = create(FilterChainSchema, {
      name: "virtualInbound-blackhole",
      filterChainMatch: chainMatch({ destinationPort: Number(port) }),
      filters: [...exchangeFilters(view), ...statsNetworkFilters(view, "inbound"), plainTcpProxy(blackHoleCluster)],
    });
    return encodePart(FilterChainSchema, chain);
  },
  samePart,
);
