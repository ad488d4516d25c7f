/**
 * A method and URL in; what is asked for out, in the words that authorisation uses. The path alone decides, as in
 * Kubernetes: whether there is such a kind is looked at once it is known that the user may ask.
 */
import { failure } from "./failure.ts";
import { type ApiKind, subresourceVerbs } from "./kind.ts";
import type { KindRegistry } from "./kind-registry.ts";
import type { Action } from "./rules.ts";
import { exactName } from "./selectors.ts";

export interface ResourceRequest {
  readonly kind: ApiKind;
  /** get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
  readonly query: URLSearchParams;
}

/** A path of objects, whether they exist or not. */
export interface ObjectPath {
  readonly type: "objects";
  readonly method: string;
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  /** What the path says; a Namespace is its own. */
  readonly namespace: string | undefined;
  readonly resource: string;
  /** Of the path, or the only one that a list is selected by. */
  readonly name: string | undefined;
  /** The parts from the name on. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
  /** Parts of it are empty: allowed or not by what it would mean without them, it is nothing that is served. */
  readonly hasGaps: boolean;
}

export type Asked = ObjectPath | { readonly type: "other"; readonly verb: string; readonly path: string };

export function parseRequest(method: string, target: string): Asked {
  const other = (path: string): Asked => ({ type: "other", verb: method.toLowerCase(), path });
  const url = URL.parse(target, "https://api");
  if (!url) return other(target);
  const parts = url.pathname
    .split("/")
    .filter((part) => part !== "")
    .map(decode);
  const [prefix, ...rest] = parts;
  if (parts.includes("")) return other(url.pathname);
  const hasGaps = url.pathname.includes("//");
  if (prefix === "api" && rest.length > 1)
    return { ...objectPath(method, "", rest[0] ?? "", rest.slice(1), url.searchParams), hasGaps };
  if (prefix === "apis" && rest.length > 2)
    return { ...objectPath(method, rest[0] ?? "", rest[1] ?? "", rest.slice(2), url.searchParams), hasGaps };
  return other(url.pathname);
}

function objectPath(
  method: string,
  group: string,
  version: string,
  parts: readonly string[],
  query: URLSearchParams,
): Omit<ObjectPath, "hasGaps"> {
  const inNamespace = parts[0] === "namespaces" && parts.length > 1;
  // `namespaces/x` alone, or with a subresource of namespaces, is the Namespace itself.
  const further = inNamespace && parts.length > 2 && !namespaceSubresources.has(parts[2] ?? "");
  const [resource = "", ...rest] = further ? parts.slice(2) : parts;
  const verb = verbOf(method, rest.length > 0, query);
  return {
    type: "objects",
    method,
    verb,
    group,
    version,
    namespace: inNamespace ? parts[1] : undefined,
    resource,
    name: rest[0] ?? (verb === "list" || verb === "watch" ? exactName(query) : undefined),
    rest,
    query,
  };
}

/** What the user has to be allowed to do. */
export function actionOf(asked: Asked): Action {
  if (asked.type === "other") return { verb: asked.verb, path: asked.path };
  const { verb, group, resource, namespace = "", name = "", rest } = asked;
  return { verb, group, resource, subresource: rest[1] ?? "", namespace, name };
}

const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

function verbOf(method: string, named: boolean, query: URLSearchParams): string {
  switch (method) {
    case "GET":
    case "HEAD":
      return named ? "get" : isWatch(query) ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return named ? "delete" : "deletecollection";
    default:
      return "";
  }
}

function isWatch(query: URLSearchParams): boolean {
  return ["1", "true"].includes(query.get("watch") ?? "");
}

/** The request on a kind that is served; NotFound or MethodNotAllowed otherwise. */
export function resolveRequest(registry: KindRegistry, asked: ObjectPath): ResourceRequest {
  const { group, version, verb, rest, query } = asked;
  const kind = registry.find(group, version, asked.resource);
  const [name, subresource] = rest;
  // Only a Namespace itself: what may be done in one namespace says nothing about another that is named after it.
  const isItself = group === "" && asked.resource === "namespaces" && name === asked.namespace;
  const misplaced =
    kind !== undefined &&
    ((!kind.namespaced && asked.namespace !== undefined && !isItself) ||
      // One object of a namespaced kind has a namespace; without one its name would be taken for a whole key.
      (kind.namespaced && asked.namespace === undefined && name !== undefined));
  if (!kind || misplaced || rest.length > 2 || asked.hasGaps) throw unknownPath();
  if (subresource !== undefined && !kind.subresources.includes(subresource)) throw unknownPath();
  const namespace = kind.namespaced ? asked.namespace : undefined;
  if (asked.method === "HEAD" || !allowedVerbs(kind, namespace, name, subresource).includes(verb))
    throw failure("MethodNotAllowed", "the server does not allow this method on the requested resource");
  return { kind, verb, namespace, name, subresource, query };
}

/** A path with a name is of one object: what is created there would have another name than the one that was checked. */
function allowedVerbs(
  kind: ApiKind,
  namespace: string | undefined,
  name: string | undefined,
  subresource: string | undefined,
): readonly string[] {
  if (subresource !== undefined) return subresourceVerbs(subresource);
  const ofOne = ["get", "update", "patch", "delete"];
  const ofMany =
    kind.namespaced && namespace === undefined ? ["list", "watch"] : ["list", "watch", "create", "deletecollection"];
  return kind.verbs.filter((verb) => (name === undefined ? ofMany : ofOne).includes(verb));
}

export function unknownPath(): Error {
  return failure("NotFound", "the server could not find the requested resource");
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
