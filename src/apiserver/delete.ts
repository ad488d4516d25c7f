/** delete and deletecollection: finalizers and grace periods are waited for, everything else goes at once. */
import { isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import { at, listAt, numberAt, textAt } from "./access.ts";
import type { WriteContext } from "./context.ts";
import { customResourceDefinitions } from "./core-kinds.ts";
import { conflict, failure, modified, notFound, type Status, success } from "./failure.ts";
import { type ApiKind, resourceOf } from "./kind.ts";
import { timestamp } from "./metadata.ts";
import { selected } from "./read.ts";
import { represent } from "./represent.ts";
import { selectorOf } from "./selectors.ts";

const maxAttempts = 8;

/** Where Kubernetes keeps its own; it never lets them go. */
const immortal: ReadonlySet<string> = new Set(["default", "kube-system", "kube-public"]);

/** `options` is the DeleteOptions of the request's body, if it had one. */
export async function deleteObject(context: WriteContext, options: unknown): Promise<KubeObject | Status> {
  const { kind, name = "", namespace } = context.request;
  const resource = resourceOf(kind);
  const key = objectKey({ name, namespace });
  if (resource === "/namespaces" && immortal.has(name))
    throw failure("Forbidden", `namespaces "${name}" is forbidden: this namespace may not be deleted`, {
      name,
      kind: "namespaces",
    });
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = context.store.get(resource, key);
    if (!stored) throw notFound(kind, name);
    checkPreconditions(kind, stored, options);
    await context.admission.validate({
      operation: "DELETE",
      request: context.request,
      user: context.user,
      object: undefined,
      before: stored,
      dryRun: context.dryRun,
      warn: context.warn,
    });
    const held = withFinalizers(stored, propagationOf(context, options));
    const next = afterDelete(kind, held, graceOf(context, stored, options), context.now());
    if (context.dryRun || next === stored)
      return next === undefined ? success(kind, name, stored.metadata.uid) : represent(kind, next);
    if (next === undefined && resource === customResourceDefinitions) await deleteInstances(context, stored);
    const written = await context.store.write(resource, key, stored.metadata.resourceVersion, next);
    if (written !== "changed")
      return next === undefined ? success(kind, name, stored.metadata.uid) : represent(kind, written);
    await context.store.settled();
  }
  throw modified(kind, name);
}

/** A definition takes its objects with it: they must not come back when it does. */
async function deleteInstances(context: WriteContext, definition: KubeObject): Promise<void> {
  const resource = resourceOf({
    group: textAt(definition, "spec", "group"),
    plural: textAt(definition, "spec", "names", "plural"),
  });
  const objects = context.store.list(resource);
  await Promise.all(
    objects.map((o) => context.store.write(resource, objectKey(o.metadata), o.metadata.resourceVersion, undefined)),
  );
}

export async function deleteCollection(context: WriteContext, options: unknown): Promise<unknown> {
  const { kind, query, namespace } = context.request;
  const all = context.store.list(resourceOf(kind));
  const chosen = await context.pace.run(selected(all, selectorOf(kind, query, namespace)));
  for (const object of chosen) {
    const request = { ...context.request, name: object.metadata.name, namespace: object.metadata.namespace };
    await deleteObject({ ...context, request }, options);
  }
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
}

const finalizerOf: ReadonlyMap<string, string> = new Map([
  ["Foreground", "foregroundDeletion"],
  ["Orphan", "orphan"],
]);

/** Who asks for it has the garbage collector deal with the dependents first: the finalizer is its mark. */
function withFinalizers(object: KubeObject, policy: string): KubeObject {
  const { finalizers = [] } = object.metadata;
  const others = finalizers.filter((name) => ![...finalizerOf.values()].includes(name));
  const own = finalizerOf.get(policy);
  // The last word counts; nothing said leaves what an earlier one said.
  if (policy === "" || (own === undefined && others.length === finalizers.length)) return object;
  if (own !== undefined && finalizers.includes(own)) return object;
  const next = own === undefined ? others : [...others, own];
  return { ...object, metadata: { ...object.metadata, finalizers: next } };
}

function propagationOf({ request: { query } }: WriteContext, options: unknown): string {
  const policy = query.get("propagationPolicy") || textAt(options, "propagationPolicy");
  if (policy !== "" && policy !== "Background" && !finalizerOf.has(policy))
    throw failure(
      "Invalid",
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "${policy}": supported values: "Background", "Foreground", "Orphan"`,
    );
  if (policy !== "") return policy;
  const orphan = at(options, "orphanDependents");
  return orphan === true ? "Orphan" : orphan === false ? "Background" : "";
}

/** Undefined: gone; the same object: nothing to do; another: marked as being deleted. */
function afterDelete(kind: ApiKind, object: KubeObject, graceSeconds: number, now: Date): KubeObject | undefined {
  const isNamespace = kind.group === "" && kind.kind === "Namespace";
  const waits =
    (object.metadata.finalizers ?? []).length > 0 || (isNamespace && listAt(object, "spec", "finalizers").length > 0);
  if (!waits && graceSeconds === 0) return undefined;
  const running = object.metadata.deletionTimestamp !== undefined;
  const grace = numberAt(object.metadata, "deletionGracePeriodSeconds") ?? 0;
  // A second delete may only shorten the wait.
  if (running && graceSeconds >= grace) return object;
  const metadata = {
    ...object.metadata,
    deletionTimestamp: timestamp(new Date(now.getTime() + graceSeconds * 1000)),
    deletionGracePeriodSeconds: graceSeconds,
  };
  return {
    ...object,
    metadata,
    ...(isNamespace ? { status: { ...(isRecord(object.status) ? object.status : {}), phase: "Terminating" } } : {}),
  };
}

/** Only a Pod that runs somewhere is given time to end; whoever runs it deletes it again with a grace of 0. */
function graceOf(context: WriteContext, object: KubeObject, options: unknown): number {
  const { kind, query } = context.request;
  if (kind.group !== "" || kind.kind !== "Pod" || textAt(object, "spec", "nodeName") === "") return 0;
  const phase = textAt(object, "status", "phase");
  if (phase === "Succeeded" || phase === "Failed") return 0;
  const asked = query.get("gracePeriodSeconds");
  const seconds = asked === null || asked === "" ? numberAt(options, "gracePeriodSeconds") : Number(asked);
  return Math.max(0, seconds ?? numberAt(object, "spec", "terminationGracePeriodSeconds") ?? 30);
}

function checkPreconditions(kind: ApiKind, object: KubeObject, options: unknown): void {
  const uid = textAt(options, "preconditions", "uid");
  const version = textAt(options, "preconditions", "resourceVersion");
  const { name, uid: ownUid, resourceVersion } = object.metadata;
  if (uid !== "" && uid !== ownUid)
    throw conflict(kind, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${ownUid}`);
  if (version !== "" && version !== resourceVersion)
    throw conflict(
      kind,
      name,
      `Precondition failed: ResourceVersion in precondition: ${version}, ResourceVersion in object meta: ${resourceVersion}`,
    );
}
