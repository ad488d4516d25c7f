/** One watch request in, its events out, until the server ends it, it stalls, or it is cancelled. */
import { FairleadError, isRecord, objectLimits, parseJson } from "../lib/index.ts";
import { collectionPath, type KindRef } from "./kind.ts";
import type { ListOptions, WatchOptions } from "./list-options.ts";
import { answerDepth } from "./narrow.ts";
import { statusError } from "./status.ts";
import type { Transport } from "./transport.ts";

export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** An object of the greatest size, with what the watch puts around it. */
const maxLineBytes = objectLimits.maxBytes * 2;

export async function* streamEvents(http: Transport, kind: KindRef, options: WatchOptions): AsyncGenerator<WatchEvent> {
  const answer = await http.open({
    method: "GET",
    path: collectionPath(kind, options.namespace),
    query: watchQuery(options),
    signal: options.signal,
    timeoutMs: 30_000,
    endless: true,
  });
  const stalled = (): void => {
    answer.destroy(new FairleadError("timeout", `the watch of ${kind.plural} has stalled`));
  };
  let timer = options.stallMs === undefined ? undefined : setTimeout(stalled, options.stallMs);
  try {
    let rest: Buffer[] = [];
    let size = 0;
    for await (const chunk of answer) {
      timer?.refresh();
      let data = chunk as Buffer;
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10)) {
        rest.push(data.subarray(0, end));
        const line = Buffer.concat(rest).toString();
        rest = [];
        size = 0;
        data = data.subarray(end + 1);
        if (line.trim() !== "") yield parseEvent(kind, line);
        timer?.refresh();
      }
      size += data.length;
      if (size > maxLineBytes)
        throw new FairleadError(
          "too-large",
          `an event of the watch of ${kind.plural} has more than ${maxLineBytes} bytes`,
        );
      if (data.length > 0) rest.push(data);
    }
  } finally {
    clearTimeout(timer);
    timer = undefined;
    answer.destroy();
  }
}

function watchQuery(options: ListOptions): Record<string, string | undefined> {
  return {
    watch: "true",
    allowWatchBookmarks: "true",
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
  };
}

/** An ERROR event is thrown as the error that it describes. */
function parseEvent(kind: KindRef, line: string): WatchEvent {
  const event = parseJson(line, { maxBytes: maxLineBytes, maxDepth: answerDepth });
  if (!isRecord(event) || typeof event.type !== "string")
    throw new FairleadError("invalid", `the watch of ${kind.plural} sent something that is not an event`);
  if (event.type === "ERROR") {
    const status = event.object;
    const code = isRecord(status) && typeof status.code === "number" ? status.code : 500;
    throw statusError(`watch of ${kind.plural}`, code, status);
  }
  return { type: event.type, object: event.object };
}
