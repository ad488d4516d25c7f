/** A connection and the proxy that it comes to in; what the proxy does with it out: where it goes on, or how it ends. */
import type { Filter, FilterChain } from "../gen/envoy/config/listener/v3/listener_components_pb.js";
import { HttpConnectionManagerSchema } from "../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { types } from "../model/index.ts";
import { manageHttp } from "./http/connection-manager.ts";
import type { JwtSettings } from "./http/jwt-token.ts";
import { endTls } from "./listener/downstream-tls.ts";
import { findFilterChain } from "./listener/filter-chain-match.ts";
import { inspect } from "./listener/inspectors.ts";
import { findBound, findInbound, findOutbound, type ListenerFound } from "./listener/listener-match.ts";
import { runNetworkFilters } from "./network-filters.ts";
import type { ProxyView } from "./proxy-view.ts";
import type { Subject } from "./rbac.ts";
import { type Connection, type HttpRequest, showAddress } from "./request.ts";
import type { Hop, Outcome, Recorder, Retries, Step } from "./trace.ts";
import { unpack } from "./unpack.ts";
import type { Forwarded } from "./upstream/forward.ts";

/** From the Pod's own application, from elsewhere to it, or from anybody to a gateway. */
export type Side = "outbound" | "inbound" | "gateway";

export interface HopInput {
  readonly proxy: ProxyView;
  readonly side: Side;
  readonly connection: Connection;
  readonly recorder: Recorder;
  readonly jwt: JwtSettings;
}

export interface HopResult {
  readonly hop: Omit<Hop, "status" | "flags" | "details">;
  /** Whether TLS of the connection ended here. */
  readonly endsTls: boolean;
  readonly retries: Retries;
  /** Of its access log, whatever comes back. */
  readonly flags: readonly string[];
  /** Whether it looked into HTTP, and so has an answer for what goes wrong behind it. */
  readonly request: HttpRequest | undefined;
  readonly end:
    | { readonly kind: "end"; readonly outcome: Outcome }
    | { readonly kind: "forward"; readonly forwarded: Extract<Forwarded, { kind: "connection" }> };
}

/** A proxy that only passes bytes on counts a connection that failed as one that was tried often enough. */
const untouched = { endsTls: false, retries: { connect: true, broken: false }, flags: [], request: undefined } as const;

export function evaluateHop(input: HopInput): HopResult {
  const { proxy, side, connection, recorder } = input;
  const found = findListener(proxy, side, connection);
  const hop = {
    proxy: proxy.name,
    listener: found?.listener.name ?? "",
    filterChain: "",
    virtualHost: "",
    route: "",
    cluster: "",
    endpoint: "",
    peer: "",
  };
  const closed = (details: string, flags: readonly string[] = [], more: Partial<typeof hop> = {}): HopResult => ({
    hop: { ...hop, ...more },
    ...untouched,
    end: { kind: "end", outcome: { kind: "closed", flags, details } },
  });
  if (!found) {
    recorder.step({
      proxy: proxy.name,
      stage: "listener",
      decision: `no listener is for ${showAddress(connection.destination)}: the connection is refused`,
    });
    return closed("connection_refused");
  }
  const resource = { type: types.listener, name: found.listener.name };
  recorder.step({
    proxy: proxy.name,
    stage: "listener",
    decision: `${found.listener.name}: ${found.why}`,
    lost: found.lost,
    resource,
  });
  const seen = inspect(found.listener, connection);
  const { chain, why, lost } = findFilterChain(found.listener, connection, seen);
  if (!chain) {
    recorder.step({
      proxy: proxy.name,
      stage: "filter chain",
      decision: "no filter chain fits: the connection is closed",
      lost,
      resource,
    });
    return closed("filter_chain_not_found", ["NR"]);
  }
  recorder.step({
    proxy: proxy.name,
    stage: "filter chain",
    decision: `${chain.name || "unnamed"}: ${why}`,
    lost,
    resource,
  });
  const tls = endTls(chain, connection);
  if (tls.kind === "failed") {
    recorder.step({ proxy: proxy.name, stage: "tls", decision: `the handshake fails: ${tls.why}`, resource });
    return closed("tls_handshake_failed", [], { filterChain: chain.name });
  }
  if (tls.kind === "ended")
    recorder.step({
      proxy: proxy.name,
      stage: "tls",
      decision: `TLS ends here; the caller is ${tls.peer ?? "nobody that is known"}`,
      resource,
    });
  return throughChain(
    input,
    chain,
    { ...hop, filterChain: chain.name, peer: (tls.kind === "ended" && tls.peer) || "" },
    {
      resource,
      connection: tls.kind === "ended" ? tls.connection : connection,
      peer: tls.kind === "ended" ? tls.peer : undefined,
      isTls: tls.kind === "ended",
      sni: seen.sni,
    },
  );
}

