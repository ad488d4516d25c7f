/** A proxy's class in; all its listeners out. */
import { types } from "../model/index.ts";
import type { ResourceKind } from "./kind.ts";
import { captureListenerName, renderCaptureListener } from "./listener-capture.ts";
import { gatewayListenerNames, renderGatewayListener } from "./listener-gateway.ts";
import { httpProxyListener, renderHttpProxyListener } from "./listener-http-proxy.ts";
import { inboundListenerNames, renderInboundListener } from "./listener-inbound.ts";
import { renderOutboundListener } from "./listener-outbound.ts";
import { outboundListeners } from "./listener-outbound-plan.ts";
import type { Part, View } from "./view.ts";

export const listenerKind: ResourceKind = {
  type: types.listener,
  names: (view) => (view.proxy.type === "router" ? gatewayListenerNames(view) : sidecarListenerNames(view)),
  render: (view, name) =>
    view.proxy.type === "router" ? renderGatewayListener(view, name) : renderSidecarListener(view, name),
};

/** MeshConfig with a listen port of 0 switches all listeners off. */
function sidecarListenerNames(view: View): readonly string[] {
  if ((view.mesh.settings().proxyListenPort ?? 0) <= 0) return [];
  const proxy = httpProxyListener(view);
  const capture = view.proxy.interception === "NONE" ? [] : [captureListenerName];
  return [
    ...new Set([
      ...outboundListeners(view).keys(),
      ...(proxy ? [proxy.name] : []),
      ...capture,
      ...inboundListenerNames(view),
    ]),
  ];
}

/** An outbound and an inbound listener can want the same address; the inbound one is sent last and so has it. */
function renderSidecarListener(view: View, name: string): Part | undefined {
  if (name === captureListenerName) return renderCaptureListener(view);
  if (inboundListenerNames(view).includes(name)) return renderInboundListener(view, name);
  if (name === httpProxyListener(view)?.name) return renderHttpProxyListener(view);
  return renderOutboundListener(view, name);
}
