/** A request and a connection manager's routes in; the virtual host, route and cluster that it gets out. */
import {
  type Route,
  VirtualHost_TlsRequirementType as TlsRequirement,
  type VirtualHost,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import type { HttpConnectionManager } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { types } from "../../model/index.ts";
import { briefly } from "../listener/listener-match.ts";
import type { ProxyView } from "../proxy-view.ts";
import type { Subject } from "../rbac.ts";
import type { Hint, Recorder, Step } from "../trace.ts";
import { configHint } from "../upstream/cluster.ts";
import type { HttpState } from "./filter.ts";
import { findRoute, showMatch } from "./route-match.ts";
import { chooseCluster } from "./router.ts";
import { findVirtualHost } from "./virtual-host.ts";

export interface RouteInput {
  readonly proxy: ProxyView;
  readonly recorder: Recorder;
  readonly manager: HttpConnectionManager;
  readonly subject: Subject;
  /** The listener that the manager is part of. */
  readonly resource: Step["resource"];
}

export interface Routes {
  readonly config: RouteConfiguration;
  readonly resource: Step["resource"];
}

export function routeConfigOf(proxy: ProxyView, { routeSpecifier: from }: HttpConnectionManager): Routes | undefined {
  if (from.case === "routeConfig") return { config: from.value, resource: undefined };
  const name = from.case === "rds" ? from.value.routeConfigName : "";
  const config = proxy.route(name);
  return config && { config, resource: { type: types.route, name } };
}

export const routeResource = ({ proxy, manager, resource }: RouteInput): Step["resource"] =>
  routeConfigOf(proxy, manager)?.resource ?? resource;

/** Chooses virtual host and route, silently: which ones count is known only once the filters have run. */
export function createMatcher(
  { recorder, subject }: RouteInput,
  routes: Routes | undefined,
): (state: HttpState) => HttpState {
  return (state) => {
    const found = routes && findVirtualHost(routes.config, state.request.authority);
    if (!found) return { ...state, host: undefined, route: undefined, chosen: undefined };
    const context = {
      request: state.request,
      metadata: state.metadata,
      peer: subject.peer,
      tls: subject.tls,
      sampled: (odds: number) => sampled(recorder, odds),
    };
    // Nothing of the routes counts where all have to come over TLS.
    if (needsTls(found.host, subject.tls)) return { ...state, host: found.host, route: undefined, chosen: undefined };
    const { route } = findRoute(found.host.routes, context);
    if (route === state.route) return { ...state, host: found.host };
    const chosen =
      route?.action.case === "route" ? chooseCluster(route.action.value, state.request, recorder) : undefined;
    return { ...state, host: found.host, route, chosen };
  };
}

export const needsTls = ({ requireTls }: VirtualHost, tls: boolean): boolean =>
  requireTls === TlsRequirement.ALL && !tls;

const sampled = (recorder: Recorder, odds: number): boolean =>
  recorder.choose("part of the requests", [
    { label: "taken", odds, yes: true },
    { label: "not taken", odds: 1 - odds, yes: false },
  ]).yes;

export function tellRoute(
  { proxy, recorder, subject, resource }: RouteInput,
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
  if (needsTls(found.host, subject.tls))
    return void recorder.step({
      proxy: proxy.name,
      stage: "virtual host",
      decision: "all have to come over TLS: redirected",
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
export function routeHints({ routes }: VirtualHost, route: Route | undefined): readonly Hint[] {
  return configHint(route?.metadata).map((hint) => {
    const own = routes.filter(({ metadata }) => configHint(metadata)[0]?.object === hint.object);
    return { ...hint, route: { name: route?.name ?? "", index: route ? own.indexOf(route) : -1, of: own.length } };
  });
}
