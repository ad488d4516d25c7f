/** Objects of users, as they change, in; the last thousand changes, each with its difference and who has it, out. */
import type { Collection } from "../../../collections/index.ts";
import { dropOldest, formatSortedYaml } from "../../../lib/index.ts";
import { type KubeObject, lastWriter } from "../../../model/index.ts";
import type { Change, ChangeDetail } from "../../../read-api/index.ts";
import { envoyLines } from "./envoy-lines.ts";
import type { History } from "./history-file.ts";
import { cut, type KeptChange, maxChanges } from "./kept-change.ts";
import { lineDiff } from "./line-diff.ts";
import { type SettleSources, settleChanges } from "./settle.ts";
import type { TouchedPair } from "./touched.ts";

export interface Changes {
  /** Newest first. */
  all(): readonly Change[];
  of(object: string): readonly Change[];
  detail(id: number): Promise<ChangeDetail | undefined>;
  /** Another text whenever an answer may be another. */
  moves(): string;
}

export interface ChangesOptions {
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  readonly now: () => Date;
  /** Without it nobody is asked who has a change. */
  readonly settle?: SettleSources;
  /** Without it changes are forgotten with the process. */
  readonly history?: History;
}

/** Of so many changes it is kept what they altered in proxies, for whoever wants to see it. */
const maxPairs = 100;
/** Of one change; who wants more has the object itself. */
const maxDiffLines = 200;
/** What is larger is not kept for a comparison, nor would a person read it. */
const maxComparedBytes = 32 * 1024;

export function followChanges({ kinds, now, settle, history }: ChangesOptions): Changes {
  const ring: KeptChange[] = [...(history?.read() ?? [])];
  let next = (ring[0]?.id ?? 0) + 1;
  let news = 0;
  /** By the change. Beside them: these are bytes as Envoys have them, secrets and others' things among them. */
  const pairs = new Map<number, readonly TouchedPair[]>();
  const settling =
    settle &&
    settleChanges(settle, (change, moved) => {
      news++;
      if (moved) pairs.set(change.id, moved);
      dropOldest(pairs, maxPairs);
      history?.settled(change);
    });
  for (const [kind, objects] of kinds)
    objects.subscribe((key, after, before) => {
      if (after && before && isSame(after, before)) return;
      const diff = createDiff(before, after);
      const author = after?.metadata[lastWriter];
      const change: KeptChange = {
        id: next++,
        object: `${kind}/${key}`,
        namespace: (after ?? before)?.metadata.namespace ?? "",
        act: !before ? "added" : !after ? "removed" : "changed",
        at: now().toISOString(),
        ...(after?.metadata.generation === undefined ? {} : { generation: after.metadata.generation }),
        ...(author ? { author } : {}),
        get diff() {
          return diff();
        },
      };
      ring.unshift(change);
      ring.length = Math.min(ring.length, maxChanges);
      settling?.begin(kind, key, change);
      history?.add(change, () => ring);
    });
  return {
    all: () => ring,
    of: (object) => ring.filter((change) => change.object === object),
    async detail(id) {
      const change = ring.find((one) => one.id === id);
      if (!change) return undefined;
      const known = pairs.get(id);
      const lines = (change.touched ?? []).map((_, i) => known?.[i]);
      return { ...change, envoy: await envoyLines(lines) };
    },
    moves: () => `${next} ${news}`,
  };
}

/** Worked out when it is first shown: most changes never are. */
function createDiff(before: KubeObject | undefined, after: KubeObject | undefined): () => readonly string[] {
  const isLarge = [before, after].some((object) => object && JSON.stringify(object).length > maxComparedBytes);
  if (isLarge) return () => [" too large to be compared here"];
  let sides: readonly (KubeObject | undefined)[] = [before, after];
  let diff: readonly string[] | undefined;
  return () => {
    const [from = "", to = ""] = sides.map((object) => object && written(object));
    diff ??= lineDiff(from, to).slice(0, maxDiffLines).map(cut);
    sides = [];
    return diff;
  };
}

/** Statuses and what the API counts are nobody's change. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.generation === b.metadata.generation;
}

/** What a user wrote of it, as YAML. */
export function written({ status: _, ...object }: KubeObject): string {
  const { name, namespace, labels, annotations } = object.metadata;
  return formatSortedYaml({
    ...object,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations: withoutCopy(annotations) }),
    },
  });
}

/** kubectl keeps the whole object once more in an annotation. */
function withoutCopy(annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...others } = annotations;
  return others;
}
