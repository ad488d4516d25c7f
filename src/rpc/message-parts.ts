/**
 * The bytes of a message and its type in; a refusal where it has more parts than it may, out. A part of two bytes costs as
 * much to decode as one of a hundred, so that the size alone bounds no work: 4 MiB of empty messages take a second, in one go.
 *
 * The decoder reads a known field as its type has it, whatever the wire says, and follows lengths out of what they are in.
 * Bytes that could be read in two ways, which no encoder writes, are therefore refused: what was counted is what is decoded.
 */
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { RpcError, status } from "./status.ts";

/** Of a message inside: an object is made for it, with all its fields. */
const messageParts = 5;
/** The decoder refuses what is deeper. */
const maxDepth = 100;
const [varint, fixed64, delimited, fixed32] = [0, 1, 2, 5];

/** Some 60 ms of decoding. A first request of an Envoy that holds 70,000 resources has half as many. */
export const maxRequestParts = 500_000;

/** Fields by their numbers. */
type Inside = ReadonlyMap<number, Field>;

interface Field {
  /** How each of its values is written; those of a list of numbers also together, as bytes. */
  readonly wire: number;
  readonly isPacked: boolean;
  readonly inner?: Inner;
}

interface Inner {
  readonly parts: number;
  /** One that comes again is merged with the one before, for which the decoder may copy that one. */
  readonly isSingle: boolean;
  /** When it is asked for: types have themselves inside. */
  readonly inside: () => Inside;
}

/** Ends as soon as there are too many. */
export function checkParts(schema: DescMessage, bytes: Uint8Array, maxParts = maxRequestParts): void {
  let [left, at] = [maxParts, 0];
  const malformed = (): RpcError => new RpcError(status.invalidArgument, `not a ${schema.typeName}`);

  function number(end: number): number {
    let value = 0;
    for (let scale = 1; at < end; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw malformed();
  }

  function stopOf(end: number): number {
    const length = number(end);
    if (at + length > end) throw malformed();
    return at + length;
  }

  function skip(type: number, end: number): void {
    if (type === varint) number(end);
    else if (type === fixed64) at += 8;
    else if (type === fixed32) at += 4;
    else if (type === delimited) at = stopOf(end);
    else throw malformed();
    if (at > end) throw malformed();
  }

  function takePacked(wire: number, end: number): void {
    const stop = stopOf(end);
    while (at < stop) skip(wire, stop);
  }

  function takeInner(inner: Inner, end: number, depth: number): void {
    const stop = stopOf(end);
    left -= inner.parts;
    if (depth < maxDepth) walk(inner.inside(), stop, depth + 1);
    at = stop;
  }

  function walk(inside: Inside, end: number, depth: number): void {
    let seen: Set<Inner> | undefined;
    while (at < end && left >= 0) {
      left--;
      const tag = number(end);
      const type = tag % 8;
      const { wire = type, isPacked = false, inner } = inside.get(Math.floor(tag / 8)) ?? {};
      if (inner?.isSingle && seen?.has(inner)) left -= maxParts - left;
      if (inner?.isSingle) seen = (seen ?? new Set()).add(inner);
      if (isPacked && type === delimited) takePacked(wire, end);
      else if (type !== wire) throw malformed();
      else if (inner) takeInner(inner, end, depth);
      else skip(type, end);
    }
  }

  walk(insideOf(schema), bytes.length, 0);
  if (left < 0) throw new RpcError(status.resourceExhausted, `the request has more than ${maxParts} parts`);
}

const known = new WeakMap<DescMessage, Inside>();

function insideOf(schema: DescMessage): Inside {
  const found = known.get(schema) ?? new Map(schema.fields.map((field) => [field.number, fieldOf(field)]));
  known.set(schema, found);
  return found;
}

function fieldOf(field: DescField): Field {
  const { message, fieldKind } = field;
  const wire = message || fieldKind === "map" ? delimited : wireOf(field.scalar);
  const isSingle = fieldKind === "message";
  if (fieldKind === "map") return { wire, isPacked: false, inner: { parts: 0, isSingle, inside: entryOf(field) } };
  const isPacked = fieldKind === "list" && wire !== delimited;
  if (!message) return { wire, isPacked };
  return { wire, isPacked, inner: { parts: messageParts, isSingle, inside: () => insideOf(message) } };
}

/** An entry of a map is a message of key and value, of which no object is made. */
function entryOf({ message, scalar, mapKey }: DescField & { readonly fieldKind: "map" }): () => Inside {
  const key: Field = { wire: wireOf(mapKey), isPacked: false };
  const value: Field = message
    ? {
        wire: delimited,
        isPacked: false,
        inner: { parts: messageParts, isSingle: true, inside: () => insideOf(message) },
      }
    : { wire: wireOf(scalar), isPacked: false };
  const entry: Inside = new Map([
    [1, key],
    [2, value],
  ]);
  return () => entry;
}

/** Enums, which have no scalar, are numbers of any length too. */
function wireOf(scalar: ScalarType | undefined): number {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return delimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return fixed64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return fixed32;
    default:
      return varint;
  }
}
