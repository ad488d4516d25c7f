/** A message without one of its repeated fields, and the encoded members of that field, in; the whole message's bytes out. */
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { Part } from "./view.ts";

/**
 * Protobuf messages concatenate, so encoded members can follow the encoded rest. The members keep their order; their
 * field must be empty in `rest`.
 */
export function assemble<Desc extends DescMessage>(
  schema: Desc,
  rest: MessageShape<Desc>,
  field: string,
  members: readonly Part[],
): Part {
  const number = schema.field[field]?.number;
  if (number === undefined) throw new Error(`${schema.typeName} has no field ${field}`);
  const head = toBinary(schema, rest);
  const tag = varint(number * 8 + 2);
  const chunks: Uint8Array[] = [head];
  const needs = new Set<string>();
  for (const member of members) {
    chunks.push(tag, varint(member.bytes.length), member.bytes);
    for (const name of member.needs) needs.add(name);
  }
  return { bytes: Buffer.concat(chunks), needs: [...needs] };
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
