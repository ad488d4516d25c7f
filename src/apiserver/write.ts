/** create, update and patch: a decoded body in, the object as stored out. Every way to write an object ends here. */
import { type KubeObject, objectKey, ownPart } from "../model/index.ts";
import { listAt, numberAt, textAt } from "./access.ts";
import type { WriteContext } from "./context.ts";
import { equalJson } from "./equal.ts";
import { checkEscalation } from "./escalation.ts";
import { establish } from "./establish.ts";
import { alreadyExists, conflict, type FieldError, failure, invalid, modified, notFound } from "./failure.ts";
import { requireAllowed } from "./forbidden.ts";
import { apiVersionOf, resourceOf } from "./kind.ts";
import { checkLimits } from "./limits.ts";
import { applyManaged, type Manager, trackUpdate } from "./managed-fields.ts";
import { prepareNew, prepareStatus, prepareUpdate, timestamp } from "./metadata.ts";
import { represent } from "./represent.ts";
import { requireSignerRight, signingRequestRule, withRequester } from "./signing-requests.ts";
import { tellAppliedFields, tellFields } from "./strict-fields.ts";
import type { Typed } from "./typed-value.ts";
import { validateObject } from "./validate.ts";
import { immutableErrors } from "./validate-update.ts";
import { conditionErrors } from "./webhook-conditions.ts";

const maxAttempts = 8;
/** Written often and never applied: keeping track of their owners would cost more than they do. */
const untracked: ReadonlySet<string> = new Set(["coordination.k8s.io/leases", "/events"]);

/** `allowed` throws where the request's own verb does not say that the user may create. */
export async function createObject(
  context: WriteContext,
  body: KubeObject,
  allowed: () => void = () => {},
): Promise<KubeObject> {
  const { request, store, now } = context;
  const { kind } = request;
  const namespace = checkNamespace(context, body);
  const generate = textAt(body.metadata, "generateName");
  const decoded = withRequester(kind, decode(context, body), context.user);
  // A generated name that is taken is drawn again.
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const name = body.metadata.name || (generate === "" ? "" : `${generate}${context.randomText(5)}`);
    const key = objectKey({ name, namespace });
    if (store.get(resourceOf(kind), key)) {
      if (body.metadata.name) throw alreadyExists(kind, name);
      continue;
    }
    const fresh = prepareNew(kind, decoded, name, namespace, now());
    await context.pace.pause();
    const admitted = await mutated(context, "CREATE", fresh, undefined);
    const prepared = prepareNew(kind, admitted, name, namespace, now());
    const checked = await checkWrite(
      context,
      "CREATE",
      { ...prepared, metadata: { ...prepared.metadata, uid: fresh.metadata.uid ?? "" } },
      undefined,
      body,
      allowed,
    );
    await context.pace.pause();
    const tracked = await track(context, undefined, checked);
    await context.pace.pause();
    if (context.dryRun) return represent(kind, tracked);
    const stored = await store.write(resourceOf(kind), key, undefined, tracked);
    if (stored !== "changed") return represent(kind, stored);
    if (body.metadata.name) throw alreadyExists(kind, name);
  }
  throw failure("InternalError", `no free name could be generated for ${generate}`);
}

export async function updateObject(
  context: WriteContext,
  body: KubeObject,
): Promise<{ readonly code: number; readonly body: KubeObject }> {
  const { kind, name = "", subresource } = context.request;
  const { name: own, uid = "", resourceVersion = "" } = body.metadata;
  if (own !== undefined && own !== "" && own !== name)
    throw failure("BadRequest", `the name of the object (${own}) does not match the name on the URL (${name})`);
  const namespace = checkNamespace(context, body);
  const exists = context.store.get(resourceOf(kind), objectKey({ name, namespace })) !== undefined;
  if (!exists && kind.createOnUpdate && subresource === undefined) {
    // Who names an identity means the object that had it, and that is gone. A version is no identity to Kubernetes.
    if (uid !== "")
      throw conflict(kind, name, `Precondition failed: UID in precondition: ${uid}, UID in object meta: `);
    const named = { ...body, metadata: { ...body.metadata, name } };
    return { code: 201, body: await createObject(context, named, () => requireCreate(context)) };
  }
  if (exists && "custom" in kind.schema && resourceVersion === "")
    throw invalid(kind, name, [
      {
        path: "metadata.resourceVersion",
        reason: "FieldValueInvalid",
        message: "Invalid value: 0x0: must be specified for an update",
      },
    ]);
  return { code: 200, body: await changeObject(context, () => body) };
}

