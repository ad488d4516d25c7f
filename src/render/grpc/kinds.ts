/**
 * The kinds of resources in; the same out, with those of gRPC clients and servers for proxies that are such. These have no
 * set of all: each asks for what it dials and for where it listens, by name.
 */
import { type ResourceType, types } from "../../model/index.ts";
import type { ResourceKind } from "../kind.ts";
import { isProxyless } from "../proxy/profile.ts";
import { keyOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { grpcCluster } from "./cluster.ts";
import { grpcEndpoints } from "./endpoint.ts";
import { inboundListener } from "./listener-inbound.ts";
import { parseListenerName } from "./listener-name.ts";
import { outboundListener, outboundListenerKey } from "./listener-outbound.ts";
import { grpcRoute } from "./route.ts";
import { targetKey } from "./target.ts";

type Render = NonNullable<ResourceKind["render"]>;

const listener: Render = (view, name) => {
  const parsed = parseListenerName(name);
  if (parsed?.direction === "inbound") return inboundListener(view, keyOf(name));
  const key = parsed && outboundListenerKey(view, name, parsed);
  return key === undefined ? undefined : outboundListener(view, key);
};

const byTarget =
  (recipe: typeof grpcCluster | typeof grpcEndpoints): Render =>
  (view, name) => {
    const key = targetKey(view, name);
    return key === undefined ? undefined : recipe(view, key);
  };

const renders: ReadonlyMap<ResourceType, Render> = new Map<ResourceType, Render>([
  [types.cluster, byTarget(grpcCluster)],
  [types.endpoint, byTarget(grpcEndpoints)],
  [types.listener, listener],
  [types.route, (view, name) => grpcRoute(view, keyOf(name))],
]);

/** An Envoy's, which nothing of gRPC refers to. */
const absent: ReadonlySet<ResourceType> = new Set([types.secret, types.extension]);

export function withGrpc(kinds: readonly ResourceKind[]): readonly ResourceKind[] {
  return kinds.map((kind) => {
    const render = renders.get(kind.type);
    return render || absent.has(kind.type) ? switched(kind, render ?? (() => undefined)) : kind;
  });
}

function switched(kind: ResourceKind, render: Render): ResourceKind {
  return {
    type: kind.type,
    refs: (view) => (isProxyless(view.proxy) ? [] : kind.refs(view)),
    patched: (view) => (isProxyless(view.proxy) ? undefined : kind.patched?.(view)),
    ...(kind.steps ? { steps: stepsOf(kind.steps) } : {}),
    answers: (view) => isProxyless(view.proxy) || kind.render !== undefined,
    render: (view, name) => (isProxyless(view.proxy) ? render(view, name) : kind.render?.(view, name)),
  };
}

const stepsOf = (steps: NonNullable<ResourceKind["steps"]>) =>
  function* stepsUnlessGrpc(view: View) {
    if (!isProxyless(view.proxy)) yield* steps(view);
  };
