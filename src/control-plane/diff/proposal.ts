/** Objects as they are and a change to them in; the objects after it, and what would be refused or has no say, out. */
import { isDeepStrictEqual } from "node:util";
import { loadCel, validateConfig } from "../../config/index.ts";
import { meshKinds } from "../../kube/index.ts";
import { FairleadError, nearest } from "../../lib/index.ts";
import { type KubeObject, kindOf, objectName } from "../../model/index.ts";
import type { DiffTold as Told } from "../../read-api/index.ts";
import { loadPatchChecker } from "../../render/index.ts";
import { applyOver } from "./apply-over.ts";
import { workloadKinds } from "./stand-ins.ts";

export interface Change {
  readonly wanted: readonly KubeObject[];
  /** By `Kind/namespace/name`. */
  readonly deleted: ReadonlySet<string>;
}

export interface Proposal {
  readonly after: readonly KubeObject[];
  /** Names of the objects that would be different. */
  readonly touched: readonly string[];
  /** Of these, those that would be gone. */
  readonly gone: readonly string[];
  readonly refused: readonly Told[];
  readonly ignored: readonly Told[];
  readonly warnings: readonly Told[];
}

export const nameOf = ({ kind, metadata }: KubeObject): string => objectName(kind, metadata);

/** Of two kinds called Gateway one is Istio's own. */
export const keyOf = (object: KubeObject): string => `${groupOf(object)}/${nameOf(object)}`;

const groupOf = ({ apiVersion }: KubeObject): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";

export async function propose(base: readonly KubeObject[], change: Change): Promise<Proposal> {
  const { refused, warnings } = await judge(change.wanted);
  const refusedNames = new Set(refused.map(({ object }) => object));
  const byKey = new Map(base.map((object) => [keyOf(object), object]));
  const touched: string[] = [];
  const ignored: Told[] = [];
  for (const wanted of change.wanted) {
    const name = nameOf(wanted);
    if (refusedNames.has(name)) continue;
    const live = byKey.get(keyOf(wanted));
    const now = live ? applyOver(live, wanted) : wanted;
    if (live && sameContent(live, now)) ignored.push({ object: name, message: "is so already" });
    else if (!isRead(wanted)) ignored.push({ object: name, message: unread(wanted) });
    else touched.push(name);
    byKey.set(keyOf(now), now);
  }
  const going = goingWith(change.deleted, byKey.values());
  for (const object of going) byKey.delete(keyOf(object));
  const gone = going.map(nameOf);
  touched.push(...gone);
  return { after: [...byKey.values()], touched, gone, refused, ignored, warnings };
}

/** What would be deleted has to be there. */
export function checkDeleted(deleted: readonly string[], names: ReadonlySet<string>): void {
  const missing = deleted.filter((name) => !names.has(name));
  const [first] = missing;
  if (first === undefined) return;
  const close = nearest(first, [...names]);
  throw new FairleadError("not-found", `there is no ${missing.map((name) => name.replace("/", " ")).join(", no ")}`, {
    hint: close === undefined ? "-n names the namespace" : `did you mean ${close.replace("/", " ")}?`,
  });
}

/** What an API adds by itself; a status in a file is no part of what is applied. */
export function asCreated({ status: _status, ...object }: KubeObject): KubeObject {
  const creationTimestamp = object.metadata.creationTimestamp ?? new Date().toISOString();
  return {
    ...object,
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: { ...object.metadata, creationTimestamp },
  };
}

const sameContent = (a: KubeObject, b: KubeObject): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

const isRead = (object: KubeObject): boolean =>
  workloadKinds.has(object.kind) ||
  meshKinds.some(({ kind, group }) => kind === object.kind && group === groupOf(object));

const unread = ({ kind }: KubeObject): string => `is a ${kind}, which no proxy is configured from`;

/** What is deleted, and what goes with it: all of a namespace, the endpoints of a Service. */
function goingWith(deleted: ReadonlySet<string>, objects: Iterable<KubeObject>): readonly KubeObject[] {
  if (deleted.size === 0) return [];
  return [...objects].filter((object) => {
    const { namespace, labels, ownerReferences = [] } = object.metadata;
    const service = object.kind === "EndpointSlice" ? labels?.["kubernetes.io/service-name"] : undefined;
    return (
      deleted.has(nameOf(object)) ||
      (namespace !== undefined && deleted.has(`Namespace/${namespace}`)) ||
      (service !== undefined && deleted.has(`Service/${namespace}/${service}`)) ||
      ownerReferences.some((owner) => deleted.has(`${owner.kind}/${namespace}/${owner.name}`))
    );
  });
}

/** As the API's schema and the webhook would; a warning refuses nothing. */
async function judge(
  objects: readonly KubeObject[],
): Promise<{ readonly refused: readonly Told[]; readonly warnings: readonly Told[] }> {
  const known = objects.filter(({ apiVersion, kind }) => kindOf(apiVersion, kind)?.encoding === "protobuf");
  if (known.length === 0) return { refused: [], warnings: [] };
  const isPatch = known.some(({ kind }) => kind === "EnvoyFilter");
  const options = { cel: await loadCel(), ...(isPatch ? { patches: await loadPatchChecker() } : {}) };
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
