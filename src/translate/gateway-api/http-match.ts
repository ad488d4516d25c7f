/** Matches of HTTPRoutes and GRPCRoutes in, those of a VirtualService out. */
import type { GRPCRouteMatch, HTTPMatchRequest, HTTPRouteMatch, StringMatch } from "../../model/index.ts";

type Typed = { readonly name?: string; readonly type?: string; readonly value?: string };

export function httpMatch(match: HTTPRouteMatch): HTTPMatchRequest {
  const headers = textMatches(match.headers ?? []);
  const queryParams = textMatches(match.queryParams ?? []);
  return {
    uri: pathMatch(match.path?.type ?? "PathPrefix", match.path?.value ?? "/"),
    ...(headers ? { headers } : {}),
    ...(queryParams ? { queryParams } : {}),
    ...(match.method ? { method: { exact: match.method } } : {}),
  };
}

function pathMatch(type: string, value: string): StringMatch {
  if (type === "Exact") return { exact: value };
  if (type === "RegularExpression") return { regex: value };
  // A trailing slash of a prefix is ignored.
  return { prefix: value !== "/" && value.endsWith("/") ? value.slice(0, -1) : value };
}

export function grpcMatch(match: GRPCRouteMatch): HTTPMatchRequest {
  const headers = textMatches(match.headers ?? []);
  const uri = methodMatch(match.method);
  return { ...(uri ? { uri } : {}), ...(headers ? { headers } : {}) };
}

/** A gRPC request's path is `/SERVICE/METHOD`. */
function methodMatch(method: GRPCRouteMatch["method"]): StringMatch | undefined {
  if (!method) return undefined;
  const { service, method: name, type = "Exact" } = method;
  if (service === undefined) return { regex: `/[^/]+/${name ?? ""}` };
  if (type === "RegularExpression") return { regex: `/${service}/${name ?? ".+"}` };
  return name === undefined ? { prefix: `/${service}/` } : { exact: `/${service}/${name}` };
}

function textMatches(list: readonly Typed[]): Readonly<Record<string, StringMatch>> | undefined {
  if (list.length === 0) return undefined;
  return Object.fromEntries(
    list.map(({ name = "", type, value = "" }) => [
      name,
      type === "RegularExpression" ? { regex: value } : { exact: value },
    ]),
  );
}

/** Exact before prefix before regex, longer before shorter, then a method, more headers, more query parameters. */
export function compareMatches(a: HTTPMatchRequest | undefined, b: HTTPMatchRequest | undefined): number {
  if (!a || !b) return a ? -1 : b ? 1 : 0;
  const count = (map: object | undefined): number => Object.keys(map ?? {}).length;
  return (
    rank(b) - rank(a) ||
    length(b) - length(a) ||
    Number(b.method !== undefined) - Number(a.method !== undefined) ||
    count(b.headers) - count(a.headers) ||
    count(b.queryParams) - count(a.queryParams)
  );
}

function rank({ uri }: HTTPMatchRequest): number {
  if (!uri) return -1;
  return uri.exact !== undefined ? 3 : uri.prefix !== undefined ? 2 : 1;
}

const length = ({ uri }: HTTPMatchRequest): number => (uri?.exact ?? uri?.prefix ?? uri?.regex ?? "").length;
