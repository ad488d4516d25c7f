/**
 * The bytes of a message and its type in; whether it has more parts than it may, out. A part of two bytes costs as much to
 * decode as one of a hundred, so that the size alone bounds no work: 4 MiB of empty messages take a second, in one go.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";

/** Of a message inside: an object is made for it, with all its fields. */
const messageParts = 5;
/** The decoder refuses what is deeper. */
const maxDepth = 100;
const [varint, fixed64, delimited, fixed32] = [0, 1, 2, 5];

/** What is inside a field, by the number of the field. */
type Inside = ReadonlyMap<number, Inner>;

interface Inner {
  readonly parts: number;
  /** When it is asked for: types have themselves inside. */
  readonly inside: () => Inside;
}

/** Ends as soon as there are too many. What cannot be read is for the decoder to refuse. */
export function hasTooManyParts(schema: DescMessage, bytes: Uint8Array, maxParts: number): boolean {
  let [left, at] = [maxParts, 0];

  function number(end: number): number {
    let value = 0;
    for (let scale = 1; at < end; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    return value;
  }

  function take(tag: number, end: number, inside: Inside, depth: number): void {
    const type = tag % 8;
    if (type === varint) number(end);
    else if (type === fixed64) at += 8;
    else if (type === fixed32) at += 4;
    else if (type === delimited) {
      const length = number(end);
      const stop = Math.min(end, at + length);
      const inner = depth < maxDepth ? inside.get(Math.floor(tag / 8)) : undefined;
      left -= inner?.parts ?? 0;
      if (inner) walk(inner.inside(), stop, depth + 1);
      at = stop;
    }
  }

  function walk(inside: Inside, end: number, depth: number): void {
    while (at < end && left >= 0) {
      left--;
      take(number(end), end, inside, depth);
    }
  }

  walk(insideOf(schema), bytes.length, 0);
  return left < 0;
}

const known = new WeakMap<DescMessage, Inside>();

function insideOf(schema: DescMessage): Inside {
  const found = known.get(schema) ?? new Map(schema.fields.flatMap(innerOf));
  known.set(schema, found);
  return found;
}

const nothing: Inside = new Map();

function innerOf(field: DescField): readonly (readonly [number, Inner])[] {
  const { message } = field;
  const inner = message && { parts: messageParts, inside: () => insideOf(message) };
  // An entry of a map is a message of key and value, of which no object is made.
  if (field.fieldKind === "map") {
    const entry: Inside = inner ? new Map([[2, inner]]) : nothing;
    return [[field.number, { parts: 0, inside: () => entry }]];
  }
  return inner ? [[field.number, inner]] : [];
}
