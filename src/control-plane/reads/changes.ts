/** Objects of users, as they change, in; the last thousand changes with their differences out. */
import type { Collection } from "../../collections/index.ts";
import type { Change } from "../../dashboard/index.ts";
import { formatSortedYaml } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { lineDiff } from "./line-diff.ts";

export interface Changes {
  /** Newest first. */
  all(): readonly Change[];
  of(object: string): readonly Change[];
}

const maxChanges = 1000;
/** Of one change; who wants more has the object itself. */
const maxDiffLines = 200;
const maxLineChars = 200;
/** What is larger is not kept for a comparison, nor would a person read it. */
const maxComparedBytes = 32 * 1024;

export function followChanges(kinds: ReadonlyMap<string, Collection<KubeObject>>, now: () => Date): Changes {
  const ring: Change[] = [];
  let next = 1;
  for (const [kind, objects] of kinds)
    objects.subscribe((key, after, before) => {
      if (after && before && isSame(after, before)) return;
      const diff = createDiff(before, after);
      ring.unshift({
        id: next++,
        object: `${kind}/${key}`,
        namespace: (after ?? before)?.metadata.namespace ?? "",
        act: !before ? "added" : !after ? "removed" : "changed",
        at: now().toISOString(),
        ...(after?.metadata.generation === undefined ? {} : { generation: after.metadata.generation }),
        get diff() {
          return diff();
        },
      });
      ring.length = Math.min(ring.length, maxChanges);
    });
  return { all: () => ring, of: (object) => ring.filter((change) => change.object === object) };
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

/** A text of its own: a part of a longer one would keep all of that. */
function cut(line: string): string {
  const shown = line.length > maxLineChars ? `${line.slice(0, maxLineChars)}…` : line;
  return Buffer.from(shown.toWellFormed()).toString();
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
