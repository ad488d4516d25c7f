/** A connection and the listeners of a proxy in; the listener that takes it out, as Envoy hands it on by its original destination. */
import type { Address as EnvoyAddress } from "../../gen/envoy/config/core/v3/address_pb.js";
import { TrafficDirection } from "../../gen/envoy/config/core/v3/base_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { type Address, showAddress } from "../request.ts";

export interface ListenerFound {
  readonly listener: Listener;
  readonly why: string;
  readonly lost: readonly string[];
}

/** Out of a Pod: everything comes to the capturing listener, which hands on to one for the address or for any address. */
export function findOutbound(listeners: readonly Listener[], destination: Address): ListenerFound | undefined {
  const capture = listeners.find(
    ({ useOriginalDst, trafficDirection }) => useOriginalDst === true && trafficDirection === TrafficDirection.OUTBOUND,
  );
  if (!capture) return findBound(listeners, destination);
  const others = listeners.filter(
    (listener) => listener !== capture && listener.trafficDirection === TrafficDirection.OUTBOUND,
  );
  const exact = others.find((listener) => addressesOf(listener).some((own) => sameAddress(own, destination)));
  const shown = showAddress(destination);
  if (exact) return { listener: exact, why: `is for ${shown} itself`, lost: [] };
  const lost = others
    .filter((listener) => addressesOf(listener).some(({ port, ip }) => port === destination.port && !isAny(ip)))
    .map(({ name }) => `${name} is for another address`);
  const any = others.find((listener) =>
    addressesOf(listener).some(({ port, ip }) => port === destination.port && isAnyFor(ip, destination.ip)),
  );
  if (any) return { listener: any, why: `takes port ${destination.port} of any address`, lost: briefly(lost) };
  return {
    listener: capture,
    why: `no listener is for ${shown}, so it stays with the one that captures`,
    lost: briefly(lost),
  };
}

/** Into a Pod: one listener captures all. */
export function findInbound(listeners: readonly Listener[], destination: Address): ListenerFound | undefined {
  const own = listeners.find(
    (listener) =>
      listener.trafficDirection === TrafficDirection.INBOUND &&
      listener.name !== "virtualInbound" &&
      addressesOf(listener).some((address) => sameAddress(address, destination)),
  );
  if (own) return { listener: own, why: `is for ${showAddress(destination)} itself`, lost: [] };
  const listener = listeners.find(({ name }) => name === "virtualInbound");
  return listener && { listener, why: "captures everything that comes in", lost: [] };
}

/** To a gateway: the listener that is bound to the port. */
export function findBound(listeners: readonly Listener[], { ip, port }: Address): ListenerFound | undefined {
  const bound = listeners.filter((listener) =>
    addressesOf(listener).some((own) => own.port === port && (own.ip === ip || isAny(own.ip))),
  );
  const [listener] = bound;
  return listener && { listener, why: `is bound to port ${port}`, lost: [] };
}

function addressesOf({ address, additionalAddresses }: Listener): readonly Address[] {
  return [address, ...additionalAddresses.map(({ address: more }) => more)].flatMap(readAddress);
}

export function readAddress(address: EnvoyAddress | undefined): readonly Address[] {
  const socket = address?.address.case === "socketAddress" ? address.address.value : undefined;
  return socket?.portSpecifier.case === "portValue" ? [{ ip: socket.address, port: socket.portSpecifier.value }] : [];
}

const sameAddress = (a: Address, b: Address): boolean => a.ip === b.ip && a.port === b.port;
const isAny = (ip: string): boolean => ip === "0.0.0.0" || ip === "::";
const isAnyFor = (ip: string, of: string): boolean => ip === "::" || (ip === "0.0.0.0" && !of.includes(":"));

export const briefly = (lines: readonly string[], most = 5): readonly string[] =>
  lines.length <= most ? lines : [...lines.slice(0, most), `and ${lines.length - most} more`];
