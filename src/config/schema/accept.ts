/**
 * A kind and an object in, what an API server with the kind's CRD does with it out: the object pruned and defaulted,
 * or why it is refused. Schema and CEL only; webhooks come after.
 */
import { isRecord } from "../../lib/index.ts";
import { type Kind, type ObjectNode, type Schema, specOf } from "../../model/index.ts";
import type { CelRules } from "./cel.ts";
import { applyDefaults } from "./default.ts";
import { blocksRules, type FieldIssue, issue, rulesNotChecked } from "./field-issue.ts";
import { matchesPattern, patternBudget } from "./junctor.ts";
import { checkListTypes } from "./list-type.ts";
import { prune } from "./prune.ts";
import { checkRules } from "./rules.ts";
import { checkStructure } from "./structure.ts";

export interface Accepted {
  /** What would be stored. */
  readonly object: Readonly<Record<string, unknown>>;
  /** Fields that the schema does not know, by path: strict decoding refuses them, else they are dropped. */
  readonly unknownFields: readonly string[];
  readonly issues: readonly FieldIssue[];
}

export interface AcceptOptions {
  readonly cel: CelRules;
  /** The stored object, on an update. */
  readonly old?: Readonly<Record<string, unknown>>;
  /** Which half is being written; the other is taken from the stored object. Create and plain updates write `spec`. */
  readonly part?: "spec" | "status";
}

/** The object pruned and defaulted, and what was dropped; nothing is checked. */
export function shapeObject(
  kind: Kind,
  raw: Readonly<Record<string, unknown>>,
): Pick<Accepted, "object" | "unknownFields"> {
  const { apiVersion, kind: name, metadata, ...body } = raw;
  const schema = bodySchema(kind, specOf(kind, apiVersion));
  const pruned = prune(schema, body);
  const value = applyDefaults(schema, pruned.value);
  const object = { apiVersion, kind: name, metadata, ...(isRecord(value) ? value : {}) };
  return { object, unknownFields: pruned.unknown };
}

/** Pauses where others may be let in: a large object takes long. */
export function* acceptInSteps(
  kind: Kind,
  raw: Readonly<Record<string, unknown>>,
  options: AcceptOptions,
): Generator<void, Accepted> {
  const shaped = shapeObject(kind, raw);
  yield;
  return { ...shaped, issues: yield* check(kind, shaped.object, options) };
}

/** The same in one go. */
export function acceptObject(kind: Kind, raw: Readonly<Record<string, unknown>>, options: AcceptOptions): Accepted {
  const steps = acceptInSteps(kind, raw, options);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The schema of everything but the head of the object. */
function bodySchema(kind: Kind, spec: ObjectNode): Schema {
  return { type: "object", fields: { spec, ...(kind.status ? { status: kind.status } : {}) } };
}

function* check(
  kind: Kind,
  object: Readonly<Record<string, unknown>>,
  options: AcceptOptions,
): Generator<void, readonly FieldIssue[]> {
  const part = options.part ?? "spec";
  const schema = part === "status" ? kind.status : specOf(kind, object.apiVersion);
  const missing = [
    ...checkName(object.metadata),
    ...(kind.required ?? [])
      .filter((name) => !Object.hasOwn(object, name))
      .map((name) => issue("FieldValueRequired", name, "")),
  ];
  if (!schema || !Object.hasOwn(object, part))
    return missing.some(blocksRules) ? [...missing, rulesNotChecked] : missing;
  const value = object[part];
  const structure = [...missing, ...(yield* checkStructure(schema, value, part))];
  if (structure.some(blocksRules)) return [...structure, rulesNotChecked];
  yield;
  const lists = checkListTypes(schema, value, part);
  yield;
  return [
    ...structure,
    ...lists,
    ...(yield* checkRules(options.cel.forOne(), schema, value, options.old?.[part], part)),
  ];
}

const subdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

/** Kubernetes' rule for the names of custom resources. */
function checkName(metadata: unknown): readonly FieldIssue[] {
  const name = isRecord(metadata) ? metadata.name : undefined;
  if (typeof name !== "string") return [];
  if (name.length > 253) return [issue("FieldValueInvalid", "metadata.name", "must be no more than 253 bytes", name)];
  if (matchesPattern(`^${subdomain}$`, name, patternBudget())) return [];
  const detail = `${subdomainRule} (e.g. 'example.com', regex used for validation is '${subdomain}')`;
  return [issue("FieldValueInvalid", "metadata.name", detail, name)];
}
