/** A request and a connection manager in; the answer that Envoy gives itself, or the connection that goes on, out. */
import type { Route, VirtualHost } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { VirtualHost_TlsRequirementType as TlsRequirement } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import type { HttpConnectionManager } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { FilterConfigSchema as AlpnSchema } from "../../gen/istio/alpn_pb.js";
import { types } from "../../model/index.ts";
import { briefly } from "../listener/listener-match.ts";
import type { ProxyView } from "../proxy-view.ts";
import type { Subject } from "../rbac.ts";
import { type Connection, type HttpRequest, isGrpc } from "../request.ts";
import type { Hint, Outcome, Recorder, Step } from "../trace.ts";
import { unpack } from "../unpack.ts";
import { configHint } from "../upstream/cluster.ts";
import { type Forwarded, forward } from "../upstream/forward.ts";
import type { HttpState } from "./filter.ts";
import { runFilters } from "./filters.ts";
import type { JwtSettings } from "./jwt-token.ts";
import { normalizePath } from "./normalize-path.ts";
import { remoteAddress } from "./remote-address.ts";
import { editHeaders, rewrite } from "./request-edits.ts";
import { findRoute, showMatch } from "./route-match.ts";
import {
  chooseCluster,
  clusterNotFoundStatus,
  directStatus,
  redirectLocation,
  redirectStatus,
  routeExtras,
} from "./router.ts";
import { grpcOfHttp } from "./traffic-filters.ts";
import { findVirtualHost } from "./virtual-host.ts";

export interface HttpInput {
  readonly proxy: ProxyView;
  readonly recorder: Recorder;
  readonly jwt: JwtSettings;
  readonly manager: HttpConnectionManager;
  readonly connection: Connection;
  readonly request: HttpRequest;
  readonly subject: Subject;
  /** The listener that the manager is part of. */
  readonly resource: Step["resource"];
}

export interface HttpResult {
  readonly virtualHost: string;
  readonly route: string;
  readonly cluster: string;
  readonly end:
    | { readonly kind: "answer"; readonly outcome: Outcome }
    | { readonly kind: "forward"; readonly forwarded: Extract<Forwarded, { kind: "connection" }> };
}

type Answer = Extract<Outcome, { kind: "answered" }>;

export function manageHttp(input: HttpInput): HttpResult {
  const { proxy, recorder, manager } = input;
  const nowhere = { virtualHost: "", route: "", cluster: "" };
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
  const names = (state: HttpState): Omit<HttpResult, "end" | "cluster"> => ({
    virtualHost: state.host?.name ?? "",
    route: state.route?.name ?? "",
  });
  if (verdict.kind === "answer")
    return { ...names(matched), cluster: firstCluster(matched.route), end: answer(verdict) };
  const { state } = verdict;
  if (!routes?.resource || state.route !== matched.route) tellRoute(input, state, routes);
  return { ...names(state), ...routeOn(input, state) };
}

interface Routes {
  readonly config: RouteConfiguration;
  readonly resource: Step["resource"];
}

function routeConfigOf(proxy: ProxyView, { routeSpecifier: from }: HttpConnectionManager): Routes | undefined {
  if (from.case === "routeConfig") return { config: from.value, resource: undefined };
  const name = from.case === "rds" ? from.value.routeConfigName : "";
  const config = proxy.route(name);
  return config && { config, resource: { type: types.route, name } };
}

const routeResource = ({ proxy, manager, resource }: HttpInput): Step["resource"] =>
  routeConfigOf(proxy, manager)?.resource ?? resource;

/** Chooses virtual host and route, silently: which ones count is known only once the filters have run. */
function createMatcher({ recorder, subject }: HttpInput, routes: Routes | undefined): (state: HttpState) => HttpState {
  return (state) => {
    const found = routes && findVirtualHost(routes.config, state.request.authority);
    if (!found) return { ...state, host: undefined, route: undefined };
    const context = {
      request: state.request,
      metadata: state.metadata,
      peer: subject.peer,
      tls: subject.tls,
      sampled: (odds: number) => sampled(recorder, odds),
    };
    return { ...state, host: found.host, route: findRoute(found.host.routes, context).route };
  };
}

const sampled = (recorder: Recorder, odds: number): boolean =>
  recorder.choose("part of the requests", [
    { label: "taken", odds, yes: true },
    { label: "not taken", odds: 1 - odds, yes: false },
  ]).yes;

