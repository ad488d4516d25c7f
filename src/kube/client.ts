/** Typed requests in, objects out: one thin client for every verb of a Kubernetes API. */
import type { Readable } from "node:stream";
import { FairleadError, isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { apiVersionOf, collectionPath, type KindRef, type ObjectRef, objectPath } from "./kind.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import type { ListOptions, WatchOptions } from "./list-options.ts";
import { asObject } from "./narrow.ts";
import { createTransport, type Transport, type TransportOptions } from "./transport.ts";
import { streamEvents, type WatchEvent } from "./watch-stream.ts";

export interface ListAnswer {
  readonly items: readonly KubeObject[];
  /** How many more there are that no object could be made of. */
  readonly unreadable: number;
  readonly resourceVersion: string;
  readonly continue: string | undefined;
}

export type PatchType = "json" | "merge" | "strategic" | "apply";

export interface WriteOptions {
  readonly subresource?: string | undefined;
  readonly fieldManager?: string | undefined;
  readonly dryRun?: boolean | undefined;
  /** Server-side apply: take over fields that others own. */
  readonly force?: boolean | undefined;
  /** What happens to fields that the kind does not have; the server's own default where absent. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface DeleteOptions {
  readonly uid?: string | undefined;
  /** Only while the object is as it was read. */
  readonly resourceVersion?: string | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface KubeClient {
  get(kind: KindRef, ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject>;
  /** As `get`, but undefined where the object (or its kind) does not exist. */
  find(kind: KindRef, ref: ObjectRef, signal?: AbortSignal): Promise<KubeObject | undefined>;
  list(kind: KindRef, options?: ListOptions): Promise<ListAnswer>;
  create(kind: KindRef, object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  update(kind: KindRef, object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  patch(kind: KindRef, ref: ObjectRef, type: PatchType, body: unknown, options?: WriteOptions): Promise<KubeObject>;
  /** Merges into the status alone. */
  patchStatus(kind: KindRef, ref: ObjectRef, status: unknown, options?: WriteOptions): Promise<KubeObject>;
  delete(kind: KindRef, ref: ObjectRef, options?: DeleteOptions): Promise<void>;
  /** Creates a named child of an object, such as a token of a ServiceAccount. */
  createSubresource(kind: KindRef, ref: ObjectRef, subresource: string, body: unknown): Promise<unknown>;
  watch(kind: KindRef, options: WatchOptions): AsyncIterable<WatchEvent>;
  /** Any other path; `accept` asks for another form of the answer, such as a Table. */
  raw(method: string, path: string, body?: unknown, accept?: string): Promise<unknown>;
  /** A path that answers with text, such as `/metrics`. */
  text(path: string): Promise<string>;
  /** A path that answers with text as it comes, for any time, such as a log that is followed. */
  stream(path: string, signal?: AbortSignal): Promise<Readable>;
  close(): void;
}

const contentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

export function createKubeClient(access: ClusterAccess, options?: TransportOptions): KubeClient {
  return clientOver(createTransport(access, options));
}

function clientOver(http: Transport): KubeClient {
  const object = async (kind: KindRef, answer: Promise<unknown>): Promise<KubeObject> => {
    const found = asObject(await answer, kind);
    if (!found) throw new FairleadError("invalid", `the API's answer is not a ${kind.kind}`);
    return found;
  };
  const client: KubeClient = {
    get: (kind, ref, signal) => object(kind, http.json({ method: "GET", path: objectPath(kind, ref), signal })),
    find: (kind, ref, signal) =>
      client.get(kind, ref, signal).catch((error: unknown) => {
        if (error instanceof FairleadError && error.code === "not-found") return undefined;
        throw error;
      }),
    list: async (kind, options = {}) =>
      listAnswer(
        kind,
        await http.json({
          method: "GET",
          path: collectionPath(kind, options.namespace),
          query: listQuery(options),
          signal: options.signal,
        }),
      ),
    create: (kind, body, options = {}) =>
      object(
        kind,
        http.json({
          method: "POST",
          path: collectionPath(kind, body.metadata.namespace),
          ...write(typed(kind, body), options),
        }),
      ),
    update: (kind, body, options = {}) =>
      object(
        kind,
        http.json({
          method: "PUT",
          path: objectPath(kind, body.metadata, options.subresource),
          ...write(typed(kind, body), options),
        }),
      ),
    patch: (kind, ref, type, body, options = {}) =>
      object(
        kind,
        http.json({
          method: "PATCH",
          path: objectPath(kind, ref, options.subresource),
          contentType: contentTypes[type],
          ...write(body, options),
        }),
      ),
    patchStatus: (kind, ref, status, options = {}) =>
      client.patch(kind, ref, "merge", { status }, { ...options, subresource: "status" }),
    delete: async (kind, ref, options = {}) => {
      await http.json({
        method: "DELETE",
        path: objectPath(kind, ref),
        body: deleteBody(options),
        signal: options.signal,
      });
    },
    createSubresource: (kind, ref, subresource, body) =>
      http.json({ method: "POST", path: objectPath(kind, ref, subresource), body }),
    watch: (kind, options) => streamEvents(http, kind, options),
    raw: (method, path, body, accept) => http.json({ method, path, body, accept }),
    stream: (path, signal) => http.open({ method: "GET", path, signal, endless: true }),
    text: (path) => http.text({ method: "GET", path }),
    close: () => http.close(),
  };
  return client;
}

function listQuery(options: ListOptions): Record<string, string | undefined> {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    limit: options.limit === undefined ? undefined : String(options.limit),
    continue: options.continue,
    resourceVersion: options.resourceVersion,
  };
}

function write(body: unknown, options: WriteOptions) {
  const query = {
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    dryRun: options.dryRun === true ? "All" : undefined,
    force: options.force === true ? "true" : undefined,
  };
  return { body, query, signal: options.signal };
}

function typed(kind: KindRef, body: KubeObject): KubeObject {
  return { ...body, apiVersion: apiVersionOf(kind), kind: kind.kind };
}

function deleteBody(options: DeleteOptions): unknown {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(options.uid === undefined && options.resourceVersion === undefined
      ? {}
      : { preconditions: { uid: options.uid, resourceVersion: options.resourceVersion } }),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
  };
}

function listAnswer(kind: KindRef, answer: unknown): ListAnswer {
  const metadata = isRecord(answer) ? answer.metadata : undefined;
  const items = isRecord(answer) ? answer.items : undefined;
  if (!isRecord(metadata) || !(Array.isArray(items) || items === null || items === undefined))
    throw new FairleadError("invalid", `the API's answer is not a list of ${kind.plural}`);
  const token = metadata.continue;
  const read = (items ?? []).flatMap((item: unknown) => asObject(item, kind) ?? []);
  return {
    items: read,
    unreadable: (items?.length ?? 0) - read.length,
    resourceVersion: String(metadata.resourceVersion ?? ""),
    continue: typeof token === "string" && token !== "" ? token : undefined,
  };
}