/** Reads, computes, and writes if nothing happened in between; computes again where the caller did not insist on a version. */
export async function changeObject(
  context: WriteContext,
  compute: (before: KubeObject) => KubeObject | Promise<KubeObject>,
  options: { readonly applied?: boolean } = {},
): Promise<KubeObject> {
  const { kind, name = "", namespace } = context.request;
  const resource = resourceOf(kind);
  const key = objectKey({ name, namespace });
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = context.store.get(resource, key);
    if (!stored) throw notFound(kind, name);
    const before = represent(kind, stored);
    const wanted = await compute(before);
    checkPreconditions(context, wanted, before);
    await context.pace.pause();
    const next = await nextObject(context, wanted, before, options.applied === true);
    await context.pace.pause();
    if (context.dryRun || equalJson(withoutTimes(next), withoutTimes(before))) return context.dryRun ? next : before;
    const written = await context.store.write(
      resource,
      key,
      stored.metadata.resourceVersion,
      isFinished(next) ? undefined : next,
    );
    if (written !== "changed") return represent(kind, isFinished(next) ? next : written);
    await context.store.settled();
  }
  throw modified(kind, name);
}

/** Server-side apply; creates what is not there. */
export async function applyObject(context: WriteContext, applied: KubeObject, force: boolean): Promise<KubeObject> {
  const { kind, name = "", namespace } = context.request;
  if (applied.metadata.name !== name)
    throw failure(
      "BadRequest",
      `the name of the object (${applied.metadata.name}) does not match the name on the URL (${name})`,
    );
  checkNamespace(context, applied);
  if (listAt(applied.metadata, "managedFields").length > 0)
    throw failure("BadRequest", "metadata.managedFields must be nil");
  tellAppliedFields(context);
  decode(context, applied);
  await context.pace.pause();
  const manager = managerOf(context, "Apply");
  if (!context.store.get(resourceOf(kind), objectKey({ name, namespace }))) {
    if (context.request.subresource !== undefined) throw notFound(kind, name);
    const fresh = await applyManaged(typedOf(context), undefined, applied, manager, force, context.pace);
    return createObject(context, fresh, () => requireCreate(context));
  }
  return changeObject(
    context,
    (before) => applyManaged(typedOf(context), before, applied, manager, force, context.pace),
    { applied: true },
  );
}

/** Who may change objects may not for that reason make new ones. */
function requireCreate(context: WriteContext): void {
  const { kind, name = "", namespace = "" } = context.request;
  const action = { verb: "create", group: kind.group, resource: kind.plural, subresource: "", namespace, name };
  requireAllowed(context.authorizer, context.user, action);
}

async function nextObject(
  context: WriteContext,
  wanted: KubeObject,
  before: KubeObject,
  applied: boolean,
): Promise<KubeObject> {
  const { kind, subresource } = context.request;
  const prepare = signingRequestRule(kind, subresource) ?? (subresource === "status" ? prepareStatus : prepareUpdate);
  const decoded = applied
    ? context.shaper.decode(kind, wanted).object
    : decode(context, wanted, context.request.verb === "patch");
  const fresh = prepare(kind, decoded, before);
  await context.pace.pause();
  const admitted = await mutated(context, "UPDATE", fresh, before);
  const checked = await checkWrite(context, "UPDATE", prepare(kind, admitted, before), before, wanted);
  await context.pace.pause();
  const tracked = applied ? checked : await track(context, before, checked);
  return {
    ...tracked,
    metadata: {
      ...tracked.metadata,
      ...(before.metadata.resourceVersion === undefined ? {} : { resourceVersion: before.metadata.resourceVersion }),
    },
  };
}

async function checkWrite(
  context: WriteContext,
  operation: "CREATE" | "UPDATE",
  object: KubeObject,
  before: KubeObject | undefined,
  /** As the client wrote it. */
  written: KubeObject,
  allowed: () => void = () => {},
): Promise<KubeObject> {
  const { kind, subresource } = context.request;
  const part = subresource === "status" ? "status" : "spec";
  const shaped = await context.shaper.check(kind, object, before, part, context.pace);
  await context.pace.pause();
  const errors: FieldError[] = [
    ...shaped.errors,
    ...validateObject(kind, shaped.object),
    ...immutableErrors(kind, shaped.object, before),
    ...(await conditionErrors(kind, shaped.object, context.pace)),
  ];
  requireSignerRight(context, shaped.object, before);
  await context.pace.pause();
  if (subresource === undefined) checkEscalation(context, shaped.object, before, written);
  allowed();
  if (errors.length > 0) throw invalid(kind, object.metadata.name, errors);
  await context.admission.validate(admission(context, operation, shaped.object, before));
  // What `fairlead up` itself keeps does run.
  const isKept = shaped.object.metadata.annotations?.[ownPart] !== undefined;
  if (kind.warning !== undefined && subresource === undefined && !isKept) context.warn(kind.warning);
  return establish(kind, shaped.object, context.now());
}

