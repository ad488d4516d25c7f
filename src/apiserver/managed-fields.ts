/** Who set which field: an object before and after a write in, the object with its managedFields brought up to date out. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject, ObjectMeta } from "../model/index.ts";
import { at, type Fields, listAt, textAt } from "./access.ts";
import { failure } from "./failure.ts";
import {
  countFields,
  difference,
  emptySet,
  type FieldSet,
  fieldPaths,
  fieldSet,
  formatFieldSet,
  intersection,
  isEmpty,
  parseFieldSet,
  union,
} from "./field-set.ts";
import { maxOwned } from "./limits.ts";
import { type Pace, unpaced } from "./pace.ts";
import { changedFields, fieldsOf, goneFields, mergeTyped, removeFields, type Typed } from "./typed-value.ts";

type Pausing = Pick<Pace, "pause" | "run">;

export interface Manager {
  readonly name: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
}

interface Entry extends Manager {
  readonly fields: FieldSet;
}

/** Conflicts that are told of one by one. */
const maxConflicts = 1000;

/** Fields that nobody owns: they name the object or belong to the API itself. */
const notOwned: FieldSet = fieldSet(false, [
  ["f:apiVersion", { own: true, children: new Map() }],
  ["f:kind", { own: true, children: new Map() }],
  [
    "f:metadata",
    fieldSet(
      false,
      [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "managedFields",
        "generateName",
      ].map((name) => [`f:${name}`, { own: true, children: new Map() }]),
    ),
  ],
]);

/** After a create, update or patch that is no apply: what it changed is its own now, and nobody else's. */
export async function trackUpdate(
  typed: Typed,
  before: KubeObject | undefined,
  next: KubeObject,
  manager: Manager,
  pace: Pausing = unpaced,
): Promise<KubeObject> {
  const written = listAt(next.metadata, "managedFields");
  // A client resets all ownership by sending one empty entry.
  const isReset = written.length === 1 && isRecord(written[0]) && Object.keys(written[0]).length === 0;
  const [was, is] = [before && unmanaged(before), unmanaged(next)];
  const changed = stripped(await pace.run(changedFields(typed, was, is)));
  await pace.pause();
  const gone = was === undefined ? emptySet : await pace.run(goneFields(typed, was, is));
  await pace.pause();
  if (isEmpty(changed) && isEmpty(gone))
    return isReset ? withEntries(next, [], pace) : keepingEntries(next, before ?? next);
  const entries = isReset ? [] : await readEntries(before ?? next, pace);
  const others: Entry[] = [];
  for (const e of entries.filter((one) => !sameManager(one, manager))) {
    others.push({ ...e, fields: difference(difference(e.fields, changed), gone) });
    await pace.pause();
  }
  const mine = entries.find((e) => sameManager(e, manager))?.fields ?? emptySet;
  const own = { ...manager, fields: union(difference(mine, gone), changed) };
  await pace.pause();
  return withEntries(next, [...others, own], pace);
}

/** Nothing has changed hands: what is written down of it need not be read and written again. */
function keepingEntries(object: KubeObject, from: KubeObject): KubeObject {
  const managedFields = at(from.metadata, "managedFields");
  const { metadata } = unmanaged(object);
  return { ...object, metadata: { ...metadata, ...(managedFields === undefined ? {} : { managedFields }) } };
}

