/** Two messages of one type in; the fields that tell them apart, in words, out: `timeout from 5s to 3s`. */
import { isDeepStrictEqual } from "node:util";
import type { Any } from "@bufbuild/protobuf/wkt";
import { isRecord } from "../../lib/index.ts";
import { typeNameOf } from "../unpack.ts";

/** More fields than these of one message are told as a count. */
const maxFields = 6;

export function fieldDifferences(before: object, after: object, without: readonly string[] = []): readonly string[] {
  const found = [...differing(before, after, "", new Set(without))];
  return found.length <= maxFields
    ? found
    : [...found.slice(0, maxFields), `${found.length - maxFields} more fields change`];
}

function* differing(before: object, after: object, path: string, without: ReadonlySet<string>): Generator<string> {
  const fields = new Map(Object.entries(after));
  const keys = new Set([...Object.keys(before), ...fields.keys()]);
  for (const key of keys) {
    if (without.has(key) || key.startsWith("$")) continue;
    const [old, now] = [Object.getOwnPropertyDescriptor(before, key)?.value as unknown, fields.get(key)];
    if (isDeepStrictEqual(old, now)) continue;
    yield* fieldOf(old, now, path === "" ? key : `${path}.${key}`);
  }
}

function* fieldOf(old: unknown, now: unknown, path: string): Generator<string> {
  if (isUnset(old)) return yield `${path} is ${showIfPlain(now) ?? "new"}`;
  if (isUnset(now)) return yield `${path} is gone`;
  const [from, to] = [showIfPlain(old), showIfPlain(now)];
  if (from !== undefined && to !== undefined) return yield `${path} from ${from} to ${to}`;
  const [a, b] = [caseOf(old), caseOf(now)];
  if (a && b && a.name === b.name) return yield* fieldOf(a.value, b.value, `${path}.${a.name}`);
  if (a && b) return yield `${path} from ${a.name} to ${b.name}`;
  if (isMessage(old) && isMessage(now) && !isAny(old)) return yield* differing(old, now, path, new Set());
  if (isAny(old)) return yield `${path} (${typeNameOf(old).split(".").at(-1)}) changes`;
  yield `${path} changes`;
}

const isMessage = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && !(value instanceof Uint8Array);

const isAny = (value: unknown): value is Any =>
  isMessage(value) && typeof value.typeUrl === "string" && value.value instanceof Uint8Array;

const isUnset = (value: unknown): boolean =>
  value === undefined ||
  (Array.isArray(value) && value.length === 0) ||
  (isMessage(value) && "case" in value && value.case === undefined);

/** One of several fields. */
function caseOf(value: unknown): { readonly name: string; readonly value: unknown } | undefined {
  return isMessage(value) && typeof value.case === "string" ? { name: value.case, value: value.value } : undefined;
}

/** Numbers, words and durations; undefined for what takes more than a few words. */
function showIfPlain(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? "none" : value.length > 60 ? undefined : value;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (isMessage(value) && typeof value.seconds === "bigint" && typeof value.nanos === "number")
    return `${Number(value.seconds) + value.nanos / 1e9}s`;
  if (isMessage(value) && Object.keys(value).every((key) => key === "value" || key === "$typeName"))
    return showIfPlain(value.value);
  return undefined;
}
