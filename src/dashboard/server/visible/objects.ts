/** Objects: those of kinds and namespaces that are seen, without what of their effects names something hidden. */
import type { ObjectDetail, ObjectReads } from "../../../read-api/index.ts";
import { seenChange } from "./changes.ts";
import { seenFindings } from "./findings.ts";
import { ofObject } from "./kind-in-namespace.ts";
import { notShown, type Sight } from "./sight.ts";

export function visibleObjects(reads: ObjectReads, sight: Sight): ObjectReads {
  return {
    async objects() {
      return sight.seen(await reads.objects(), ({ id }) => [ofObject(id)]);
    },
    async object(id) {
      const seen = await sight.seenOne(id, (one) => [ofObject(one)]);
      const object = seen === undefined ? undefined : await reads.object(id);
      return object && seenObject(object, sight);
    },
  };
}

async function seenObject(object: ObjectDetail, sight: Sight): Promise<ObjectDetail> {
  const [names, findings] = [await sight.hiddenNames(), await seenFindings(object.findings, sight)];
  const { programmed } = object;
  return {
    ...object,
    findings,
    ...(programmed
      ? {
          programmed: {
            ...programmed,
            message: names(programmed.message) ? notShown : programmed.message,
            refusing: programmed.refusing.filter(({ proxy, part, words }) => !names(`${proxy} ${part} ${words}`)),
            waiting: programmed.waiting.filter((proxy) => !names(proxy)),
          },
        }
      : {}),
    parts: object.parts.filter(({ name }) => !names(name)),
    changes: object.changes.map((change) => seenChange(change, names)),
  };
}
