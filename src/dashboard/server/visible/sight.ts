/** Who looks at a mesh in; which rows, and which texts, they may see out. */
import type { NamespaceReads, ObjectReads, ServiceReads } from "../../../read-api/index.ts";
import type { Viewer } from "../viewer.ts";
import { type KindInNamespace, ofObject } from "./kind-in-namespace.ts";

export interface Sight {
  /** Of which namespaces Pods are seen, and with them workloads and their requests. */
  pods(): Promise<(namespace: string) => boolean>;
  /** Those of which all that they are of is seen. */
  seen<T>(rows: readonly T[], isOf: (row: T) => readonly KindInNamespace[]): Promise<readonly T[]>;
  seenOne<T>(row: T | undefined, isOf: (row: T) => readonly KindInNamespace[]): Promise<T | undefined>;
  /** Whether a text has the name of a namespace that is not seen, in whatever form: a host, an identity, a path. */
  hiddenNames(): Promise<(text: string) => boolean>;
  /** Whether Pods of every namespace are seen, and every object and service that there is. */
  seesWhole(): Promise<boolean>;
}

/** Stands where a text would be that cannot be shown. */
export const notShown = "This names things of namespaces that you may not see.";

type AskedReads = Pick<NamespaceReads & ObjectReads & ServiceReads, "namespaces" | "objects" | "services">;

export function createSight(reads: AskedReads, viewer: Viewer): Sight {
  const pods: Sight["pods"] = async () => viewer.sees("Pod", await reads.namespaces());

  const seen: Sight["seen"] = async (rows, isOf) => {
    const all = rows.map(isOf);
    const kinds = Map.groupBy(all.flat(), ({ kind }) => kind);
    const asked = [...kinds].map(async ([kind, places]) => {
      const sees = await viewer.sees(kind, new Set(places.map(({ namespace }) => namespace)));
      return [kind, sees] as const;
    });
    const sees = new Map(await Promise.all(asked));
    const isSeen = ({ kind, namespace }: KindInNamespace): boolean => sees.get(kind)?.(namespace) === true;
    return rows.filter((_, i) => all[i]?.every(isSeen));
  };

  return {
    pods,
    seen,
    seenOne: async (row, isOf) => (row === undefined ? undefined : (await seen([row], isOf))[0]),
    async hiddenNames() {
      const sees = await pods();
      const hidden = new Set((await reads.namespaces()).filter((namespace) => !sees(namespace)));
      return (text) => text.match(/[a-z0-9-]+/g)?.some((word) => hidden.has(word)) === true;
    },
    async seesWhole() {
      const [all, sees] = [await reads.namespaces(), await pods()];
      const ids = [
        ...(await reads.objects()).map(({ id }) => id),
        ...(await reads.services()).map(({ object }) => object),
      ];
      const seesObjects = (await seen(ids, (id) => [ofObject(id)])).length === ids.length;
      return seesObjects && all.every(sees);
    },
  };
}
