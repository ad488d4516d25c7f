/** The rules of metadata that the API owns: what is set when an object is made, kept when it changes, counted when its spec does. */
import { randomUUID } from "node:crypto";
import type { KubeObject, ObjectMeta } from "../model/index.ts";
import { at, type Fields, textAt } from "./access.ts";
import { equalJson } from "./equal.ts";
import { type ApiKind, apiVersionOf } from "./kind.ts";

/** The form of metav1.Time. */
export function timestamp(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}

/** `spec` of a new object is taken, `status` is not: it belongs to whoever observes. */
export function prepareNew(
  kind: ApiKind,
  object: KubeObject,
  name: string,
  namespace: string | undefined,
  now: Date,
): KubeObject {
  const {
    resourceVersion: _r,
    deletionTimestamp: _d,
    selfLink: _s,
    ...given
  } = object.metadata as ObjectMeta & { selfLink?: string };
  const metadata: ObjectMeta = {
    ...given,
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: randomUUID(),
    creationTimestamp: timestamp(now),
    ...(kind.generation ? { generation: 1 } : {}),
  };
  return ordered(kind, kind.status ? withoutStatus(object) : object, metadata);
}

/** What an update may change: never the identity, and through the main path never the status. */
export function prepareUpdate(kind: ApiKind, next: KubeObject, before: KubeObject): KubeObject {
  const { generation, ...kept } = keptMetadata(before);
  const base = kind.status
    ? { ...withoutStatus(next), ...("status" in before ? { status: before.status } : {}) }
    : next;
  const changed = !equalJson(content(base), content(before));
  const counted = kind.generation ? { generation: (generation ?? 1) + (changed ? 1 : 0) } : {};
  return ordered(kind, base as KubeObject, { ...editable(next.metadata), ...kept, ...counted });
}

/** Through `…/status` only the status changes (and who manages what). */
export function prepareStatus(kind: ApiKind, next: KubeObject, before: KubeObject): KubeObject {
  const managedFields = at(next.metadata, "managedFields");
  const metadata = { ...before.metadata, ...(managedFields === undefined ? {} : { managedFields }) };
  return ordered(kind, { ...before, status: next.status ?? {} }, metadata);
}

function keptMetadata(before: KubeObject): Partial<ObjectMeta> {
  const { name, namespace, uid, creationTimestamp, deletionTimestamp, generation } = before.metadata;
  const grace = at(before.metadata, "deletionGracePeriodSeconds");
  const generateName = textAt(before.metadata, "generateName");
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(generateName === "" ? {} : { generateName }),
    ...(uid === undefined ? {} : { uid }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(grace === undefined ? {} : { deletionGracePeriodSeconds: grace }),
    ...(generation === undefined ? {} : { generation }),
  };
}

function editable(metadata: ObjectMeta): ObjectMeta {
  const {
    deletionTimestamp: _,
    generation: _g,
    resourceVersion: _r,
    selfLink: _s,
    deletionGracePeriodSeconds: _p,
    ...rest
  } = metadata as ObjectMeta & Fields;
  return rest as ObjectMeta;
}

/** All but metadata and status: what a generation counts. */
function content(object: KubeObject): Fields {
  const { metadata: _, status: _s, apiVersion: _a, kind: _k, ...rest } = object;
  return rest;
}

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return rest as KubeObject;
}

/** Type and metadata first, as people read them. */
function ordered(kind: ApiKind, object: KubeObject, metadata: ObjectMeta): KubeObject {
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = object;
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: Object.fromEntries(entries) as unknown as ObjectMeta,
    ...rest,
  };
}
