/** A kind's schema in; its fields out, in order, a message that is used in several places taken apart at the first only. */
import { type UnhonouredReason, unhonouredReason } from "../../src/config/unhonoured.ts";
import type { ObjectNode, Schema } from "../../src/model/index.ts";

export interface Field {
  /** `http[].match[].uri.exact`, `customTags.*.literal`. */
  readonly path: string;
  readonly message: ObjectNode;
  readonly name: string;
  readonly reason?: UnhonouredReason;
  /** Where the message that it holds is described. */
  readonly as?: string;
}

/** Messages that are described elsewhere, by where; those that are met are added. */
export type KnownMessages = Map<Schema, string>;

export function* fieldsOf(schema: Schema, path = "", known: KnownMessages = new Map()): Generator<Field> {
  if (schema.type === "array") return yield* fieldsOf(schema.items, `${path}[]`, known);
  if (schema.type === "map") return yield* fieldsOf(schema.values, `${path}.*`, known);
  if (schema.type !== "object") return;
  for (const [name, child] of Object.entries(schema.fields)) {
    const at = path === "" ? name : `${path}.${name}`;
    const reason = unhonouredReason(schema, name);
    const message = messageOf(child);
    const as = message && known.get(message);
    yield { path: at, message: schema, name, ...(reason ? { reason } : as === undefined ? {} : { as }) };
    if (reason || as !== undefined) continue;
    if (message) known.set(message, `\`${at}\``);
    yield* fieldsOf(child, at, known);
  }
}

/** The object that a field holds, in whatever lists and maps. */
function messageOf(schema: Schema): ObjectNode | undefined {
  if (schema.type === "array") return messageOf(schema.items);
  if (schema.type === "map") return messageOf(schema.values);
  return schema.type === "object" && Object.keys(schema.fields).length > 0 ? schema : undefined;
}
