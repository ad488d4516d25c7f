/** What a patch says about listeners and a place in one in; whether the place is meant out. */
import type { Filter, FilterChain, ListenerFilter } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { Patch } from "./patch.ts";

/** Traffic of all ports arrives there; the port is then a condition of the chain. */
const captures = ["virtualInbound", "virtualOutbound"];
const isCapture = ({ name }: Listener): boolean => captures.includes(name);

export function matchesListener({ match, applyTo }: Patch, listener: Listener): boolean {
  const { name = "", portNumber = 0 } = match.listener ?? {};
  if (name !== "" && name !== listener.name) return false;
  if (portNumber === 0 || (applyTo !== "LISTENER" && isCapture(listener))) return true;
  const address = listener.address?.address;
  return (
    address?.case === "socketAddress" &&
    address.value.portSpecifier.case === "portValue" &&
    address.value.portSpecifier.value === portNumber
  );
}

/** The listener has been matched before. */
export function matchesChain({ match }: Patch, listener: Listener, { name, filterChainMatch }: FilterChain): boolean {
  const { portNumber = 0, filterChain: wanted = {} } = match.listener ?? {};
  const port = filterChainMatch?.destinationPort ?? 0;
  if (isCapture(listener) && portNumber > 0 && port !== portNumber) return false;
  const { sni = "", transportProtocol = "", applicationProtocols = "", destinationPort = 0 } = wanted;
  return (
    (!wanted.name || wanted.name === name) &&
    (sni === "" || filterChainMatch?.serverNames.includes(sni) === true) &&
    (transportProtocol === "" || filterChainMatch?.transportProtocol === transportProtocol) &&
    (applicationProtocols === "" || hasProtocols(filterChainMatch?.applicationProtocols, applicationProtocols)) &&
    (destinationPort === 0 || filterChainMatch?.destinationPort === destinationPort)
  );
}

function hasProtocols(offered: readonly string[] | undefined, wanted: string): boolean {
  return offered !== undefined && wanted.split(",").every((protocol) => offered.includes(protocol));
}

export const namesListenerFilter = ({ match }: Patch): boolean => (match.listener?.listenerFilter ?? "") !== "";

export const matchesListenerFilter = (patch: Patch, { name }: ListenerFilter): boolean =>
  !namesListenerFilter(patch) || patch.match.listener?.listenerFilter === name;

export const namesNetworkFilter = ({ match }: Patch): boolean => match.listener?.filterChain?.filter !== undefined;

export const matchesNetworkFilter = (patch: Patch, { name }: Filter): boolean =>
  !namesNetworkFilter(patch) || (patch.match.listener?.filterChain?.filter?.name ?? "") === name;

export const namesHttpFilter = ({ match }: Patch): boolean =>
  match.listener?.filterChain?.filter?.subFilter !== undefined;

export const matchesHttpFilter = (patch: Patch, { name }: HttpFilter): boolean =>
  !namesHttpFilter(patch) || (patch.match.listener?.filterChain?.filter?.subFilter?.name ?? "") === name;
