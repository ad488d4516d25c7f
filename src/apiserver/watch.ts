/** A watch request in, a stream of events out: what changed since a version, bookmarks in between, an end when asked for. */
import { FairleadError } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Parts } from "./context.ts";
import { statusOf } from "./failure.ts";
import { apiVersionOf, resourceOf } from "./kind.ts";
import { storedText, versionNumber } from "./read.ts";
import { type Form, metadataOnly, represent } from "./represent.ts";
import type { ResourceRequest } from "./request.ts";
import { selectorOf } from "./selectors.ts";
import type { StoreEvent } from "./store.ts";
import { tableOf } from "./table.ts";
import type { Cursor } from "./watch-hub.ts";

export interface WatchSink {
  /** False: it has enough for now, and `onDrain` says when it has not. */
  write(line: string): boolean;
  /** Ends the stream from our side. */
  end(): void;
  /** Cuts it off. */
  destroy(): void;
  onDrain(listener: () => void): void;
  /** Called once when the client is gone. */
  onClose(listener: () => void): void;
}

export interface WatchTimes {
  readonly bookmarkMs: number;
  readonly maxMs: number;
}

/** Lines that one watch sends before the next has its turn. */
const batch = 32;

export function serveWatch(
  parts: Parts,
  request: ResourceRequest,
  form: Form,
  times: WatchTimes,
  sink: WatchSink,
): void {
  const { kind, query, namespace } = request;
  const matches = selectorOf(kind, query, namespace);
  const lineOf = presenter(parts, request, form);
  let blocked = false;
  let closed = false;
  const send = (line: string): void => {
    blocked = !sink.write(line);
  };
  const bookmark = (version: number, annotations?: Readonly<Record<string, string>>): void => {
    const metadata = {
      resourceVersion: String(version),
      creationTimestamp: null,
      ...(annotations ? { annotations } : {}),
    };
    send(
      `${JSON.stringify({ type: "BOOKMARK", object: { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata } })}\n`,
    );
  };

  /** The objects that are there to begin with, then the end of these, then what happens. */
  let start: Beginning;
  try {
    start = beginningOf(parts, request, () => wake());
  } catch (error) {
    // The stream has begun with 200, as in Kubernetes: a version that is gone is told as an event.
    sink.write(`${JSON.stringify({ type: "ERROR", object: statusOf(error) })}\n`);
    sink.end();
    return;
  }
  const { cursor, objects, version, endMark } = start;
  let at = 0;
  let marked = !endMark;
  /** One step; false when there is nothing to do. */
  const step = (): boolean => {
    const object = objects[at];
    if (object) {
      at++;
      if (matches(object)) send(lineOf("ADDED", object, storedText(parts, kind, object)));
      return true;
    }
    if (!marked) {
      marked = true;
      bookmark(version, { "k8s.io/initial-events-end": "true" });
      return true;
    }
    const event = cursor.next();
    if (event === undefined) return false;
    if (event === "expired") sink.destroy();
    else tell(event);
    return event !== "expired";
  };
  const tell = (event: StoreEvent): void => {
    const now = event.type !== "DELETED" && matches(event.object);
    const before = event.before !== undefined && matches(event.before);
    if (now) send(lineOf(before ? "MODIFIED" : "ADDED", event.object, event.text));
    // An object that no longer matches is gone for this client; its last state carries the version of the change.
    else if (before && event.before) send(lineOf("DELETED", deletedOf(event, event.before)));
  };
  /** One watch that cannot show an object ends, so that its client lists again; the others are not to notice. */
  const run = (): boolean => {
    try {
      for (let i = 0; i < batch && !blocked && !closed; i++) if (!step()) return false;
      return !blocked && !closed;
    } catch (error) {
      parts.log.error(`watch of ${kind.plural}: ${FairleadError.from(error).message}`);
      sink.end();
      return false;
    }
  };
  const wake = (): void => {
    if (!blocked && !closed) parts.watchTurns.add(run);
  };
  sink.onDrain(() => {
    blocked = false;
    wake();
  });
  const wantsBookmarks = ["1", "true"].includes(query.get("allowWatchBookmarks") ?? "");
  const ticking = wantsBookmarks
    ? setInterval(() => {
        // Never ahead of what was sent.
        const { version: sent } = cursor;
        if (!blocked && marked && at >= objects.length && sent !== undefined) bookmark(sent);
      }, times.bookmarkMs)
    : undefined;
  const seconds = Number(query.get("timeoutSeconds"));
  const ending = setTimeout(() => sink.end(), seconds > 0 ? Math.min(seconds * 1000, times.maxMs) : times.maxMs);
  sink.onClose(() => {
    closed = true;
    cursor.close();
    parts.watchTurns.remove(run);
    clearInterval(ticking);
    clearTimeout(ending);
  });
  wake();
}

interface Beginning {
  readonly cursor: Cursor;
  readonly objects: readonly KubeObject[];
  readonly version: number;
  /** The client wants to know where the objects end. */
  readonly endMark: boolean;
}

function beginningOf(parts: Parts, { kind, query }: ResourceRequest, wake: () => void): Beginning {
  const asked = query.get("resourceVersion") ?? "";
  const fromNow = asked === "" || asked === "0";
  const wanted = query.get("sendInitialEvents");
  const initial = wanted === "true" || (fromNow && wanted !== "false");
  const { version } = parts.store;
  const resource = resourceOf(kind);
  return {
    cursor: parts.hub.open(resource, fromNow || initial ? version : versionNumber(asked), wake),
    objects: initial ? parts.store.list(resource) : [],
    version,
    endMark: wanted === "true",
  };
}

/** For an object that leaves a selection as for one that is deleted: made once, so that its line is, too. */
const deleted = new WeakMap<StoreEvent, KubeObject>();

function deletedOf(event: StoreEvent, before: KubeObject): KubeObject {
  if (event.type === "DELETED") return event.object;
  const known = deleted.get(event);
  if (known) return known;
  const object = { ...before, metadata: { ...before.metadata, resourceVersion: String(event.version) } };
  deleted.set(event, object);
  return object;
}

/** The first Table of a stream has the columns, later ones only rows. */
function presenter(
  parts: Parts,
  request: ResourceRequest,
  form: Form,
): (type: string, object: KubeObject, text?: string) => string {
  if (form === "plain") return (type, object, text) => parts.watchLines.line(request.kind, type, object, text);
  const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`;
  if (form === "metadata") return (type, object) => line(type, metadataOnly(represent(request.kind, object)));
  let first = true;
  return (type, stored) => {
    const object = represent(request.kind, stored);
    const columns = first;
    first = false;
    return line(
      type,
      tableOf(request.kind, [object], {
        now: parts.now(),
        includeObject: request.query.get("includeObject"),
        columns,
        metadata: { resourceVersion: object.metadata.resourceVersion },
      }),
    );
  };
}