function findListener(proxy: ProxyView, side: Side, { destination }: Connection): ListenerFound | undefined {
  const listeners = proxy.listeners();
  if (side === "gateway") return findBound(listeners, destination);
  return side === "inbound" ? findInbound(listeners, destination) : findOutbound(listeners, destination);
}

interface Inside {
  readonly resource: Step["resource"];
  readonly connection: Connection;
  readonly peer: string | undefined;
  readonly isTls: boolean;
  readonly sni: string;
}

function throughChain(input: HopInput, chain: FilterChain, hop: HopResult["hop"], inside: Inside): HopResult {
  const { proxy, recorder } = input;
  const { connection, resource } = inside;
  const subject: Subject = {
    request: undefined,
    destination: connection.destination,
    source: connection.source.ip,
    remote: connection.source.ip,
    peer: inside.peer,
    tls: inside.isTls,
    sni: inside.sni,
    metadata: new Map(),
  };
  const plain = { ...untouched, endsTls: inside.isTls };
  const network = runNetworkFilters(chain.filters, { proxy, recorder, resource, connection, subject });
  if (network.kind === "closed")
    return {
      hop: { ...hop, cluster: network.cluster },
      ...plain,
      end: { kind: "end", outcome: network.outcome },
    };
  if (network.kind === "forward")
    return {
      hop: { ...hop, cluster: network.cluster, endpoint: network.forwarded.endpoint },
      ...plain,
      end: { kind: "forward", forwarded: network.forwarded },
    };
  const manager = managerOf(network.filter);
  const { payload } = connection;
  const isHttp = payload.kind === "http" && connection.tls.length === 0;
  if (!manager || !isHttp) {
    const decision = manager
      ? "what comes is not HTTP: the connection is closed"
      : "there is no filter that would take it on";
    recorder.step({ proxy: proxy.name, stage: "network filter", decision, resource });
    return {
      hop,
      ...plain,
      end: { kind: "end", outcome: { kind: "closed", flags: manager ? ["DPE"] : [], details: "codec_error" } },
    };
  }
  const result = manageHttp({
    proxy,
    recorder,
    jwt: input.jwt,
    manager,
    connection,
    request: payload.request,
    subject,
    resource,
  });
  const seen = { endsTls: inside.isTls, retries: result.retries, flags: result.flags, request: payload.request };
  const named = { ...hop, virtualHost: result.virtualHost, route: result.route, cluster: result.cluster };
  if (result.end.kind === "answer")
    return {
      hop: named,
      ...seen,
      end: { kind: "end", outcome: result.end.outcome },
    };
  return {
    hop: { ...named, endpoint: result.end.forwarded.endpoint },
    ...seen,
    end: { kind: "forward", forwarded: result.end.forwarded },
  };
}

function managerOf(filter: Filter | undefined) {
  return filter?.configType.case === "typedConfig"
    ? unpack(HttpConnectionManagerSchema, filter.configType.value)
    : undefined;
}
