/** A proxy's class in; all its listeners out. */
import { types } from "../model/index.ts";
import {
  buildFacet,
  clientOutboundFacet,
  clientTracedFacet,
  outboundFacet,
  tracedFacet,
  tracedServerFacet,
} from "./facets.ts";
import type { ResourceKind } from "./kind.ts";
import { keyedLayer, type LayerRef, layerRecipe, type Steps } from "./layer.ts";
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
  publicListenerSteps,
  publicListeners,
} from "./listener/outbound-refs.ts";
import { isMade, keyOf, recipe } from "./recipe.ts";
import { securitySteps } from "./security/index.ts";
import type { View } from "./view.ts";

const keysOf = (listeners: ListenerRefs, isHttp: boolean): readonly string[] =>
  [...listeners.values()].filter(({ http }) => http === isHttp).map(({ key }) => key);

/** Once for all deployments, each of which has HTTP listeners of its own. */
const publicKeys = recipe(buildFacet, "public listener keys", (view) => ({
  plain: keysOf(publicListeners(view), false),
  http: keysOf(publicListeners(view), true),
}));

const publicPlain = keyedLayer(outboundFacet, "public listeners", (view) => publicKeys(view).plain, plainListener);
const publicHttp = keyedLayer(tracedFacet, "public HTTP listeners", (view) => publicKeys(view).http, httpListener);
const clientPlain = keyedLayer(
  clientOutboundFacet,
  "client listeners",
  (view) => keysOf(clientListeners(view).listeners, false),
  plainListener,
);
const clientHttp = keyedLayer(
  clientTracedFacet,
  "client HTTP listeners",
  (view) => keysOf(clientListeners(view).listeners, true),
  httpListener,
);
/** For a proxy that makes no listener for its own address. */
const memberListeners = layerRecipe(tracedServerFacet, "member listeners", (view) => {
  const listeners = [...(ownListeners(view)?.values() ?? [])];
  return new Map(listeners.map(({ name, key, http }) => [name, (http ? httpListener : plainListener).ref(view, key)]));
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
  yield* publicListenerSteps(view);
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
