/** A method and URL in; what is asked of which kind out, in the words that authorisation and handlers use. */
import type { ApiKind } from "./kind.ts";
import type { KindRegistry } from "./kind-registry.ts";

export interface ResourceRequest {
  readonly kind: ApiKind;
  /** get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

export type Route =
  | { readonly type: "resource"; readonly request: ResourceRequest }
  | { readonly type: "other"; readonly path: string; readonly query: URLSearchParams }
  | { readonly type: "unknown"; readonly path: string };

export function route(registry: KindRegistry, method: string, target: string): Route {
  const url = URL.parse(target, "https://api");
  if (!url) return { type: "unknown", path: target };
  const parts = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  const api =
    parts[0] === "api" && parts.length > 2 ? { group: "", version: parts[1] ?? "", rest: parts.slice(2) } : undefined;
  const named =
    parts[0] === "apis" && parts.length > 3
      ? { group: parts[1] ?? "", version: parts[2] ?? "", rest: parts.slice(3) }
      : undefined;
  const found = api ?? named;
  if (!found || parts.includes("")) return { type: "other", path: url.pathname, query: url.searchParams };
  const request = resourceRequest(registry, method, found.group, found.version, found.rest, url.searchParams);
  return request ? { type: "resource", request } : { type: "unknown", path: url.pathname };
}

function resourceRequest(
  registry: KindRegistry,
  method: string,
  group: string,
  version: string,
  rest: readonly string[],
  query: URLSearchParams,
): ResourceRequest | undefined {
  // `namespaces/x` alone, or with a subresource of namespaces, is the Namespace itself.
  const scoped =
    rest[0] === "namespaces" &&
    rest.length > 2 &&
    !(group === "" && rest.length === 3 && isNamespaceSubresource(rest[2]));
  const namespace = scoped ? rest[1] : undefined;
  const [plural = "", name, subresource, ...more] = scoped ? rest.slice(2) : rest;
  const kind = registry.find(group, version, plural);
  if (!kind || more.length > 0 || (namespace !== undefined && !kind.namespaced)) return undefined;
  // One object of a namespaced kind has a namespace; without one its name would be taken for a whole key.
  if (kind.namespaced && name !== undefined && namespace === undefined) return undefined;
  if (subresource !== undefined && !kind.subresources.includes(subresource)) return undefined;
  const verb = verbOf(method, name, query);
  return verb === undefined ? undefined : { kind, verb, namespace, name, subresource, query };
}

function isNamespaceSubresource(part: string | undefined): boolean {
  return part === "status" || part === "finalize";
}

function isWatch(query: URLSearchParams): boolean {
  return ["1", "true"].includes(query.get("watch") ?? "");
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): string | undefined {
  switch (method) {
    case "GET":
    case "HEAD":
      return name !== undefined ? "get" : isWatch(query) ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return name === undefined ? undefined : "update";
    case "PATCH":
      return name === undefined ? undefined : "patch";
    case "DELETE":
      return name === undefined ? "deletecollection" : "delete";
    default:
      return undefined;
  }
}

/** What cannot be decoded, or would be two parts, becomes empty, which no route accepts. */
function decode(part: string): string {
  try {
    const text = decodeURIComponent(part);
    return text.includes("/") ? "" : text;
  } catch {
    return "";
  }
}
