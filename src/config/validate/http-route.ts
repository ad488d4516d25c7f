/** One HTTP route of a VirtualService in, what is wrong with it into the report. */
import { parseDuration } from "../../lib/index.ts";
import type {
  CorsPolicy,
  HTTPFaultInjection,
  HTTPMatchRequest,
  HTTPRedirect,
  HTTPRetry,
  HTTPRewrite,
  HTTPRoute,
} from "../../model/index.ts";
import { checkDestination, checkRoutes } from "./destination.ts";
import { checkGatewayNames } from "./gateway-names.ts";
import { checkHeaders, corsNameError, isAuthority, matchNameError } from "./header.ts";
import { checkLabels, isDnsLabel, portError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { checkDuration, fractionError, isSet, patternError, regexMatchError, stringMatchError } from "./values.ts";

export function checkHttpRoute(report: Report, route: HTTPRoute, isDelegate: boolean): void {
  checkConflicts(report, route, isDelegate);
  // Of matches, faults and destinations Istio keeps the errors only.
  each(report.quiet, "match", route.match, (match, at) => checkMatch(at, match));
  checkHeaders(report.at("headers"), route.headers);
  checkCors(report.at("corsPolicy"), route.corsPolicy);
  checkFault(report.at("fault"), route.fault);
  checkMirrors(report, route);
  report.at("redirect").error(redirectError(route.redirect, route.match ?? []));
  checkDirectResponse(report.at("directResponse"), route);
  checkRetry(report.at("retries"), route.retries);
  report.at("rewrite").error(rewriteError(route.rewrite));
  report.error(authorityError(route));
  checkRoutes(report, route.route, (at, { headers }) => checkHeaders(at.at("headers"), headers));
  checkDuration(report.at("timeout"), route.timeout);
}

function checkConflicts(report: Report, route: HTTPRoute, isDelegate: boolean): void {
  const destinations = (route.route ?? []).length > 0;
  if (route.delegate && !isDelegate) {
    const name = route.name ?? "";
    if (route.redirect) report.error(`root HTTP route ${name} must not specify redirect`);
    if (destinations) report.error(`root HTTP route ${name} must not specify route`);
    return;
  }
  if (route.delegate) report.error("delegate HTTP route cannot contain delegate");
  if (route.redirect) checkAlone(report, route, "redirect", "direct_response");
  else if (route.directResponse) checkAlone(report, route, "direct_response", undefined);
  else if (!destinations) report.error("HTTP route, redirect or direct_response is required");
  if (route.mirror && (route.mirrors ?? []).length > 0)
    report.error("HTTP route cannot contain both mirror and mirrors");
}

/** A redirect or a direct response is the whole answer. */
function checkAlone(report: Report, route: HTTPRoute, what: string, other: string | undefined): void {
  if ((route.route ?? []).length > 0) report.error(`HTTP route cannot contain both route and ${what}`);
  if (route.fault) report.error(`HTTP route cannot contain both fault and ${what}`);
  if (route.rewrite) report.error(`HTTP route rule cannot contain both rewrite and ${what}`);
  if (other && route.directResponse) report.error(`HTTP route rule cannot contain both ${other} and ${what}`);
}

function checkMatch(report: Report, match: HTTPMatchRequest): void {
  for (const [name, header] of Object.entries(match.headers ?? {})) {
    report.at("headers").error(matchNameError(name));
    report.at("headers").error(stringMatchError(header, "headers"));
  }
  for (const [name, header] of Object.entries(match.withoutHeaders ?? {})) {
    report.at("withoutHeaders").error(matchNameError(name));
    // `*` means "present" here; it is no pattern.
    if (header.regex !== "*") report.at("withoutHeaders").error(stringMatchError(header, "withoutHeaders"));
  }
  // An empty prefix is fine for the path, which matches all; not for the others.
  report.at("uri").error(regexMatchError(match.uri, "uri"));
  for (const name of ["scheme", "method", "authority"] as const)
    report.at(name).error(stringMatchError(match[name], name));
  for (const value of Object.values(match.queryParams ?? {}))
    report.at("queryParams").error(stringMatchError(value, "queryParams"));
  if (match.port) report.at("port").error(portError(match.port));
  checkLabels(report.at("sourceLabels"), match.sourceLabels);
  checkGatewayNames(report.at("gateways"), match.gateways ?? []);
  if (isSet(match.sourceNamespace) && !isDnsLabel(match.sourceNamespace))
    report.at("sourceNamespace").error(`sourceNamespace match ${match.sourceNamespace} is invalid`);
}

const corsMethods: ReadonlySet<string> = new Set("GET HEAD POST PUT PATCH DELETE CONNECT OPTIONS TRACE *".split(" "));

function checkCors(report: Report, cors: CorsPolicy | undefined): void {
  if (!cors) return;
  each(report, "allowOrigins", cors.allowOrigins, (origin, at) => {
    const text = origin.exact ?? origin.prefix ?? origin.regex ?? "";
    at.error(
      text === ""
        ? "'' is not a valid match type for CORS allow origins"
        : regexMatchError(origin, "corsPolicy.allowOrigins"),
    );
  });
  each(report, "allowMethods", cors.allowMethods, (method, at) => {
    if (!corsMethods.has(method)) at.error(`${quote(method)} is not a supported HTTP method`);
  });
  each(report, "allowHeaders", cors.allowHeaders, (name, at) => at.error(corsNameError(name)));
  each(report, "exposeHeaders", cors.exposeHeaders, (name, at) => at.error(corsNameError(name)));
  checkDuration(report.at("maxAge"), cors.maxAge);
  if ((parseDuration(cors.maxAge ?? "0") ?? 0n) % 1_000_000_000n > 0n)
    report.at("maxAge").error("max_age duration is accurate only to seconds precision");
}

const grpcStatuses: ReadonlySet<string> = new Set(
  "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED".split(
    " ",
  ),
);

const statusError = (status: number): string | undefined =>
  status < 200 || status > 600 ? `HTTP status ${status} is not in range 200-599` : undefined;

function checkFault(report: Report, fault: HTTPFaultInjection | undefined): void {
  if (!fault) return;
  const { abort, delay } = fault;
  if (!abort && !delay) report.error("HTTP fault injection must have an abort and/or a delay");
  report.at("abort", "percentage").error(fractionError(abort?.percentage));
  if (abort?.grpcStatus !== undefined && !grpcStatuses.has(abort.grpcStatus))
    report
      .at("abort", "grpcStatus")
      .error(
        `gRPC status ${quote(abort.grpcStatus)} is not supported. See https://github.com/grpc/grpc/blob/master/doc/statuscodes.md for a list of supported codes, for example 'NOT_FOUND'`,
      );
  if (abort?.http2Error !== undefined) report.at("abort").error("HTTP/2 abort fault injection not supported yet");
  if (abort?.httpStatus !== undefined) report.at("abort", "httpStatus").error(statusError(abort.httpStatus));
  report.at("delay", "percentage").error(fractionError(delay?.percentage));
  checkDuration(report.at("delay", "fixedDelay"), delay?.fixedDelay);
  if (delay?.exponentialDelay === undefined) return;
  checkDuration(report.at("delay", "exponentialDelay"), delay.exponentialDelay);
  report.at("delay").error("exponentialDelay not supported yet");
}

function checkMirrors(report: Report, route: HTTPRoute): void {
  if (route.mirrorPercent !== undefined) {
    if (route.mirrorPercent > 100)
      report.at("mirrorPercent").error(`mirror_percent must have a max value of 100 (it has ${route.mirrorPercent})`);
    report.at("mirrorPercent").warn('using deprecated setting "mirrorPercent", use "mirrorPercentage" instead');
  }
  if (route.mirrorPercentage)
    report.at("mirrorPercentage").error(shareError(route.mirrorPercentage.value ?? 0, "mirror_percentage"));
  checkDestination(report.at("mirror"), route.mirror);
  each(report.quiet, "mirrors", route.mirrors, ({ destination, percentage }, at) => {
    if (!destination) {
      at.error("destination is required for mirrors");
      return;
    }
    checkDestination(at.at("destination"), destination);
    at.at("percentage").error(shareError(percentage?.value ?? 0, "mirror percentage"));
  });
}

function shareError(value: number, what: string): string | undefined {
  if (value > 100) return `${what} must have a max value of 100 (it has ${value.toFixed(6)})`;
  return value < 0 ? `${what} must have a min value of 0 (it has ${value.toFixed(6)})` : undefined;
}

function redirectError(redirect: HTTPRedirect | undefined, matches: readonly HTTPMatchRequest[]): string | undefined {
  if (!redirect) return undefined;
  const { uri = "", authority = "", scheme = "", redirectCode = 0, port = 0, prefixRewrite = "" } = redirect;
  if (uri !== "" && prefixRewrite !== "") return "redirect may only specify one of uri or prefix_rewrite";
  if (prefixRewrite !== "" && matches.some((match) => match.uri && match.uri.prefix === undefined))
    return "redirect prefix_rewrite requires all URI matches to use prefix match type";
  const hasPort = redirect.port !== undefined || redirect.derivePort !== undefined;
  if (uri === "" && prefixRewrite === "" && authority === "" && !hasPort && scheme === "")
    return "redirect must specify URI, authority, scheme, or port";
  if (redirectCode !== 0 && (redirectCode < 300 || redirectCode > 399))
    return `${redirectCode} is not a valid redirect code, must be 3xx`;
  if (!["", "http", "https"].includes(scheme)) return 'invalid redirect scheme, must be "http" or "https"';
  return port > 0 ? portError(port) : undefined;
}

function checkDirectResponse(report: Report, { directResponse }: HTTPRoute): void {
  if (!directResponse) return;
  const { body, status = 0 } = directResponse;
  const size =
    body?.string === undefined ? Buffer.byteLength(body?.bytes ?? "", "base64") : Buffer.byteLength(body.string);
  const large = "large direct_responses may impact control plane performance";
  if (size > 1024 * 1024) report.at("body").error(`${large}, must be less than 1MB`);
  else if (size > 100 * 1024) report.at("body").warn(large);
  report.at("status").error(statusError(status));
}

const retryPolicies: ReadonlySet<string> = new Set(
  "5xx gateway-error reset reset-before-request connect-failure retriable-4xx refused-stream retriable-status-codes retriable-headers envoy-ratelimited http3-post-connect-failure cancelled deadline-exceeded internal resource-exhausted unavailable".split(
    " ",
  ),
);

/** The status codes that Go's net/http has a text for. */
function isStatus(text: string): boolean {
  const code = /^[+-]?\d+$/.test(text) ? Number(text) : 0;
  const ranges: readonly (readonly [number, number])[] = [
    [100, 103],
    [200, 208],
    [226, 226],
    [300, 305],
    [307, 308],
    [400, 418],
    [421, 426],
    [428, 429],
    [431, 431],
    [451, 451],
    [500, 508],
    [510, 511],
  ];
  return ranges.some(([from, to]) => code >= from && code <= to);
}

export function checkRetry(report: Report, retries: HTTPRetry | undefined): void {
  if (!retries) return;
  const { attempts = 0, retryOn = "" } = retries;
  if (attempts < 0) report.at("attempts").error("attempts cannot be negative");
  if (
    attempts === 0 &&
    (retries.perTryTimeout !== undefined || retryOn !== "" || retries.retryRemoteLocalities !== undefined)
  )
    report.error("http retry policy configured when attempts are set to 0 (disabled)");
  checkDuration(report.at("perTryTimeout"), retries.perTryTimeout);
  for (const policy of retryOn === "" ? [] : retryOn.split(","))
    if (!isStatus(policy) && !retryPolicies.has(policy))
      report.at("retryOn").error(`${quote(policy)} is not a valid retryOn policy`);
  checkDuration(report.at("backoff"), retries.backoff);
}

function rewriteError(rewrite: HTTPRewrite | undefined): string | undefined {
  if (!rewrite) return undefined;
  const { uri = "", authority = "", uriRegexRewrite } = rewrite;
  if (uri !== "" && uriRegexRewrite) return "rewrite may only contain one of URI or UriRegexRewrite";
  if (uri === "" && !uriRegexRewrite && authority === "")
    return "rewrite must specify at least one of URI, UriRegexRewrite, or authority. Only one of URI or UriRegexRewrite may be specified";
  if (!uriRegexRewrite) return undefined;
  const { match = "", rewrite: text = "" } = uriRegexRewrite;
  const wrong =
    match === "" || text === ""
      ? "UriRegexRewrite requires both Rewrite and Match fields to be specified"
      : patternError(match, "HTTPRewrite.UriRegexRewrite.Match");
  return wrong === undefined ? undefined : `UriRegexRewrite has errors\n${wrong}`;
}

/** The authority may be set once: by the rewrite or by one header operation. */
function authorityError(route: HTTPRoute): string | undefined {
  let current = route.rewrite?.authority ?? "";
  const { set = {}, add = {} } = route.headers?.request ?? {};
  for (const [name, value] of [...Object.entries(set), ...Object.entries(add)]) {
    if (!isAuthority(name)) continue;
    if (current !== "")
      return `authority header cannot be set multiple times: have ${quote(current)}, attempting to set ${quote(value)}`;
    current = value;
  }
  return undefined;
}
