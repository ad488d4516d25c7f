/**
 * Requests to listen for a service's port in, one after the other; listeners out. Several services can want the same
 * address and port: the oldest has it, and the others are added as far as Envoy can tell their traffic apart.
 */
import {
  type Config,
  isHttp,
  isTcp,
  type Protocol,
  type Service,
  type ServicePort,
  type VirtualServiceSpec,
} from "../../model/index.ts";
import { wildcards } from "../proxy/addresses.ts";
import {
  anyMatch,
  matchKey,
  type OutboundChain,
  type OutboundHttpChain,
  type OutboundListener,
  sniffedHttp,
} from "./outbound-chain.ts";
import { isDynamicWildcard, type PlanView, tcpChains } from "./outbound-tcp.ts";

export interface PortRequest {
  readonly service: Service;
  /** Hosts of ExternalName Services that stand for it, where names tell connections apart. */
  readonly aliases: readonly string[];
  readonly port: ServicePort;
  readonly binds: readonly [string, ...string[]];
  readonly bindToPort: boolean;
  /** The service's address as this request means it. */
  readonly place: string;
  readonly ranges: readonly string[];
}

export interface OutboundMerge {
  add(request: PortRequest, virtualServices: readonly Config<VirtualServiceSpec>[]): void;
  /** From here on, listeners made so far are left as they are. */
  lock(): void;
  result(): ReadonlyMap<string, OutboundListener>;
}

interface Entry {
  readonly name: string;
  readonly binds: readonly [string, ...string[]];
  readonly port: number;
  readonly bindToPort: boolean;
  /** By what they match. */
  readonly chains: Map<string, OutboundChain>;
  /** `Unsupported` once HTTP and TCP are told apart by looking. */
  protocol: Protocol;
  locked: boolean;
}

/** Servers of these protocols speak first, so nobody may wait for what the client says. */
const serverFirst: ReadonlySet<Protocol> = new Set<Protocol>(["Mongo", "MySQL"]);

export function createOutboundMerge(view: PlanView): OutboundMerge {
  const entries = new Map<string, Entry>();
  return {
    lock() {
      for (const entry of entries.values()) entry.locked = true;
    },
    add(request, virtualServices) {
      const { binds, bindToPort, port } = request;
      const name = `${binds[0]}_${port.port}`;
      const current = entries.get(name);
      if (current?.locked) return;
      const addition = additionTo(view, current, request, virtualServices);
      if (!addition) return;
      if (current && addition.effect !== "replace") {
        for (const chain of addition.chains) addChain(current.chains, chain);
        if (addition.effect === "sniff") current.protocol = "Unsupported";
        return;
      }
      const chains = new Map<string, OutboundChain>();
      for (const chain of addition.chains) addChain(chains, chain);
      entries.set(name, {
        name,
        binds,
        port: port.port,
        bindToPort,
        chains,
        protocol: addition.protocol,
        locked: false,
      });
    },
    result: () =>
      new Map(
        [...entries].map(([name, { protocol: _p, locked: _l, chains, ...listener }]) => [
          name,
          { ...listener, chains: [...chains.values()] },
        ]),
      ),
  };
}

interface Addition {
  readonly chains: readonly OutboundChain[];
  readonly protocol: Protocol;
  /** A listener of its own, chains more, or chains more and from now on sniffing. */
  readonly effect: "replace" | "extend" | "sniff";
}

function additionTo(
  view: PlanView,
  current: Entry | undefined,
  request: PortRequest,
  virtualServices: readonly Config<VirtualServiceSpec>[],
): Addition | undefined {
  const { protocol } = request.port;
  if (protocol === "UDP") return undefined;
  if (protocol === "HTTP_PROXY") return { chains: [httpChain(view, request)], protocol, effect: "replace" };
  if (isHttp(protocol)) return httpAddition(view, current, request);
  const chains = tcpChains(
    view,
    { ...request, port: request.port.port, protocol, bind: request.binds[0] },
    virtualServices,
  );
  if (isTcp(protocol)) return tcpAddition(current, protocol, chains);
  return sniffedAddition(view, current, request, chains);
}

/** All HTTP services of a port share its routes, so only the first makes a listener; one for TCP becomes a sniffing one. */
function httpAddition(view: PlanView, current: Entry | undefined, request: PortRequest): Addition | undefined {
  const { protocol } = request.port;
  if (current && (!isTcp(current.protocol) || serverFirst.has(current.protocol))) return undefined;
  const sniffed = request.binds[0] === wildcards(view.proxy)[0];
  const chains = [httpChain(view, request, sniffed)];
  return { chains, protocol: sniffed ? "Unsupported" : protocol, effect: current ? "sniff" : "replace" };
}

function tcpAddition(
  current: Entry | undefined,
  protocol: Protocol,
  chains: readonly OutboundChain[],
): Addition | undefined {
  if (!current) return { chains, protocol, effect: "replace" };
  if (current.protocol !== protocol && (serverFirst.has(protocol) || serverFirst.has(current.protocol)))
    return undefined;
  return { chains, protocol, effect: isHttp(current.protocol) ? "sniff" : "extend" };
}

/** A sniffed port over a plain HTTP one takes its place: it can do all that the other could. */
function sniffedAddition(
  view: PlanView,
  current: Entry | undefined,
  request: PortRequest,
  tcp: readonly OutboundChain[],
): Addition | undefined {
  const { protocol } = request.port;
  if (current && serverFirst.has(current.protocol)) return undefined;
  if (current && !isHttp(current.protocol) && !isTcp(current.protocol))
    return { chains: tcp, protocol, effect: "extend" };
  const chains = [...tcp, httpChain(view, request, true)];
  return { chains, protocol, effect: current && isTcp(current.protocol) ? "sniff" : "replace" };
}

function httpChain(view: PlanView, request: PortRequest, sniffed = false): OutboundHttpChain {
  const { service, port } = request;
  return {
    ...(sniffed ? sniffedHttp : anyMatch),
    kind: "http",
    routeName: routeName(view, request),
    protocol: port.protocol,
    dynamicHost: isDynamicWildcard(service) ? service.host : undefined,
    absoluteUrls: false,
  };
}

/** Routes are shared by port; a sniffed service at an address of its own has its own. */
function routeName(view: PlanView, { service, port, binds }: PortRequest): string {
  if (port.port === 0) return binds[0];
  const sniffed = !isHttp(port.protocol) && !isTcp(port.protocol);
  const shared = !sniffed || binds[0] === wildcards(view.proxy)[0];
  return shared ? String(port.port) : `${service.host}:${port.port}`;
}

/** Of two chains with the same match the first stays. */
function addChain(chains: Map<string, OutboundChain>, chain: OutboundChain): void {
  const key = matchKey(chain);
  if (!chains.has(key)) chains.set(key, chain);
}
