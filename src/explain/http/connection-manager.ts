/** A request and a connection manager in; the answer that Envoy gives itself, or the connection that goes on, out. */
import type { Route } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HttpConnectionManager } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { FilterConfigSchema as AlpnSchema } from "../../gen/istio/alpn_pb.js";
import { type Connection, type HttpRequest, isGrpc } from "../request.ts";
import type { Outcome, Retries } from "../trace.ts";
import { unpack } from "../unpack.ts";
import { type Forwarded, forward } from "../upstream/forward.ts";
import {
  createMatcher,
  needsTls,
  type RouteInput,
  routeConfigOf,
  routeHints,
  routeResource,
  tellRoute,
} from "./choose-route.ts";
import type { HttpState } from "./filter.ts";
import { runFilters } from "./filters.ts";
import type { JwtSettings } from "./jwt-token.ts";
import { normalizePath } from "./normalize-path.ts";
import { remoteAddress } from "./remote-address.ts";
import { editHeaders, rewrite } from "./request-edits.ts";
import {
  clusterNotFoundStatus,
  directStatus,
  redirectLocation,
  redirectStatus,
  retriesOf,
  routeExtras,
} from "./router.ts";
import { grpcOfHttp } from "./traffic-filters.ts";

export interface HttpInput extends RouteInput {
  readonly jwt: JwtSettings;
  readonly connection: Connection;
  readonly request: HttpRequest;
}

export interface HttpResult {
  readonly virtualHost: string;
  readonly route: string;
  readonly cluster: string;
  readonly retries: Retries;
  /** Of the access log, whatever comes of the request. */
  readonly flags: readonly string[];
  readonly end:
    | { readonly kind: "answer"; readonly outcome: Outcome }
    | { readonly kind: "forward"; readonly forwarded: Extract<Forwarded, { kind: "connection" }> };
}

type Answer = Extract<Outcome, { kind: "answered" }>;

export function manageHttp(input: HttpInput): HttpResult {
  const { proxy, recorder, manager } = input;
  const nowhere = { virtualHost: "", route: "", cluster: "", flags: [], retries: { connect: false, broken: false } };
  const normal = normalizePath(input.request.path, manager);
  if ("status" in normal) {
    recorder.step({
      proxy: proxy.name,
      stage: "listener",
      decision: `the path cannot be brought into a plain form: ${normal.status}`,
      resource: input.resource,
    });
    return { ...nowhere, end: answer({ status: normal.status, flags: [], details: normal.details }) };
  }
  const remote = remoteAddress({ ...input.request, path: normal.path }, input.connection.source.ip, manager);
  const routes = routeConfigOf(proxy, manager);
  const subject = { ...input.subject, remote: remote.address, request: remote.request };
  const first: HttpState = {
    request: remote.request,
    metadata: subject.metadata,
    subject,
    config: routes?.config,
    host: undefined,
    route: undefined,
    chosen: undefined,
    delaySeconds: 0,
  };
  const matcher = createMatcher(input, routes);
  const matched = matcher(first);
  // A server's own routes say little, and nothing where its policies refuse.
  if (routes?.resource) tellRoute(input, matched, routes);
  const verdict = runFilters(manager.httpFilters, matched, {
    proxy,
    recorder,
    jwt: input.jwt,
    resource: input.resource,
    rematch: matcher,
  });
  const names = (state: HttpState): Omit<HttpResult, "end"> => ({
    virtualHost: state.host?.name ?? "",
    route: state.route?.name ?? "",
    // Envoy knows no name of what does not exist.
    cluster: state.chosen && proxy.cluster(state.chosen.cluster) ? state.chosen.cluster : "",
    flags: state.delaySeconds > 0 ? ["DI"] : [],
    retries: retriesOf(state.route),
  });
  if (verdict.kind === "answer") {
    const { state = matched, kind: _, ...given } = verdict;
    return { ...names(state), end: answer(given) };
  }
  const { state } = verdict;
  if (!routes?.resource || state.route !== matched.route) tellRoute(input, state, routes);
  return { ...names(state), end: routeOn(input, state) };
}

