/** The filters that decide who may: RBAC, JWT, external authorisation. */

import type { RBAC } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import { ExtAuthzSchema } from "../../gen/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js";
import { JwtAuthenticationSchema } from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import { RBACPerRouteSchema, RBACSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { matchesMetadata } from "../match/metadata.ts";
import { evaluateRbac } from "../rbac.ts";
import { denied, ruleHints, rulesText } from "../rbac-words.ts";
import { isGrpc } from "../request.ts";
import { unpack } from "../unpack.ts";
import { type FilterContext, type FilterVerdict, goesOn, type HttpState, routeSettings } from "./filter.ts";
import { evaluateJwt } from "./jwt.ts";

export function rbacFilter(context: FilterContext): FilterVerdict {
  const own = routeSettings(context);
  if (own === "disabled") return goesOn(context);
  const settings = (own && unpack(RBACPerRouteSchema, own)?.rbac) ?? unpack(RBACSchema, context.config);
  if (!settings) return goesOn(context);
  const state = settings.shadowRules
    ? shadow(context, settings.shadowRules, settings.shadowRulesStatPrefix)
    : context.state;
  if (!settings.rules) return { kind: "continue", state };
  const { rules } = settings;
  const verdict = evaluateRbac(rules, { ...state.subject, request: state.request, metadata: state.metadata });
  context.step("authorization", rulesText(rules, verdict), {
    lost: verdict.lost.map(({ name, why }) => `${name}: ${why}`),
    hints: ruleHints(rules, verdict),
  });
  if (verdict.allowed) return { kind: "continue", state };
  return {
    kind: "answer",
    ...(isGrpc(state.request) ? { status: 200, grpcStatus: 7 } : { status: 403 }),
    flags: [],
    details: denied(verdict),
  };
}

/** Rules that only leave a note: dry runs, and whom an external service is asked about. */
function shadow(context: FilterContext, rules: RBAC, prefix: string): HttpState {
  const { state } = context;
  const verdict = evaluateRbac(rules, { ...state.subject, request: state.request, metadata: state.metadata });
  const notes = {
    [`${prefix}shadow_effective_policy_id`]: verdict.matched?.name,
    [`${prefix}shadow_engine_result`]: verdict.allowed ? "allowed" : "denied",
  };
  const known = state.metadata.get(context.name) ?? {};
  if (prefix.startsWith("istio_dry_run") && Object.keys(rules.policies).length > 0)
    context.step(
      "authorization",
      `dry run: ${verdict.allowed ? "would be allowed" : "would be refused"} ${verdict.matched ? `by ${verdict.matched.name}` : "because no rule matches"}; nothing is enforced`,
      {
        hints: ruleHints(rules, verdict),
      },
    );
  const noted = Object.fromEntries(Object.entries({ ...known, ...notes }).filter(([, value]) => value !== undefined));
  return { ...state, metadata: new Map([...state.metadata, [context.name, noted]]) };
}

export function jwtFilter(context: FilterContext): FilterVerdict {
  const { state } = context;
  const config = unpack(JwtAuthenticationSchema, context.config);
  if (!config || routeSettings(context) === "disabled") return goesOn(context);
  const verdict = evaluateJwt(
    config,
    {
      request: state.request,
      metadata: state.metadata,
      peer: state.subject.peer,
      tls: state.subject.tls,
      sampled: () => true,
    },
    context.jwt,
  );
  if (verdict.unverified)
    context.recorder.assume(
      `the keys of ${verdict.provider} are not known here: the token's signature is taken for good`,
    );
  const said =
    verdict.failure ??
    (verdict.claims ? `the token of ${verdict.provider} is good` : "there is no token, and none is needed here");
  context.step("authentication", said, { lost: verdict.lost });
  if (verdict.failure !== undefined) {
    // Who is known and not meant is refused; all others have to say who they are.
    const status = verdict.failure === "Audiences in Jwt are not allowed" ? 403 : 401;
    const grpc = isGrpc(state.request) ? { status: 200, grpcStatus: status === 403 ? 7 : 16 } : { status };
    return {
      kind: "answer",
      ...grpc,
      flags: [],
      details: `jwt_authn_access_denied{${verdict.failure.replaceAll(" ", "_")}}`,
    };
  }
  if (!verdict.claims) return goesOn(context);
  const payload = { [verdict.metadataKey]: verdict.claims };
  const metadata = new Map([...state.metadata, [context.name, payload] as const]);
  return { kind: "continue", state: { ...state, metadata }, rematch: verdict.clearRouteCache };
}

/** Nobody here can say what the service answers: it is said that it is asked, and taken to agree. */
export function extAuthzFilter(context: FilterContext): FilterVerdict {
  const config = unpack(ExtAuthzSchema, context.config);
  if (!config || routeSettings(context) === "disabled") return goesOn(context);
  const { filterEnabledMetadata: asked } = config;
  if (asked && !matchesMetadata(asked, context.state.metadata)) return goesOn(context);
  const service =
    config.services.case === "httpService" ? config.services.value.serverUri?.httpUpstreamType.value : undefined;
  const grpc = config.services.case === "grpcService" ? config.services.value.targetSpecifier : undefined;
  const cluster = service ?? (grpc?.case === "envoyGrpc" ? grpc.value.clusterName : "an external service");
  context.step("authorization", `asks ${cluster}, which decides`);
  context.recorder.assume(`${cluster} agrees; otherwise the answer is ${config.statusOnError?.code || 403}`);
  return goesOn(context);
}
