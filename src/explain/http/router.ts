/** A matched route and a request in; the answer that Envoy gives itself, or the cluster and the request that goes there, out. */
import type {
  DirectResponseAction,
  RedirectAction,
  Route,
  RouteAction,
  WeightedCluster,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteAction_ClusterNotFoundResponseCode as NotFound } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { type HttpRequest, headerOf } from "../request.ts";
import { percent, type Recorder, type Retries } from "../trace.ts";
import { replaceMatched, rewriteBefore } from "./request-edits.ts";

/** 301, 302, 303, 307, 308 in the order of Envoy's enum. */
const redirectCodes = [301, 302, 303, 307, 308];

export const redirectStatus = ({ responseCode }: RedirectAction): number => redirectCodes[responseCode] ?? 301;

export function redirectLocation(
  request: HttpRequest,
  route: Route,
  redirect: RedirectAction,
  scheme: "http" | "https",
): string {
  const { schemeRewriteSpecifier: wanted } = redirect;
  const newScheme =
    wanted.case === "schemeRedirect"
      ? wanted.value
      : wanted.case === "httpsRedirect" && wanted.value
        ? "https"
        : scheme;
  const [, name = request.authority, port] = /^(.*?)(?::(\d+))?$/.exec(request.authority) ?? [];
  // The usual port of the old scheme goes with it; any other stays as it was written.
  const usual = scheme === "https" ? "443" : "80";
  const kept =
    redirect.portRedirect > 0 || port === undefined || (newScheme !== scheme && port === usual) ? "" : `:${port}`;
  const host = `${redirect.hostRedirect || name + kept}${redirect.portRedirect > 0 ? `:${redirect.portRedirect}` : ""}`;
  return `${newScheme}://${host}${redirectPath(request.path, route, redirect)}`;
}

function redirectPath(
  path: string,
  route: Route,
  { pathRewriteSpecifier: wanted, stripQuery }: RedirectAction,
): string {
  const query = /\?.*$/s.exec(path)?.[0] ?? "";
  const plain = stripQuery ? path.slice(0, path.length - query.length) : path;
  if (wanted.case === "pathRedirect" && wanted.value !== "")
    return wanted.value.includes("?") || stripQuery ? wanted.value : wanted.value + query;
  if (wanted.case === "prefixRewrite" && wanted.value !== "") return replaceMatched(plain, route, wanted.value);
  return wanted.case === "regexRewrite" ? rewriteBefore(plain, wanted.value) : plain;
}

export const directStatus = ({ status }: DirectResponseAction): number => status;

export interface ClusterChosen {
  readonly cluster: string;
  readonly odds: number | undefined;
  readonly lost: readonly string[];
  readonly weight: WeightedCluster["clusters"][number] | undefined;
}

export function chooseCluster(
  { clusterSpecifier: wanted }: RouteAction,
  request: HttpRequest,
  recorder: Recorder,
): ClusterChosen {
  if (wanted.case === "weightedClusters") {
    const { clusters } = wanted.value;
    const total = clusters.reduce((sum, { weight = 0 }) => sum + weight, 0);
    const options = clusters.map((weight) => ({
      label: weight.name,
      odds: total === 0 ? 0 : (weight.weight ?? 0) / total,
      weight,
    }));
    const taken = recorder.choose("weighted clusters", options);
    const lost = options.filter((option) => option !== taken).map(({ label, odds }) => `${label}: ${percent(odds)}`);
    return { cluster: taken.label, odds: taken.odds, lost, weight: taken.weight };
  }
  const cluster =
    wanted.case === "clusterHeader"
      ? (headerOf(request.headers, wanted.value.toLowerCase()) ?? "")
      : wanted.case === "cluster"
        ? wanted.value
        : "";
  return { cluster, odds: undefined, lost: [], weight: undefined };
}

const notFoundCodes: ReadonlyMap<NotFound, number> = new Map([
  [NotFound.SERVICE_UNAVAILABLE, 503],
  [NotFound.NOT_FOUND, 404],
  [NotFound.INTERNAL_SERVER_ERROR, 500],
]);
export const clusterNotFoundStatus = ({ clusterNotFoundResponseCode }: RouteAction): number =>
  notFoundCodes.get(clusterNotFoundResponseCode) ?? 503;

const seconds = (value: { readonly seconds: bigint; readonly nanos: number } | undefined): number =>
  value ? Number(value.seconds) + value.nanos / 1e9 : 0;

/** Envoy's words: `5xx` is any failure, also of the connection. */
export function retriesOf(route: Route | undefined): Retries {
  const policy = route?.action.case === "route" ? route.action.value.retryPolicy : undefined;
  const words = (policy?.numRetries ?? 1) === 0 ? [] : (policy?.retryOn.split(",") ?? []);
  const has = (...wanted: readonly string[]): boolean => wanted.some((word) => words.includes(word));
  return {
    connect: has("connect-failure", "5xx", "gateway-error", "reset"),
    broken: has("5xx", "gateway-error", "reset"),
  };
}

/** Timeouts, retries, mirrors and rewrites, for people. */
export function routeExtras(action: RouteAction): readonly string[] {
  const timeout = seconds(action.timeout);
  const { retryPolicy } = action;
  const mirrors = action.requestMirrorPolicies.map(
    ({ cluster, runtimeFraction }) =>
      `mirrored to ${cluster}${runtimeFraction?.defaultValue ? ` (${runtimeFraction.defaultValue.numerator}/${[100, 10_000, 1_000_000][runtimeFraction.defaultValue.denominator] ?? 100})` : ""}`,
  );
  return [
    timeout > 0 ? `timeout ${timeout} s` : "no timeout",
    ...(retryPolicy ? [`${retryPolicy.numRetries ?? 1} retries on ${retryPolicy.retryOn}`] : []),
    ...mirrors,
  ];
}