/** What webhooks made of it, which may be more than anybody could have sent. */
async function mutated(
  context: WriteContext,
  operation: "CREATE" | "UPDATE",
  object: KubeObject,
  before: KubeObject | undefined,
): Promise<KubeObject> {
  const changed = await context.admission.mutate(admission(context, operation, object, before));
  if (changed === undefined) return object;
  checkLimits(changed);
  return changed;
}

function admission(
  context: WriteContext,
  operation: "CREATE" | "UPDATE",
  object: KubeObject,
  before: KubeObject | undefined,
) {
  return {
    operation,
    request: context.request,
    user: context.user,
    object,
    before,
    dryRun: context.dryRun,
    warn: context.warn,
  };
}

/** The namespace of the URL is the one that counts; it has to exist and to be alive. */
function checkNamespace(context: WriteContext, body: KubeObject): string | undefined {
  const { kind, namespace, verb } = context.request;
  if (!kind.namespaced) return undefined;
  if (namespace === undefined || namespace === "")
    throw failure("BadRequest", `the namespace of the ${kind.kind} is not in the URL`);
  const own = body.metadata.namespace;
  if (own !== undefined && own !== "" && own !== namespace)
    throw failure(
      "BadRequest",
      `the namespace of the provided object does not match the namespace sent on the request`,
    );
  const found = context.store.get("/namespaces", namespace);
  if (!found) throw notFound({ group: "", plural: "namespaces", kind: "Namespace" }, namespace);
  if (found.metadata.deletionTimestamp !== undefined && verb === "create")
    throw failure(
      "Forbidden",
      `${kind.plural} "${body.metadata.name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
      {
        name: body.metadata.name,
        kind: kind.plural,
        causes: [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      },
    );
  return namespace;
}

function checkPreconditions(context: WriteContext, wanted: KubeObject, before: KubeObject): void {
  const { kind } = context.request;
  const { uid, resourceVersion } = wanted.metadata;
  if (uid !== undefined && uid !== "" && uid !== before.metadata.uid)
    throw conflict(
      kind,
      before.metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${before.metadata.uid}`,
    );
  if (resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== before.metadata.resourceVersion)
    throw modified(kind, before.metadata.name);
}

/** Marked for deletion, and nothing and nobody is left to wait for. */
function isFinished(object: KubeObject): boolean {
  const { deletionTimestamp, finalizers } = object.metadata;
  if (deletionTimestamp === undefined || (finalizers ?? []).length > 0) return false;
  if ((numberAt(object.metadata, "deletionGracePeriodSeconds") ?? 0) > 0) return false;
  return object.kind !== "Namespace" || object.apiVersion !== "v1" || listAt(object, "spec", "finalizers").length === 0;
}

async function track(context: WriteContext, before: KubeObject | undefined, next: KubeObject): Promise<KubeObject> {
  const { kind } = context.request;
  if (untracked.has(resourceOf(kind))) return next;
  // An apply that creates has written down its own.
  if (before === undefined && listAt(next.metadata, "managedFields").length > 0) return next;
  return trackUpdate(typedOf(context), before, next, managerOf(context, "Update"), context.pace);
}

function typedOf(context: WriteContext): Typed {
  return { definitions: context.definitions, schema: context.definitions.schemaOf(context.request.kind) };
}

function managerOf(context: WriteContext, operation: Manager["operation"]): Manager {
  const { kind, subresource } = context.request;
  return {
    name: context.fieldManager,
    operation,
    apiVersion: apiVersionOf(kind),
    subresource: subresource ?? "",
    time: timestamp(context.now()),
  };
}

function decode(context: WriteContext, body: KubeObject, isPatched = false): KubeObject {
  const { object, unknown } = context.shaper.decode(context.request.kind, body);
  tellFields(context, unknown, isPatched);
  return object;
}

/** A write that changes nothing but the times in managedFields is none. */
function withoutTimes(object: KubeObject): KubeObject {
  const managed = listAt(object.metadata, "managedFields");
  if (managed.length === 0) return object;
  const timeless = managed.map((entry) => ({ ...(entry as object), time: "" }));
  return { ...object, metadata: { ...object.metadata, managedFields: timeless } as KubeObject["metadata"] };
}
