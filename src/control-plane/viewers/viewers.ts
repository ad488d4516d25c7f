/** A bearer in; who looks, with what the API lets them see of each kind in each namespace, out. Unknown means no. */
import { createHash } from "node:crypto";
import type { Viewer } from "../../dashboard/index.ts";
import { type KindRef, reviewAccess } from "../../kube/index.ts";
import { createLimit, dropOldest } from "../../lib/index.ts";
import { type Caller, type CallersOptions, createCallers } from "./callers.ts";

export interface ViewersOptions extends CallersOptions {
  /** By the names that ids of objects begin with. */
  readonly kinds: ReadonlyMap<string, Pick<KindRef, "group" | "plural">>;
}

/** Who loses a right sees no more of it after so long. */
const keptMs = 60_000;
const maxKept = 50_000;
const maxQuestions = 8;

interface Verdict {
  readonly untilMs: number;
  readonly allowed: Promise<boolean>;
}

export function createViewers(options: ViewersOptions): (bearer: string) => Promise<Viewer | undefined> {
  const callerOf = createCallers(options);
  const may = createRights(options);
  return async (bearer) => {
    const caller = await callerOf(bearer);
    if (!caller) return undefined;
    const key = createHash("sha256").update(JSON.stringify(caller)).digest("base64");
    return {
      key,
      async sees(kind, namespaces) {
        const ref = options.kinds.get(kind);
        if (!ref) return () => false;
        // Most who may see something everywhere may list it everywhere: one question.
        if (await may(caller, key, ref, "")) return () => true;
        const asked = [...new Set(namespaces)].filter((namespace) => namespace !== "");
        const verdicts = await Promise.all(
          asked.map(async (namespace) => [namespace, await may(caller, key, ref, namespace)] as const),
        );
        const seen = new Set(verdicts.filter(([, allowed]) => allowed).map(([namespace]) => namespace));
        return (namespace) => seen.has(namespace);
      },
    };
  };
}

type May = (caller: Caller, key: string, ref: Pick<KindRef, "group" | "plural">, namespace: string) => Promise<boolean>;

function createRights({ client, monotonicMs }: ViewersOptions): May {
  const kept = new Map<string, Verdict>();
  const limit = createLimit(maxQuestions);
  return (caller, key, { group, plural }, namespace) => {
    const id = JSON.stringify([key, group, plural, namespace]);
    const known = kept.get(id);
    if (known && known.untilMs > monotonicMs()) return known.allowed;
    const question = { verb: "list", group, resource: plural, ...(namespace === "" ? {} : { namespace }) };
    const allowed = limit(() => reviewAccess(client, { ...caller, ...question }));
    kept.delete(id);
    kept.set(id, { untilMs: monotonicMs() + keptMs, allowed });
    dropOldest(kept, maxKept);
    // An API that does not answer has said nothing.
    allowed.catch(() => kept.delete(id));
    return allowed;
  };
}
