/** The filters that change or answer traffic: faults, CORS, limits. */

import { CorsPolicySchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import { matchesHeader } from "../match/header.ts";
import { matchesText } from "../match/text.ts";
import { headerOf, isGrpc } from "../request.ts";
import { percent } from "../trace.ts";
import { unpack } from "../unpack.ts";
import { type FilterContext, type FilterVerdict, goesOn, routeSettings } from "./filter.ts";
import { isPreflight } from "./jwt.ts";
import { oddsOf } from "./route-match.ts";

export function faultFilter(context: FilterContext): FilterVerdict {
  const { state, recorder } = context;
  const own = routeSettings(context);
  if (own === "disabled") return goesOn(context);
  const fault = (own && unpack(HTTPFaultSchema, own)) ?? unpack(HTTPFaultSchema, context.config);
  if (
    !fault ||
    (!fault.abort && !fault.delay) ||
    !fault.headers.every((matcher) => matchesHeader(matcher, state.request))
  )
    return goesOn(context);
  const happens = (what: string, odds: number): boolean =>
    recorder.choose(what, [
      { label: what, odds, yes: true },
      { label: `no ${what}`, odds: 1 - odds, yes: false },
    ]).yes;
  const { delay, abort } = fault;
  const seconds =
    delay?.faultDelaySecifier.case === "fixedDelay"
      ? Number(delay.faultDelaySecifier.value.seconds) + delay.faultDelaySecifier.value.nanos / 1e9
      : 0;
  const delayOdds = delay?.percentage ? oddsOf(delay.percentage) : 0;
  const delayed = seconds > 0 && delayOdds > 0 && happens("delay", delayOdds);
  if (delayed) context.step("http filter", `fault: waits ${seconds} s`, { odds: delayOdds });
  const after = { ...state, delaySeconds: state.delaySeconds + (delayed ? seconds : 0) };
  const abortOdds = abort?.percentage ? oddsOf(abort.percentage) : 0;
  const type = abort?.errorType;
  if (!type || (type.case !== "httpStatus" && type.case !== "grpcStatus") || abortOdds === 0)
    return { kind: "continue", state: after };
  const aborted = happens("abort", abortOdds);
  const code = type.case === "httpStatus" ? `${type.value}` : `gRPC status ${type.value}`;
  context.step(
    "http filter",
    aborted ? `fault: answers ${code}` : `fault: answers ${code} to ${percent(abortOdds)} of requests, not to this one`,
    { odds: aborted ? abortOdds : 1 - abortOdds },
  );
  if (!aborted) return { kind: "continue", state: after };
  const flags = ["FI"];
  const grpc = type.case === "grpcStatus" ? type.value : isGrpc(state.request) ? grpcOfHttp(type.value) : undefined;
  if (grpc !== undefined && isGrpc(state.request))
    return { kind: "answer", state: after, status: 200, grpcStatus: grpc, flags, details: "fault_filter_abort" };
  const status = type.case === "httpStatus" ? type.value : httpOfGrpc(type.value);
  return { kind: "answer", state: after, status, flags, details: "fault_filter_abort" };
}

/** As Envoy turns one into the other. */
export function grpcOfHttp(status: number): number {
  const known: ReadonlyMap<number, number> = new Map([
    [400, 13],
    [401, 16],
    [403, 7],
    [404, 12],
    [429, 14],
    [502, 14],
    [503, 14],
    [504, 14],
  ]);
  return known.get(status) ?? 2;
}

function httpOfGrpc(status: number): number {
  const known: ReadonlyMap<number, number> = new Map([
    [0, 200],
    [1, 499],
    [3, 400],
    [4, 504],
    [5, 404],
    [6, 409],
    [7, 403],
    [8, 429],
    [9, 400],
    [10, 409],
    [11, 400],
    [12, 501],
    [14, 503],
    [16, 401],
  ]);
  return known.get(status) ?? 500;
}

/** Only questions of browsers before the request itself are answered here. */
export function corsFilter(context: FilterContext): FilterVerdict {
  const own = routeSettings(context);
  const policy = own === "disabled" ? undefined : unpack(CorsPolicySchema, own);
  const { request } = context.state;
  const origin = headerOf(request.headers, "origin");
  if (!policy || origin === undefined) return goesOn(context);
  const allowed = policy.allowOriginStringMatch.some((matcher) => matchesText(matcher, origin));
  if (!isPreflight(request)) {
    context.step(
      "http filter",
      allowed
        ? `CORS: answers tell the browser that ${origin} may`
        : `CORS: answers do not allow ${origin}; the browser will refuse`,
    );
    return goesOn(context);
  }
  if (!allowed && policy.forwardNotMatchingPreflights !== false) return goesOn(context);
  context.step(
    "http filter",
    allowed ? `CORS: answers the preflight of ${origin}` : `CORS: answers the preflight without allowing ${origin}`,
  );
  return { kind: "answer", status: 200, flags: [], details: "cors_response" };
}
