/**
 * Encoded protobuf in pieces: messages concatenate, so a message can follow from shared pieces and own ones, and comes
 * into being as a whole only while it is written.
 */
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { digest, joinKept, keptBytes } from "../lib/index.ts";
import { encodedResource, type Resource } from "../model/index.ts";

/** An encoded piece of a resource, with the clusters that it sends traffic to. */
export interface Part {
  readonly pieces: readonly Uint8Array[];
  readonly size: number;
  readonly needs: readonly string[];
}

export const noPart: Part = { pieces: [], size: 0, needs: [] };

export function encodePart<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  needs: readonly string[] = [],
): Part {
  return partOf([toBinary(schema, message)], needs);
}

export function partOf(pieces: readonly Uint8Array[], needs: readonly string[] = []): Part {
  return { pieces, size: pieces.reduce((sum, piece) => sum + piece.length, 0), needs };
}

/** Parts one after the other, as one message. */
export function joined(parts: readonly Part[]): Part {
  return {
    pieces: noPart.pieces.concat(...parts.map(({ pieces }) => pieces)),
    size: parts.reduce((sum, { size }) => sum + size, 0),
    needs: parts.some(({ needs }) => needs.length > 0)
      ? [...new Set(parts.flatMap(({ needs }) => needs))]
      : noPart.needs,
  };
}

/** The part as a member of its message: behind the field's number and its length. */
export function nested(schema: DescMessage, field: string, { pieces, size, needs }: Part): Part {
  const head = headOf(tagOf(schema, field), size);
  return { pieces: [head].concat(pieces), size: size + head.length, needs };
}

/** The same in one piece: what each deployment has of its own is small, and a piece weighs more than what is in it. */
export function flat({ pieces, size, needs }: Part): Part {
  return { pieces: [joinKept(pieces)], size, needs };
}

/** A field of bytes, and what its message has before it. */
export interface FieldPlace {
  readonly tag: number;
  readonly before: Uint8Array;
}

export const placeOf = (schema: DescMessage, field: string, before: Uint8Array = new Uint8Array(0)): FieldPlace => ({
  tag: tagOf(schema, field),
  before,
});

/** A text in messages that are in each other, the outermost first, in one piece: each deployment has such of its own. */
export function textIn(places: readonly FieldPlace[], text: string): Uint8Array {
  const sizes = [Buffer.byteLength(text)];
  for (const { tag, before } of places.toReversed()) {
    const size = sizes[0] ?? 0;
    sizes.unshift(before.length + varintBytes(tag) + varintBytes(size) + size);
  }
  const bytes = keptBytes(sizes[0] ?? 0);
  let at = 0;
  for (const [i, { tag, before }] of places.entries()) {
    bytes.set(before, at);
    at = writeVarint(bytes, writeVarint(bytes, at + before.length, tag), sizes[i + 1] ?? 0);
  }
  bytes.write(text, at);
  return bytes;
}

/** A message without one of its repeated fields, then the members of that field in their order. */
export function assemble<Desc extends DescMessage>(
  schema: Desc,
  rest: MessageShape<Desc>,
  field: string,
  members: readonly Part[],
): Part {
  return joined([encodePart(schema, rest), ...members.map((member) => nested(schema, field, member))]);
}

export function resourceOf(name: string, { pieces, size, needs }: Part): Resource {
  const [only] = pieces;
  if (only && pieces.length === 1) return encodedResource(name, only, needs);
  // However it is cut, the same content has the same digest.
  return { name, hash: digest(Buffer.concat(pieces)), needs, pieces, size };
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

export function samePart(a: Part, b: Part): boolean {
  return (
    a === b ||
    (a.size === b.size &&
      a.pieces.length === b.pieces.length &&
      a.needs.join() === b.needs.join() &&
      a.pieces.every((piece, i) => piece === b.pieces[i] || sameBytes(piece, b.pieces[i] ?? piece)))
  );
}

/** Of a field that is written as bytes. */
function tagOf({ field, typeName }: DescMessage, name: string): number {
  const number = field[name]?.number;
  if (number === undefined) throw new Error(`${typeName} has no field ${name}`);
  return number * 8 + 2;
}

/** Two numbers as varints; no resource is so large that they take more than ten bytes. */
function headOf(tag: number, size: number): Uint8Array {
  const bytes = new Uint8Array(varintBytes(tag) + varintBytes(size));
  writeVarint(bytes, writeVarint(bytes, 0, tag), size);
  return bytes;
}

function varintBytes(value: number): number {
  let count = 1;
  for (let rest = value; rest > 0x7f; rest >>>= 7) count++;
  return count;
}

/** Where the next one begins. */
function writeVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}
