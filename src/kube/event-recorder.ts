/**
 * What happens to an object in; core/v1 Events about it out. The same thing again is counted on the Event that says it,
 * with its latest words, so that whatever goes on failing leaves a handful of Events.
 */
import { dropOldest, FairleadError, type Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { KubeClient } from "./client.ts";
import { kubeKinds } from "./kinds.ts";

const { events } = kubeKinds;

export interface EventRecorder {
  /** Never fails and is not waited for: an Event that cannot be written is lost. */
  record(about: KubeObject, type: "Normal" | "Warning", reason: string, message: string, container?: string): void;
  /** Resolves when nothing is on its way. */
  idle(): Promise<void>;
}

export interface RecorderOptions {
  readonly client: Pick<KubeClient, "create" | "patch">;
  /** Who speaks. */
  readonly component: string;
  readonly host: string;
  readonly now: () => Date;
  readonly random: () => number;
  readonly log: Logger;
}

interface Written {
  readonly name: string;
  readonly count: number;
}

const maxMessage = 1024;
/** While the API is away nothing may pile up. */
const maxWaiting = 100;
/** Objects come and go. What is said of one again after so many others is an Event of its own. */
const maxWritten = 1000;

export function createEventRecorder(options: RecorderOptions): EventRecorder {
  const written = new Map<string, Written>();
  let queue: Promise<void> = Promise.resolve();
  let waiting = 0;
  const write = async (key: string, event: KubeObject): Promise<void> => {
    const known = written.get(key);
    written.delete(key);
    const { message, lastTimestamp } = event;
    if (known) {
      const ref = { name: known.name, namespace: event.metadata.namespace };
      const count = known.count + 1;
      written.set(key, { name: known.name, count });
      const patched = await options.client
        .patch(events, ref, "merge", { count, message, lastTimestamp })
        .then(() => true, isGone);
      if (patched) return;
    }
    written.set(key, { name: event.metadata.name, count: 1 });
    dropOldest(written, maxWritten);
    await options.client.create(events, event);
  };
  return {
    record(about, type, reason, message, container) {
      if (waiting >= maxWaiting) return;
      waiting++;
      const fieldPath = container === undefined ? undefined : `spec.containers{${container}}`;
      const key = [about.kind, about.metadata.uid, fieldPath, type, reason].join("|");
      const event = eventObject(options, about, { type, reason, message: message.slice(0, maxMessage) }, fieldPath);
      queue = queue
        .then(() => write(key, event))
        .catch((error: unknown) => options.log.debug(`an Event was lost: ${FairleadError.from(error).message}`))
        .finally(() => waiting--);
    },
    idle: () => queue,
  };
}

/** It expired, or its namespace went: another one is made. */
function isGone(error: unknown): false {
  if (error instanceof FairleadError && error.code === "not-found") return false;
  throw error;
}

function eventObject(
  options: RecorderOptions,
  about: KubeObject,
  told: { readonly type: string; readonly reason: string; readonly message: string },
  fieldPath: string | undefined,
): KubeObject {
  const { name, namespace = "default", uid, resourceVersion } = about.metadata;
  const time = options
    .now()
    .toISOString()
    .replace(/\.\d+Z$/, "Z");
  const id = Math.floor(options.random() * 2 ** 48).toString(16);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${id}`, namespace },
    involvedObject: {
      apiVersion: about.apiVersion,
      kind: about.kind,
      name,
      namespace: about.metadata.namespace,
      uid,
      resourceVersion,
      ...(fieldPath === undefined ? {} : { fieldPath }),
    },
    ...told,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    source: { component: options.component, host: options.host },
    reportingComponent: options.component,
    reportingInstance: options.host,
  };
}
