/** A proxy's class in; all its listeners out. */
import { type OutboundFacet, type TracedFacet, types } from "../model/index.ts";
import { clientOutboundFacet, clientTracedFacet, outboundFacet, tracedFacet, tracedServerFacet } from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { type LayerRef, layerRecipe, type Refs, type Steps } from "./layer.ts";
import {
  captureListenerName,
  isTracedCapture,
  plainCaptureListener,
  tracedCaptureListener,
} from "./listener/capture.ts";
import { gatewayListenersLayer } from "./listener/gateway.ts";
import { httpProxyListener } from "./listener/http-proxy.ts";
import { inboundListenerSteps, inboundListeners } from "./listener/inbound.ts";
import { httpListener, plainListener } from "./listener/outbound.ts";
import {
  clientListeners,
  type ListenerRefs,
  listenerKey,
  ownListeners,
  publicListeners,
} from "./listener/outbound-refs.ts";
import { isMade, keyOf } from "./recipe.ts";
import { securitySteps } from "./security/index.ts";
import type { View } from "./view.ts";

const plainRefs = (view: View<OutboundFacet>, listeners: ListenerRefs): Refs =>
  new Map([...listeners].flatMap(([name, { key, http }]) => (http ? [] : [[name, plainListener.ref(view, key)]])));

const httpRefs = (view: View<TracedFacet>, listeners: ListenerRefs): Refs =>
  new Map([...listeners].flatMap(([name, { key, http }]) => (http ? [[name, httpListener.ref(view, key)]] : [])));

const publicPlain = layerRecipe(outboundFacet, "public listeners", (view) => plainRefs(view, publicListeners(view)));
const publicHttp = layerRecipe(tracedFacet, "public HTTP listeners", (view) => httpRefs(view, publicListeners(view)));
const clientPlain = layerRecipe(clientOutboundFacet, "client listeners", (view) =>
  plainRefs(view, clientListeners(view).listeners),
);
const clientHttp = layerRecipe(clientTracedFacet, "client HTTP listeners", (view) =>
  httpRefs(view, clientListeners(view).listeners),
);
/** For a proxy that makes no listener for its own address. */
const memberListeners = layerRecipe(tracedServerFacet, "member listeners", (view) => {
  const listeners = ownListeners(view) ?? new Map();
  return new Map([...plainRefs(view, listeners), ...httpRefs(view, listeners)]);
});

/** The capture listener, and the mesh-wide HTTP proxy. */
const fixedListeners = layerRecipe(tracedFacet, "fixed listeners", (view) => {
  const proxy = httpProxyListener(view);
  const capture = (isTracedCapture(view) ? tracedCaptureListener : plainCaptureListener).ref(
    view,
    keyOf(captureListenerName),
  );
  return new Map([
    ...(proxy ? [[proxy.name, httpListener.ref(view, listenerKey(proxy, []))] as const] : []),
    ...(view.proxy.interception === "NONE" ? [] : [[captureListenerName, capture] as const]),
  ]);
});

export const listenerKind: ResourceKind = {
  type: types.listener,
  *steps(view) {
    yield* view.proxy.type === "router" ? gatewaySteps(view) : sidecarSteps(view);
  },
  refs: (view) => (view.proxy.type === "router" ? [gatewayListenersLayer.ref(view)] : sidecarLayers(view)),
};

function* gatewaySteps(view: View): Steps {
  if (!isMade(gatewayListenersLayer.ref(view))) yield* securitySteps(view, ["http"]);
  yield* gatewayListenersLayer.steps(view);
}

function* sidecarSteps(view: View): Steps {
  if (isOff(view)) return;
  for (const layer of outboundRecipes(view)) yield* layer.steps(view);
  yield* inboundListenerSteps(view);
}

/** MeshConfig with a listen port of 0 switches all listeners off. */
const isOff = (view: View): boolean => (view.mesh.settings().proxyListenPort ?? 0) <= 0;

/** An outbound and an inbound listener can want the same address; the inbound one comes last and so has it. */
function sidecarLayers(view: View): readonly LayerRef[] {
  if (isOff(view)) return [];
  return [
    ...outboundRecipes(view).map((layer) => layer.ref(view)),
    fixedListeners.ref(view),
    inboundListeners.ref(view),
  ];
}

function outboundRecipes(view: View) {
  if (ownListeners(view)) return [memberListeners];
  const { onPublic, listeners } = clientListeners(view);
  return [...(onPublic ? [publicPlain, publicHttp] : []), ...(listeners.size > 0 ? [clientPlain, clientHttp] : [])];
}
