/** Objects as they are and a change to them in; the objects after it, and what would be refused or has no say, out. */
import { isDeepStrictEqual } from "node:util";
import { loadCel, validateConfig } from "../../config/index.ts";
import { type KubeObject, kindOf, objectName } from "../../model/index.ts";
import { readKinds } from "../api-objects.ts";
import { patchCheckerFor } from "../check-patches.ts";
import { applyOver } from "./apply-over.ts";

/** An object and what is to be said of it. */
export interface Told {
  readonly object: string;
  readonly field?: string;
  readonly message: string;
}

export interface Change {
  readonly wanted: readonly KubeObject[];
  /** By `Kind/namespace/name`. */
  readonly deleted: ReadonlySet<string>;
}

export interface Proposal {
  readonly after: readonly KubeObject[];
  /** Names of the objects that would be different. */
  readonly touched: readonly string[];
  readonly refused: readonly Told[];
  readonly ignored: readonly Told[];
  readonly warnings: readonly Told[];
}

export const nameOf = ({ kind, metadata }: KubeObject): string => objectName(kind, metadata);

export async function propose(base: readonly KubeObject[], change: Change): Promise<Proposal> {
  const { refused, warnings } = await judge(change.wanted);
  const refusedNames = new Set(refused.map(({ object }) => object));
  const byName = new Map(base.map((object) => [nameOf(object), object]));
  const touched: string[] = [];
  const ignored: Told[] = [];
  for (const wanted of change.wanted) {
    const name = nameOf(wanted);
    if (refusedNames.has(name)) continue;
    const live = byName.get(name);
    const now = live ? applyOver(live, wanted) : wanted;
    if (live && sameContent(live, now)) ignored.push({ object: name, message: "is so already" });
    else if (!isRead(wanted)) ignored.push({ object: name, message: unread(wanted) });
    else touched.push(name);
    byName.set(name, now);
  }
  for (const name of goingWith(change.deleted, byName.values())) {
    byName.delete(name);
    touched.push(name);
  }
  return { after: [...byName.values()], touched, refused, ignored, warnings };
}

const sameContent = (a: KubeObject, b: KubeObject): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

const isRead = ({ apiVersion, kind }: KubeObject): boolean => {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return workloadKinds.has(kind) || readKinds.some((one) => one.kind === kind && one.group === group);
};

const workloadKinds: ReadonlySet<string> = new Set(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"]);

const unread = ({ kind }: KubeObject): string => `is a ${kind}, which no proxy is configured from`;

/** What is deleted, and what goes with it: all of a namespace, the endpoints of a Service. */
function goingWith(deleted: ReadonlySet<string>, objects: Iterable<KubeObject>): readonly string[] {
  if (deleted.size === 0) return [];
  return [...objects]
    .filter((object) => {
      const { namespace, labels, ownerReferences = [] } = object.metadata;
      const service = object.kind === "EndpointSlice" ? labels?.["kubernetes.io/service-name"] : undefined;
      return (
        deleted.has(nameOf(object)) ||
        (namespace !== undefined && deleted.has(`Namespace/${namespace}`)) ||
        (service !== undefined && deleted.has(`Service/${namespace}/${service}`)) ||
        ownerReferences.some((owner) => deleted.has(`${owner.kind}/${namespace}/${owner.name}`))
      );
    })
    .map(nameOf);
}

/** As the API's schema and the webhook would; a warning refuses nothing. */
async function judge(
  objects: readonly KubeObject[],
): Promise<{ readonly refused: readonly Told[]; readonly warnings: readonly Told[] }> {
  const known = objects.filter(({ apiVersion, kind }) => kindOf(apiVersion, kind)?.encoding === "protobuf");
  if (known.length === 0) return { refused: [], warnings: [] };
  const options = { cel: await loadCel(), ...(await patchCheckerFor(known)) };
  const verdicts = known.flatMap((object) => {
    const kind = kindOf(object.apiVersion, object.kind);
    return kind ? [{ name: nameOf(object), ...validateConfig(kind, object, options) }] : [];
  });
  const told = (name: string, { path, message }: { readonly path: string; readonly message: string }): Told => ({
    object: name,
    ...(path === "" ? {} : { field: path }),
    message,
  });
  return {
    refused: verdicts.flatMap(({ name, errors }) => errors.map((problem) => told(name, problem))),
    warnings: verdicts.flatMap(({ name, warnings }) => warnings.map((problem) => told(name, problem))),
  };
}
