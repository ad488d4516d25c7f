/** The filters of a connection manager and a request in; what came of it out, filter by filter in their order. */
import type { HttpFilter } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { ProxyView } from "../proxy-view.ts";
import type { Recorder, Step } from "../trace.ts";
import { typeNameOf } from "../unpack.ts";
import { extAuthzFilter, jwtFilter, rbacFilter } from "./authorization-filters.ts";
import { type FilterContext, type FilterVerdict, goesOn, type HttpFilterEvaluator, type HttpState } from "./filter.ts";
import type { JwtSettings } from "./jwt-token.ts";
import { corsFilter, faultFilter } from "./traffic-filters.ts";

const prefix = "envoy.extensions.filters.http.";

/** By the type of their settings. */
const evaluators: ReadonlyMap<string, HttpFilterEvaluator> = new Map([
  [`${prefix}rbac.v3.RBAC`, rbacFilter],
  [`${prefix}jwt_authn.v3.JwtAuthentication`, jwtFilter],
  [`${prefix}ext_authz.v3.ExtAuthz`, extAuthzFilter],
  [`${prefix}fault.v3.HTTPFault`, faultFilter],
  [`${prefix}cors.v3.Cors`, corsFilter],
]);

/** They count, name or log, and leave the request alone. */
const harmless: ReadonlySet<string> = new Set([
  ...["router.v3.Router", "grpc_stats.v3.FilterConfig", "grpc_web.v3.GrpcWeb", "set_filter_state.v3.Config"].map(
    (name) => prefix + name,
  ),
  "istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig",
  "udpa.type.v1.TypedStruct",
  "stats.PluginConfig",
]);

export interface FilterRun {
  readonly proxy: ProxyView;
  readonly recorder: Recorder;
  readonly jwt: JwtSettings;
  readonly resource: Step["resource"];
  /** The route is chosen again where a filter asks for it. */
  rematch(state: HttpState): HttpState;
}

export function runFilters(filters: readonly HttpFilter[], first: HttpState, run: FilterRun): FilterVerdict {
  let state = first;
  for (const filter of filters) {
    const { name, configType, disabled } = filter;
    const config =
      configType.case === "typedConfig"
        ? configType.value
        : configType.case === "configDiscovery"
          ? run.proxy.extension(name)?.typedConfig
          : undefined;
    const context: FilterContext | undefined = config && {
      name,
      config,
      state,
      recorder: run.recorder,
      jwt: run.jwt,
      step: (stage, decision, more = {}) =>
        run.recorder.step({ proxy: run.proxy.name, stage, decision, resource: run.resource, ...more }),
    };
    if (!context || disabled) continue;
    const verdict = evaluatorOf(typeNameOf(config), name)(context);
    if (verdict.kind === "answer") return { state, ...verdict };
    state = verdict.rematch ? run.rematch(verdict.state) : verdict.state;
  }
  return { kind: "continue", state };
}

function evaluatorOf(type: string, name: string): HttpFilterEvaluator {
  const known = evaluators.get(type);
  if (known) return known;
  if (harmless.has(type) && (type !== "udpa.type.v1.TypedStruct" || name.startsWith("istio."))) return goesOn;
  return (context) => {
    context.step("http filter", `${name} is not evaluated`);
    context.recorder.assume(`the filter ${name} (${type.split(".").at(-1)}) lets the request pass unchanged`);
    return goesOn(context);
  };
}
