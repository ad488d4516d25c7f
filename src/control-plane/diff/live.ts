/**
 * A running mesh in; the read that says what a change would do to it out. It is worked out in a thread that is told what
 * there is when somebody asks, and that goes when nobody does.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import type { Graph } from "../../collections/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { DiffAnswer, MeshReads, Mistake } from "../../read-api/index.ts";
import type { Ads } from "../../xds/index.ts";
import { createJobThread, threadScript } from "../job-thread.ts";
import { keyOf } from "./proposal.ts";
import type { ShadowNews, ShadowNode } from "./shadow.ts";
import type { ShadowMessage } from "./shadow-worker.ts";
import type { StatesOptions } from "./states.ts";

export interface LiveDiffInputs {
  readonly graph: Graph;
  readonly ads: Ads;
  /** All that the mesh is made from. */
  objects(): readonly KubeObject[];
  readonly settings: NonNullable<StatesOptions["settings"]>;
}

export interface LiveDiff {
  readonly diff: MeshReads["diff"];
  close(): Promise<void>;
}

/** Of one question, with the first of which all of the mesh is made. */
const timeoutMs = 30_000;
const maxWaitingChars = 8 * 1024 * 1024;
/** Whoever waits behind more has gone. */
const maxWaiting = 32;
const idleMs = 300_000;
/** Objects that are handed over in a turn. */
const atOnce = 200;

/** A mesh needs less the second time, without streams and histories. */
const maxHeapMb = (): number => Math.max(256, Math.floor(getHeapStatistics().heap_size_limit / 2 / 1024 / 1024));

export function createLiveDiff({ graph, ads, objects, settings }: LiveDiffInputs): LiveDiff {
  let told = new Map<string, KubeObject>();
  let connected = new Set<string>();
  let version = -1;

  async function tellNews(tell: (news: unknown) => void, isNew: boolean): Promise<void> {
    if (isNew) {
      told = new Map();
      connected = new Set();
      version = -1;
    }
    const ids = new Set(ads.connected().flatMap(({ connectionId, follows }) => (follows ? [connectionId] : [])));
    const joined = [...ids.difference(connected)].flatMap((id) => [ads.statusOf(id)].flatMap((one) => one ?? []));
    const changed = version === graph.version ? nothing : changesSince(told, objects());
    version = graph.version;
    const news: ShadowNews = {
      ...changed,
      connected: joined.map(({ connectionId: id, node, identity }) => ({ id, node, identity })),
      left: [...connected.difference(ids)],
    };
    for (const part of inParts(news)) {
      tell({ news: part } satisfies ShadowMessage);
      await nextTurn();
    }
    // Known once they are told: a thread that ended meanwhile is told all of it again.
    for (const key of changed.removed) told.delete(key);
    for (const object of changed.objects) told.set(keyOf(object), object);
    connected = ids;
  }

  const thread = createJobThread<ShadowMessage, DiffAnswer | Mistake>({
    script: threadScript("shadow-worker", import.meta.url),
    data: settings,
    ...{ timeoutMs, maxWaitingChars, maxWaiting, maxHeapMb: maxHeapMb(), idleMs },
    words: {
      failed: "what would change could not be worked out",
      slow: "to work out what would change takes more than",
      full: "too many ask at once",
    },
    prepare: tellNews,
  });

  return {
    async diff(question, signal) {
      try {
        const chars = (question.objects ?? "").length + 1000;
        return await thread.run({ question }, chars, signal);
      } catch (error) {
        if (!(error instanceof FairleadError) || error.code === "internal") throw error;
        return { code: error.code, error: error.message };
      }
    },
    close: thread.close,
  };
}

const nothing = { objects: [], removed: [] };

function changesSince(
  told: ReadonlyMap<string, KubeObject>,
  now: readonly KubeObject[],
): Pick<ShadowNews, "objects" | "removed"> {
  const keys = new Map(now.map((object) => [keyOf(object), object]));
  return {
    objects: [...keys].filter(([key, object]) => told.get(key) !== object).map(([, object]) => object),
    removed: [...told.keys()].filter((key) => !keys.has(key)),
  };
}

function* inParts({ objects, removed, connected, left }: ShadowNews): Generator<ShadowNews> {
  for (let i = 0; i < objects.length; i += atOnce)
    yield { objects: objects.slice(i, i + atOnce), removed: [], connected: [], left: [] };
  const nodes = (from: number): readonly ShadowNode[] => connected.slice(from, from + atOnce);
  for (let i = atOnce; i < connected.length; i += atOnce)
    yield { objects: [], removed: [], connected: nodes(i), left: [] };
  if (removed.length + connected.length + left.length > 0) yield { objects: [], removed, connected: nodes(0), left };
}
