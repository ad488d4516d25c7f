/** Objects of an API in; the proxies and parts that each of these reaches out: what would differ without it. */
import { completed, createDiffer, nameOf } from "../../control-plane/index.ts";
import { FairleadError, printable, readRecord } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { DiffAnswer, DiffClass } from "../../read-api/index.ts";
import type { Io } from "../command.ts";
import { answerOrThrow, askLivePlane, type LiveFlags } from "../live-plane.ts";
import { printTabs } from "../table.ts";
import { objectsOfApi } from "../why/input.ts";

export interface Affected {
  readonly object: string;
  readonly kind: string;
  /** Name of the resource; of a route configuration each virtual host by itself. */
  readonly name: string;
  readonly count: number;
  /** Of very many, some by name. */
  readonly proxies: readonly string[];
}

/** What would change without the object of a name; undefined where nobody can be asked. */
type Without = (name: string) => Promise<Pick<DiffAnswer, "classes"> | undefined>;

/** The running control plane knows its proxies, also those without a Pod; without one, Pods are taken for them. */
export async function affectedBy(asked: readonly KubeObject[], flags: LiveFlags, io: Io): Promise<readonly Affected[]> {
  const names = asked.map(nameOf);
  const live = await partsBy(names, withoutLive(flags, io));
  return live ?? (await partsBy(names, await withoutWorkedOut(flags, io))) ?? [];
}

async function partsBy(names: readonly string[], without: Without): Promise<readonly Affected[] | undefined> {
  const found: Affected[] = [];
  for (const name of names) {
    const answer = await without(name);
    if (!answer) return undefined;
    found.push(...partsOf(name, answer.classes));
  }
  return found;
}

/** Of what is no part of the mesh, and where there is no proxy. */
const nobody = { classes: [] };

const withoutLive =
  (flags: LiveFlags, io: Io): Without =>
  async (name) => {
    const answer = await askLivePlane(flags, "diffz", { deleted: [name] }, io);
    return readRecord(answer).code === "not-found" ? nobody : answerOrThrow<DiffAnswer>(answer);
  };

async function withoutWorkedOut(flags: LiveFlags, io: Io): Promise<Without> {
  const { objects: base, meshConfig } = await objectsOfApi(flags, io);
  const differ = createDiffer({ meshConfig, complete: completed });
  const choice = { profile: "istio-proxy" } as const;
  return (name) =>
    differ
      .diff({
        ...{ base, change: { wanted: [], deleted: new Set([name]) }, before: choice, after: choice },
        ...{ wanted: [], resources: false },
      })
      .catch((error: unknown) => {
        if (error instanceof FairleadError && error.code === "not-found") return nobody;
        throw error;
      });
}

function partsOf(object: string, classes: readonly DiffClass[]): readonly Affected[] {
  const found = new Map<string, Affected>();
  for (const { resources, count, proxies } of classes)
    for (const { type, name: resource, hosts = [resource] } of resources)
      for (const name of hosts) {
        const kind = kindWords[type.slice(type.lastIndexOf(".") + 1)] ?? "extension";
        const known = found.get(`${kind} ${name}`) ?? { object, kind, name, count: 0, proxies: [] };
        found.set(`${kind} ${name}`, {
          ...known,
          count: known.count + count,
          proxies: [...known.proxies, ...proxies].sort(),
        });
      }
  return [...found.values()];
}

const kindWords: Readonly<Record<string, string>> = {
  Cluster: "cluster",
  ClusterLoadAssignment: "endpoint",
  Listener: "listener",
  RouteConfiguration: "route",
};

export function affectedTable(parts: readonly Affected[], isSeveral: boolean): string {
  const rows = parts.map(({ object, kind, name, count, proxies }) => [
    ...(isSeveral ? [object] : []),
    kind,
    name,
    String(count),
    `${proxies.slice(0, 3).join(",")}${count > 3 ? ",…" : ""}`,
  ]);
  const header = [...(isSeveral ? ["OBJECT"] : []), "PART", "NAME", "PROXIES", "WHICH"];
  return printTabs([header, ...rows.map((cells) => cells.map(printable))], 3, 6);
}