const answer = (given: Omit<Answer, "kind">): HttpResult["end"] => ({
  kind: "answer",
  outcome: { ...given, kind: "answered" },
});

/** gRPC clients are told in their own way. */
function refuse(
  request: HttpRequest,
  status: number,
  flags: readonly string[],
  details: string,
  location?: string,
): HttpResult["end"] {
  const told = isGrpc(request) ? { status: 200, grpcStatus: grpcOfHttp(status) } : { status };
  return answer({ ...told, flags, details, ...(location === undefined ? {} : { location }) });
}

function routeOn(input: HttpInput, state: HttpState): HttpResult["end"] {
  const { route, host, request } = state;
  const scheme = input.subject.tls ? "https" : "http";
  if (host && needsTls(host, input.subject.tls)) {
    const location = `https://${request.authority}${request.path}`;
    return refuse(request, 301, [], "direct_response", location);
  }
  switch (route?.action.case) {
    case "redirect": {
      const location = redirectLocation(request, route, route.action.value, scheme);
      return refuse(request, redirectStatus(route.action.value), [], "direct_response", location);
    }
    case "directResponse":
      return refuse(request, directStatus(route.action.value), [], "direct_response");
    case "route":
      return goOn(input, state, route);
    default:
      return refuse(request, 404, ["NR"], "route_not_found");
  }
}

function goOn(input: HttpInput, state: HttpState, route: Route): HttpResult["end"] {
  const { proxy, recorder, manager } = input;
  const action = route.action.case === "route" ? route.action.value : undefined;
  const { chosen } = state;
  if (!action || !chosen) return refuse(state.request, 404, ["NR"], "route_not_found");
  const odds = chosen.lost.length > 0 ? { odds: chosen.odds } : {};
  recorder.step({
    proxy: proxy.name,
    stage: "route",
    decision: `to ${chosen.cluster || "no cluster"}; ${routeExtras(action).join(", ")}`,
    lost: chosen.lost,
    hints: state.host ? routeHints(state.host, route) : [],
    resource: routeResource(input),
    ...odds,
  });
  const edited = editHeaders(state.request, [chosen.weight, route, state.host, state.config]);
  const rewritten = (name: string): HttpRequest => rewrite(edited, route, action, name);
  const rewriteText = rewritten("");
  if (rewriteText.path !== state.request.path || rewriteText.authority !== state.request.authority)
    recorder.step({
      proxy: proxy.name,
      stage: "route",
      decision: `rewritten to ${rewriteText.authority}${rewriteText.path}`,
      hints: state.host ? routeHints(state.host, route) : [],
      resource: routeResource(input),
    });
  const forwarded = forward({
    proxy,
    recorder,
    cluster: chosen.cluster,
    connection: { ...input.connection, tls: [], payload: { kind: "http", request: edited } },
    alpn: (version) => alpnOverride(manager, version),
  });
  if (forwarded.kind === "none")
    return refuse(
      state.request,
      forwarded.missing ? clusterNotFoundStatus(action) : 503,
      forwarded.flags,
      forwarded.details,
    );
  const { payload } = forwarded.connection;
  const version = payload.kind === "http" ? payload.request.version : "HTTP/1.1";
  const request = { ...rewritten(forwarded.hostname), version };
  return {
    kind: "forward",
    forwarded: { ...forwarded, connection: { ...forwarded.connection, payload: { kind: "http", request } } },
  };
}

/** What `istio.alpn` makes the connection offer. */
function alpnOverride(
  { httpFilters }: HttpConnectionManager,
  version: HttpRequest["version"],
): readonly string[] | undefined {
  const config = httpFilters.find(({ name }) => name === "istio.alpn")?.configType;
  const filter = config?.case === "typedConfig" ? unpack(AlpnSchema, config.value) : undefined;
  const [http11, http2] = [1, 2];
  return filter?.alpnOverride.find(
    ({ upstreamProtocol }) => upstreamProtocol === (version === "HTTP/2" ? http2 : http11),
  )?.alpnOverride;
}
