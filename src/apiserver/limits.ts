/** A value in, nothing or a refusal out: what an object may grow to, however small the request was that made it. */
import { at } from "./access.ts";
import { failure } from "./failure.ts";

export interface Limits {
  /** Characters as JSON, nearly. */
  readonly maxBytes: number;
  /** Fields and items at all levels. */
  readonly maxValues: number;
  /** Fields of one map: those with very many are slow to work on. */
  readonly maxFields: number;
  readonly maxDepth: number;
}

/** Kubernetes' own limit of a request body. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** What Kubernetes' store (etcd) takes of one object; the number of values is what can be worked on in a short turn. */
export const objectLimits: Limits = {
  maxBytes: 1.5 * 1024 * 1024,
  maxValues: 65_536,
  maxFields: 16_384,
  maxDepth: 100,
};

/** Fields that managedFields may name for all managers together; each field may have two owners, and few have more. */
export const maxOwned = 2 * objectLimits.maxValues;

interface Walk {
  /** Of the object, if it is one. */
  readonly metadata: unknown;
  bytes: number;
  values: number;
}

/** Stops at the limit: a value that stands for more than there is memory costs no more than one at the limit. */
export function checkLimits(value: unknown, limits: Limits = objectLimits): void {
  visit(value, limits, { metadata: at(value, "metadata"), bytes: 0, values: 0 }, 0);
}

function visit(value: unknown, limits: Limits, walk: Walk, depth: number): void {
  walk.values++;
  if (typeof value === "string") walk.bytes += value.length + 3;
  else if (typeof value !== "object" || value === null) walk.bytes += 5;
  else {
    if (depth >= limits.maxDepth) throw tooLarge(`it is nested deeper than ${limits.maxDepth} levels`);
    walk.bytes += 3;
    if (Array.isArray(value)) for (const item of value) visit(item, limits, walk, depth + 1);
    else visitFields(value as Readonly<Record<string, unknown>>, limits, walk, depth);
  }
  if (walk.values > limits.maxValues) throw tooLarge(`it has more than ${limits.maxValues} fields and items`);
  if (walk.bytes > limits.maxBytes) throw tooLarge(`it has more than ${limits.maxBytes} bytes`);
}

function visitFields(value: Readonly<Record<string, unknown>>, limits: Limits, walk: Walk, depth: number): void {
  let fields = 0;
  for (const name in value) {
    if (++fields > limits.maxFields) throw tooLarge(`one of its maps has more than ${limits.maxFields} fields`);
    // Who manages what is the API's own account of the object, grows with it, and has its own limit.
    if (name === "managedFields" && value === walk.metadata) continue;
    walk.bytes += name.length + 4;
    visit(value[name], limits, walk, depth + 1);
  }
}

function tooLarge(why: string): Error {
  return failure("RequestEntityTooLarge", `Request entity too large: the object would be too large: ${why}`);
}
