/** A watch request in, a stream of events out: what changed since a version, bookmarks in between, an end when asked for. */
import { FairleadError } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { Parts } from "./context.ts";
import { statusOf } from "./failure.ts";
import { apiVersionOf, resourceOf } from "./kind.ts";
import { versionNumber } from "./read.ts";
import { type Form, metadataOnly, represent } from "./represent.ts";
import type { ResourceRequest } from "./request.ts";
import { selectorOf } from "./selectors.ts";
import type { StoreEvent } from "./store.ts";
import { tableOf } from "./table.ts";

export interface WatchSink {
  write(line: string): void;
  /** Ends the stream from our side. */
  end(): void;
  /** Called once when the client is gone. */
  onClose(listener: () => void): void;
}

export interface WatchTimes {
  readonly bookmarkMs: number;
  readonly maxMs: number;
}

export function serveWatch(
  parts: Parts,
  request: ResourceRequest,
  form: Form,
  times: WatchTimes,
  sink: WatchSink,
): void {
  const { kind, query, namespace } = request;
  const matches = selectorOf(kind, query, namespace);
  const show = presenter(parts, request, form);
  const send = (type: string, object: KubeObject): void =>
    sink.write(`${JSON.stringify({ type, object: show(object) })}\n`);
  const tell = (event: StoreEvent): void => {
    const now = event.type !== "DELETED" && matches(event.object);
    const before = event.before !== undefined && matches(event.before);
    if (now) send(before ? "MODIFIED" : "ADDED", event.object);
    // An object that no longer matches is gone for this client; its last state carries the version of the change.
    else if (before && event.before)
      send("DELETED", {
        ...event.before,
        metadata: { ...event.before.metadata, resourceVersion: String(event.version) },
      });
  };
  /** One watch that cannot show an object ends, so that its client lists again; the others are not to notice. */
  const onEvent = (event: StoreEvent): void => {
    try {
      tell(event);
    } catch (error) {
      parts.log.error(`watch of ${kind.plural}: ${FairleadError.from(error).message}`);
      sink.end();
    }
  };
  const bookmark = (annotations?: Readonly<Record<string, string>>): void => {
    const metadata = {
      resourceVersion: String(parts.store.version),
      creationTimestamp: null,
      ...(annotations ? { annotations } : {}),
    };
    sink.write(
      `${JSON.stringify({ type: "BOOKMARK", object: { kind: kind.kind, apiVersion: apiVersionOf(kind), metadata } })}\n`,
    );
  };

  const start = query.get("resourceVersion") ?? "";
  const fromNow = start === "" || start === "0";
  const initial = query.get("sendInitialEvents") === "true" || (fromNow && query.get("sendInitialEvents") !== "false");
  let stop = (): void => {};
  try {
    const after = fromNow || initial ? parts.store.version : versionNumber(start);
    if (initial) for (const object of parts.store.list(resourceOf(kind))) if (matches(object)) send("ADDED", object);
    if (query.get("sendInitialEvents") === "true") bookmark({ "k8s.io/initial-events-end": "true" });
    stop = parts.hub.follow(resourceOf(kind), after, onEvent);
  } catch (error) {
    // The stream has begun with 200, as in Kubernetes: a version that is gone is told as an event.
    sink.write(`${JSON.stringify({ type: "ERROR", object: statusOf(error) })}\n`);
    sink.end();
    return;
  }
  const wantsBookmarks = ["1", "true"].includes(query.get("allowWatchBookmarks") ?? "");
  const ticking = wantsBookmarks ? setInterval(() => bookmark(), times.bookmarkMs) : undefined;
  const seconds = Number(query.get("timeoutSeconds"));
  const ending = setTimeout(() => sink.end(), seconds > 0 ? Math.min(seconds * 1000, times.maxMs) : times.maxMs);
  sink.onClose(() => {
    stop();
    clearInterval(ticking);
    clearTimeout(ending);
  });
}

/** The first Table of a stream has the columns, later ones only rows. */
function presenter(parts: Parts, request: ResourceRequest, form: Form): (object: KubeObject) => unknown {
  let first = true;
  return (stored) => {
    const object = represent(request.kind, stored);
    if (form === "plain") return object;
    if (form === "metadata") return metadataOnly(object);
    const columns = first;
    first = false;
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf(request.kind, [object], {
      now: parts.now(),
      includeObject: request.query.get("includeObject"),
      columns,
      metadata,
    });
  };
}