function tellRoute(
  { proxy, recorder, subject, resource }: HttpInput,
  state: HttpState,
  routes: Routes | undefined,
): void {
  const from = routes?.resource ?? resource;
  const found = routes && findVirtualHost(routes.config, state.request.authority);
  if (!found)
    return void recorder.step({
      proxy: proxy.name,
      stage: "virtual host",
      decision: `no virtual host is for ${state.request.authority}`,
      resource: from,
    });
  const isInbound = routes.resource === undefined;
  if (!isInbound || found.domain !== "*")
    recorder.step({
      proxy: proxy.name,
      stage: "virtual host",
      decision: `${found.host.name}: ${state.request.authority} is ${found.domain}`,
      lost: briefly(found.lost),
      resource: from,
    });
  const { route, lost } = findRoute(found.host.routes, {
    request: state.request,
    metadata: state.metadata,
    peer: subject.peer,
    tls: subject.tls,
    sampled: () => true,
  });
  const text = route?.match
    ? `${route.name || "unnamed"}: matches ${showMatch(route.match)}`
    : `no route matches ${state.request.path}`;
  recorder.step({
    proxy: proxy.name,
    stage: "route",
    decision: text,
    lost: briefly(lost, 8),
    resource: from,
    hints: routeHints(found.host, route),
  });
}

/** The object, and the how manieth of its routes in this virtual host it is. */
function routeHints({ routes }: VirtualHost, route: Route | undefined): readonly Hint[] {
  return configHint(route?.metadata).map((hint) => {
    const own = routes.filter(({ metadata }) => configHint(metadata)[0]?.object === hint.object);
    return { ...hint, route: { name: route?.name ?? "", index: route ? own.indexOf(route) : -1, of: own.length } };
  });
}

function firstCluster(route: Route | undefined): string {
  const wanted = route?.action.case === "route" ? route.action.value.clusterSpecifier : undefined;
  return wanted?.case === "cluster" ? wanted.value : "";
}

const answer = (given: Omit<Answer, "kind">): HttpResult["end"] => ({
  kind: "answer",
  outcome: { ...given, kind: "answered" },
});

/** gRPC clients are told in their own way. */
function refuse(request: HttpRequest, status: number, flags: readonly string[], details: string): HttpResult["end"] {
  return answer(
    isGrpc(request) ? { status: 200, grpcStatus: grpcOfHttp(status), flags, details } : { status, flags, details },
  );
}

function routeOn(input: HttpInput, state: HttpState): Pick<HttpResult, "cluster" | "end"> {
  const { route, host, request } = state;
  const scheme = input.subject.tls ? "https" : "http";
  if (host?.requireTls === TlsRequirement.ALL && scheme === "http") {
    const location = `https://${request.authority.replace(/:\d+$/, "")}${request.path}`;
    return { cluster: "", end: answer({ status: 301, flags: [], details: "direct_response", location }) };
  }
  switch (route?.action.case) {
    case "redirect": {
      const location = redirectLocation(request, route, route.action.value, scheme);
      return {
        cluster: "",
        end: answer({ status: redirectStatus(route.action.value), flags: [], details: "direct_response", location }),
      };
    }
    case "directResponse":
      return { cluster: "", end: refuseDirect(request, directStatus(route.action.value)) };
    case "route":
      return goOn(input, state, route);
    default:
      return { cluster: "", end: refuse(request, 404, ["NR"], "route_not_found") };
  }
}

const refuseDirect = (request: HttpRequest, status: number): HttpResult["end"] =>
  refuse(request, status, [], "direct_response");

function goOn(input: HttpInput, state: HttpState, route: Route): Pick<HttpResult, "cluster" | "end"> {
  const { proxy, recorder, manager } = input;
  const action = route.action.case === "route" ? route.action.value : undefined;
  if (!action) return { cluster: "", end: refuse(state.request, 404, ["NR"], "route_not_found") };
  const chosen = chooseCluster(action, state.request, recorder);
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
    return {
      cluster: chosen.cluster,
      end: refuse(
        state.request,
        forwarded.missing ? clusterNotFoundStatus(action) : 503,
        forwarded.flags,
        forwarded.details,
      ),
    };
  const { payload } = forwarded.connection;
  const version = payload.kind === "http" ? payload.request.version : "HTTP/1.1";
  const request = { ...rewritten(forwarded.hostname), version };
  return {
    cluster: chosen.cluster,
    end: {
      kind: "forward",
      forwarded: { ...forwarded, connection: { ...forwarded.connection, payload: { kind: "http", request } } },
    },
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
