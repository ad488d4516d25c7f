/** Objects of users in; the rows and pages of them out: as they are written, what is wrong with them, who has them. */
import type { Collection, Graph } from "../../collections/index.ts";
import { lookInTurns } from "../../dashboard/index.ts";
import { createRest, formatSortedYaml } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { Finding, ObjectDetail, ObjectReads, ObjectRow } from "../../read-api/index.ts";
import { shortName } from "../../xds/index.ts";
import type { ObjectProblem } from "../controllers/find-problems.ts";
import { createPartsOf, type Programmed, reachSteps, sayVerdict } from "../programmed/index.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import { type Changes, written } from "./changes/index.ts";
import { problemsOf, refused } from "./findings.ts";

interface ObjectInputs {
  readonly graph: Graph;
  readonly resources: ControlledSource;
  /** By the names that provenance has. */
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  readonly programmed: Programmed;
  refusals(): Promise<readonly Refusal[]>;
}

/** By the ids of objects. */
export type FoundProblems = ReadonlyMap<string, readonly ObjectProblem[]>;

export function createObjectReads(
  inputs: ObjectInputs,
  problems: () => Promise<FoundProblems>,
  changes: Changes,
): ObjectReads {
  const { kinds, programmed } = inputs;
  return {
    async objects() {
      const found = await problems();
      return [...kinds].flatMap(([kind, of]) =>
        of.keys().flatMap((key) => {
          const object = of.get(key);
          return object ? [objectRow(kind, key, object, found)] : [];
        }),
      );
    },
    async object(id) {
      const [kind, key] = [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)];
      const object = kinds.get(kind)?.get(key);
      if (!object) return undefined;
      const found = await problems();
      const verdict = await programmed.of(kind, key);
      const latest = changes.of(id).slice(0, maxChanges);
      await lookInTurns(latest);
      return {
        ...objectRow(kind, key, object, found),
        ...textsOf(object),
        findings: findingsOf(id, found, await inputs.refusals()),
        ...(verdict ? { programmed: { ...verdict, ...sayVerdict(verdict) } } : {}),
        parts: await partsOf(inputs, kind, key),
        changes: latest,
      };
    },
  };
}

/** Of one object; all are on the page of changes. */
const maxChanges = 50;

/** Writing a longer one would hold up all others, and nobody reads it on a page. */
const maxYamlBytes = 128 * 1024;

function textsOf(object: KubeObject): Pick<ObjectDetail, "yaml" | "status" | "resourceVersion"> {
  const { resourceVersion } = object.metadata;
  const bytes = JSON.stringify(object).length;
  if (bytes > maxYamlBytes) return { yaml: `# ${bytes} bytes are too many to be shown here: kubectl get -o yaml` };
  return {
    yaml: written(object),
    ...(object.status === undefined ? {} : { status: formatSortedYaml({ status: object.status }) }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function objectRow(kind: string, key: string, { metadata }: KubeObject, found: FoundProblems): ObjectRow {
  const { name, namespace = "", generation } = metadata;
  const id = `${kind}/${key}`;
  return {
    ...{ id, kind, namespace, name },
    ...(generation === undefined ? {} : { generation }),
    problems: found.get(id)?.length ?? 0,
  };
}

function findingsOf(id: string, found: FoundProblems, refusals: readonly Refusal[]): readonly Finding[] {
  const own = refusals.filter(({ blamed }) => blamed.some(({ object }) => object === id));
  return [...refused(own), ...problemsOf(id, found.get(id) ?? [])];
}

const maxParts = 200;

/** Of each class of proxies, what was made from the object; of a large mesh that takes many turns. */
async function partsOf(
  { graph, kinds, resources }: ObjectInputs,
  kind: string,
  key: string,
): Promise<ObjectDetail["parts"]> {
  const objects = kinds.get(kind);
  if (!objects) return [];
  const rest = createRest();
  const steps = reachSteps({ graph, resources }, kind, objects, key);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await rest();
  // As provenance calls it.
  const parts = createPartsOf(`${kind.split(".")[0]}/${key}`, step.value);
  const counted = new Map<string, { type: string; name: string; proxies: number }>();
  for (const { renderer, nodes } of [...resources.rendered()]) {
    await rest();
    for (const { type, wanted } of parts(renderer)) {
      const id = `${type} ${wanted.name}`;
      const known = counted.get(id) ?? { type: shortName(type), name: wanted.name, proxies: 0 };
      known.proxies += nodes.size;
      counted.set(id, known);
    }
  }
  return [...counted.values()].slice(0, maxParts);
}
