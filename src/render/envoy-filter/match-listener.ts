/** What a patch says about listeners and a place in one in; whether the place is meant out. */
import type { FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
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
export function matchesChain({ match }: Patch, listener: Listener, chain: FilterChain): boolean {
  const { name, filterChainMatch } = chain;
  const { portNumber = 0, filterChain: wanted = {} } = match.listener ?? {};
  const port = filterChainMatch?.destinationPort ?? 0;
  if (isCapture(listener) && portNumber > 0 && port !== portNumber) return false;
  const { sni = "", transportProtocol = "", applicationProtocols = "", destinationPort = 0 } = wanted;
  const { transportSocket = "" } = wanted;
  return (
    (!wanted.name || wanted.name === name) &&
    (sni === "" || filterChainMatch?.serverNames.includes(sni) === true) &&
    (transportProtocol === "" || filterChainMatch?.transportProtocol === transportProtocol) &&
    (applicationProtocols === "" || hasProtocols(filterChainMatch?.applicationProtocols, applicationProtocols)) &&
    (destinationPort === 0 || filterChainMatch?.destinationPort === destinationPort) &&
    (transportSocket === "" || transportSocket === (chain.transportSocket?.name ?? rawSocket))
  );
}

/** What Envoy takes where a chain has none. */
const rawSocket = "envoy.transport_sockets.raw_buffer";

function hasProtocols(offered: readonly string[] | undefined, wanted: string): boolean {
  return offered !== undefined && wanted.split(",").every((protocol) => offered.includes(protocol));
}

/** Name of the listener filter that the patch is about; undefined for any. */
export const listenerFilterOf = ({ match }: Patch): string | undefined => match.listener?.listenerFilter || undefined;

/** Name of the network filter that the patch is about; undefined for any. */
export function networkFilterOf({ match }: Patch): string | undefined {
  const filter = match.listener?.filterChain?.filter;
  return filter && (filter.name ?? "");
}

/** Name of the HTTP filter that the patch is about; undefined for any. */
export function httpFilterOf({ match }: Patch): string | undefined {
  const filter = match.listener?.filterChain?.filter?.subFilter;
  return filter && (filter.name ?? "");
}

export const isNamed = (wanted: string | undefined, { name }: { readonly name: string }): boolean =>
  wanted === undefined || wanted === name;

/** For places in a list: the members of that name, where one is named. */
export function byName(wanted: string | undefined): ((item: { readonly name: string }) => boolean) | undefined {
  return wanted === undefined ? undefined : ({ name }) => name === wanted;
}