/** Server-side apply: the live object (if any) and what a manager wants in, the result out; 409 where others disagree. */
export async function applyManaged(
  typed: Typed,
  live: KubeObject | undefined,
  applied: KubeObject,
  manager: Manager,
  force: boolean,
  pace: Pausing = unpaced,
): Promise<KubeObject> {
  const wanted = stripped(await pace.run(fieldsOf(typed, unmanaged(applied))));
  await pace.pause();
  const entries = live ? await readEntries(live, pace) : [];
  const base = live ? unmanaged(live) : undefined;
  const merged = base === undefined ? unmanaged(applied) : await pace.run(mergeTyped(typed, base, unmanaged(applied)));
  await pace.pause();
  const changed = base === undefined ? emptySet : await pace.run(changedFields(typed, base, merged));
  await pace.pause();
  const taken = intersection(wanted, changed);
  const others = entries.filter((e) => !sameManager(e, manager));
  const conflicts: { readonly entry: Entry; readonly fields: FieldSet }[] = [];
  for (const entry of others) {
    await pace.pause();
    const fields = intersection(entry.fields, taken);
    if (!isEmpty(fields)) conflicts.push({ entry, fields });
  }
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  const kept: Entry[] = [];
  for (const e of others) {
    await pace.pause();
    kept.push(force ? { ...e, fields: difference(e.fields, taken) } : e);
  }
  const mine = entries.find((e) => sameManager(e, manager))?.fields ?? emptySet;
  let dropped = difference(mine, wanted);
  for (const { fields } of kept) {
    await pace.pause();
    dropped = difference(dropped, fields);
  }
  const result = (await pace.run(removeFields(typed, merged, dropped))) as KubeObject;
  await pace.pause();
  return withEntries(result, [...kept, { ...manager, fields: wanted }], pace);
}

function applyConflict(conflicts: readonly { readonly entry: Entry; readonly fields: FieldSet }[]): Error {
  const all = conflicts.flatMap(({ entry, fields }) =>
    fieldPaths(fields).map((path) => ({
      reason: "FieldManagerConflict",
      message: `conflict with ${managerText(entry)}`,
      field: path,
    })),
  );
  const causes = all.slice(0, maxConflicts);
  const [first] = causes;
  const text =
    all.length === 1
      ? `Apply failed with 1 conflict: ${first?.message}: ${first?.field}`
      : `Apply failed with ${all.length} conflicts: ${[...Map.groupBy(causes, (cause) => cause.message)]
          .map(([message, those]) => `${message}:\n${those.map((cause) => `- ${cause.field}`).join("\n")}`)
          .join("\n")}`;
  return failure("Conflict", text, { causes });
}

/** Of those who apply the name says enough. */
function managerText({ name, subresource, operation, apiVersion, time }: Entry): string {
  const part = subresource ? ` with subresource ${JSON.stringify(subresource)}` : "";
  const how = operation === "Update" ? ` using ${apiVersion}${time ? ` at ${time}` : ""}` : "";
  return `${JSON.stringify(name)}${part}${how}`;
}

async function readEntries(object: KubeObject, pace: Pausing): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (const entry of listAt(object.metadata, "managedFields")) {
    entries.push({
      name: textAt(entry, "manager"),
      operation: textAt(entry, "operation") === "Apply" ? "Apply" : "Update",
      apiVersion: textAt(entry, "apiVersion"),
      subresource: textAt(entry, "subresource"),
      time: textAt(entry, "time"),
      fields: await pace.run(parseFieldSet(isRecord(entry) ? entry.fieldsV1 : undefined)),
    });
    await pace.pause();
  }
  return entries;
}

async function withEntries(object: KubeObject, entries: readonly Entry[], pace: Pausing): Promise<KubeObject> {
  if (entries.reduce((sum, { fields }) => sum + countFields(fields), 0) > maxOwned)
    throw failure(
      "RequestEntityTooLarge",
      `Request entity too large: metadata.managedFields would name more than ${maxOwned} fields: let fewer managers apply the object`,
    );
  const managedFields: Fields[] = [];
  for (const { name, operation, apiVersion, subresource, time, fields } of entries) {
    if (fields.children.size === 0) continue;
    await pace.pause();
    managedFields.push({
      manager: name,
      operation,
      apiVersion,
      time,
      fieldsType: "FieldsV1",
      fieldsV1: await pace.run(formatFieldSet({ ...fields, own: false })),
      ...(subresource === "" ? {} : { subresource }),
    });
  }
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & Fields;
  return {
    ...object,
    metadata: { ...metadata, ...(managedFields.length === 0 ? {} : { managedFields }) } as ObjectMeta,
  };
}

function unmanaged(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & Fields;
  return { ...object, metadata: metadata as ObjectMeta };
}

function stripped(set: FieldSet): FieldSet {
  return difference(set, notOwned);
}

function sameManager(a: Manager, b: Manager): boolean {
  return a.name === b.name && a.operation === b.operation && a.subresource === b.subresource;
}
