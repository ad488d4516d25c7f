/** get and list: a request in, the body of the answer out. */
import { isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import type { Parts } from "./context.ts";
import { failure, notFound } from "./failure.ts";
import { type ApiKind, apiVersionOf, resourceOf } from "./kind.ts";
import type { Pace } from "./pace.ts";
import { type Form, metadataOnly, represent } from "./represent.ts";
import type { ResourceRequest } from "./request.ts";
import { scaleOf } from "./scale.ts";
import { selectorOf } from "./selectors.ts";
import type { ListScope, Page } from "./snapshots.ts";
import { columnDefinitions, tableOf, tableRow } from "./table.ts";
import type { User } from "./user.ts";

export function readObject(parts: Parts, request: ResourceRequest): KubeObject {
  const { kind, name = "", namespace } = request;
  const found = parts.store.get(resourceOf(kind), objectKey({ name, namespace }));
  if (!found) throw notFound(kind, name);
  return represent(kind, found);
}

export function getAnswer(parts: Parts, request: ResourceRequest, form: Form): unknown {
  checkVersion(parts, request.query);
  const object = readObject(parts, request);
  return request.subresource === "scale" ? scaleOf(request.kind, object) : objectAnswer(parts, request, object, form);
}

/** As JSON; what was written lately need not be put into words again. */
export function textOf(parts: Parts, kind: ApiKind, answer: unknown): string {
  const isObject = isRecord(answer) && isRecord(answer.metadata) && typeof answer.metadata.name === "string";
  return (isObject ? storedText(parts, kind, answer as KubeObject) : undefined) ?? JSON.stringify(answer);
}

/** Of an object of the store. */
export function storedText(parts: Parts, kind: ApiKind, object: KubeObject): string | undefined {
  const [resource, key] = [resourceOf(kind), objectKey(object.metadata)];
  if (parts.store.get(resource, key) !== object) return undefined;
  return parts.hub.textOf(resource, key, object.metadata.resourceVersion);
}

/** Any single object as the client wants to see it. */
export function objectAnswer(parts: Parts, request: ResourceRequest, object: KubeObject, form: Form): unknown {
  if (form === "metadata") return metadataOnly(object);
  if (form === "plain" || object.kind !== request.kind.kind) return object;
  return tableOf(request.kind, [object], {
    now: parts.now(),
    includeObject: request.query.get("includeObject"),
    columns: true,
    metadata: { resourceVersion: object.metadata.resourceVersion },
  });
}

/** A fraction would make pages without end. */
function limitOf(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^-?\d{1,15}$/.test(text)) throw failure("BadRequest", `limit: ${JSON.stringify(text)} is not a whole number`);
  return Math.max(0, Number(text));
}

/** What a list is to be made of; a long one is not looked through in one turn. */
export async function listPage(parts: Parts, request: ResourceRequest, user: User, pace: Pace): Promise<Page> {
  const { query } = request;
  const limit = limitOf(query.get("limit"));
  const token = query.get("continue");
  const scope = scopeOf(request, user);
  if (token) return parts.snapshots.following(scope, token, limit);
  const { version } = parts.store;
  return parts.snapshots.first(scope, await pace.run(select(parts, request)), version, limit);
}

/** The answer in pieces of text: a long list is not made in one turn. */
export function* listAnswer(parts: Parts, request: ResourceRequest, form: Form, page: Page): Generator<string> {
  const { kind } = request;
  const metadata = {
    resourceVersion: String(page.version),
    ...(page.next === undefined ? {} : { continue: page.next, remainingItemCount: page.remaining }),
  };
  const show = itemShower(parts, request, form);
  const { list, ...head } = listHead(kind, form, metadata);
  yield `${JSON.stringify(head).slice(0, -1)},"${list}":[`;
  let separator = "";
  for (const object of page.items) {
    yield `${separator}${textOf(parts, kind, show(represent(kind, object)))}`;
    separator = ",";
  }
  yield "]}\n";
}

interface ListHead {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: unknown;
  readonly columnDefinitions?: unknown;
  /** The field that holds the items. */
  readonly list: "items" | "rows";
}

function listHead(kind: ApiKind, form: Form, metadata: unknown): ListHead {
  const meta = "meta.k8s.io/v1";
  if (form === "plain") return { kind: kind.listKind, apiVersion: apiVersionOf(kind), metadata, list: "items" };
  if (form === "metadata") return { kind: "PartialObjectMetadataList", apiVersion: meta, metadata, list: "items" };
  return { kind: "Table", apiVersion: meta, metadata, columnDefinitions: columnDefinitions(kind), list: "rows" };
}

function itemShower(parts: Parts, request: ResourceRequest, form: Form): (object: KubeObject) => unknown {
  if (form === "plain") return (object) => object;
  if (form === "metadata") return metadataOnly;
  const [now, includeObject] = [parts.now(), request.query.get("includeObject")];
  return (object) => tableRow(request.kind, object, now, includeObject);
}

function scopeOf({ kind, namespace, query }: ResourceRequest, user: User): ListScope {
  return {
    resource: `${apiVersionOf(kind)}/${kind.plural}`,
    namespace,
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
    user: user.name,
  };
}

function* select(parts: Parts, request: ResourceRequest): Generator<void, readonly KubeObject[]> {
  checkVersion(parts, request.query);
  const { kind, query, namespace } = request;
  const all = parts.store.list(resourceOf(kind));
  if (namespace === undefined && !query.get("labelSelector") && !query.get("fieldSelector")) return all;
  return yield* selected(all, selectorOf(kind, query, namespace));
}

/** Objects between pauses: a selector may have hundreds of parts. */
const batch = 64;

export function* selected(
  all: readonly KubeObject[],
  matches: (object: KubeObject) => boolean,
): Generator<void, readonly KubeObject[]> {
  const chosen: KubeObject[] = [];
  for (const [i, object] of all.entries()) {
    if (matches(object)) chosen.push(object);
    if (i % batch === batch - 1) yield;
  }
  return chosen;
}

/** Only the newest state is kept: an older one can be asked for as "at least", not as "exactly". */
function checkVersion(parts: Parts, query: URLSearchParams): void {
  const asked = query.get("resourceVersion") ?? "";
  if (asked === "" || asked === "0") return;
  const version = versionNumber(asked);
  if (version > parts.store.version)
    throw failure("Timeout", `Too large resource version: ${version}, current: ${parts.store.version}`, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    });
  if (query.get("resourceVersionMatch") === "Exact" && version !== parts.store.version)
    throw failure("Expired", `The resourceVersion for the provided list is too old: ${version}`);
}

export function versionNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw failure("BadRequest", `invalid resource version: ${JSON.stringify(text)}`);
  return Number(text);
}
