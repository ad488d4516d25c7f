/** Good examples in; bytes, texts and JSON values that are almost good out. */
import type { Random } from "../random.ts";

const bytesOfInterest = [0, 1, 0x7f, 0x80, 0xff, 0x30, 0x0a, 0x2f, 0x5c, 0x22];

/** What outside input may have as a whole, nearly everywhere. */
const maxGrown = 1024 * 1024;

/** How large this one becomes: most stay small, since those are many; of the others each size is as likely as its double. */
function grownSize(random: Random): number {
  return random.chance(0.03) ? 2 ** (10 + random.whole(Math.log2(maxGrown) - 9)) : 0;
}

export function mutateBytes(random: Random, examples: readonly Uint8Array[]): Buffer {
  let bytes: Buffer = Buffer.from(random.pick(examples));
  // None at all, too: what is good must stay so.
  for (let steps = random.whole(7); steps > 0; steps--) bytes = changeBytes(random, bytes, examples);
  return growBytes(random, bytes, examples);
}

/** A piece of it again and again in its place, another example between. */
function growBytes(random: Random, bytes: Buffer, examples: readonly Uint8Array[]): Buffer {
  const size = grownSize(random);
  if (size === 0) return bytes;
  const at = random.whole(bytes.length + 1);
  const piece = bytes.subarray(at, at + 1 + random.whole(64));
  const unit = Buffer.concat([piece, random.chance(0.3) ? Buffer.from(random.pick(examples)) : Buffer.alloc(0)]);
  if (unit.length === 0) return bytes;
  return Buffer.concat([bytes.subarray(0, at), Buffer.alloc(size, unit), bytes.subarray(at)]);
}

function changeBytes(random: Random, bytes: Buffer, examples: readonly Uint8Array[]): Buffer {
  const at = random.whole(bytes.length + 1);
  const end = at + random.whole(bytes.length - at + 1);
  const [head, middle, tail] = [bytes.subarray(0, at), bytes.subarray(at, end), bytes.subarray(end)];
  const changed = Buffer.from(bytes);
  switch (random.whole(7)) {
    case 0:
      if (at < changed.length) changed[at] = (changed[at] ?? 0) ^ (1 << random.whole(8));
      return changed;
    case 1:
      if (at < changed.length) changed[at] = random.pick(bytesOfInterest);
      return changed;
    case 2:
      return Buffer.concat([head, tail]);
    case 3:
      return Buffer.concat([head, middle, middle, tail]);
    case 4:
      return Buffer.concat([head, Buffer.from(random.pick(examples)).subarray(random.whole(8)), tail]);
    case 5:
      return Buffer.concat([head, Buffer.alloc(random.whole(64), random.pick(bytesOfInterest)), tail]);
    default:
      return Buffer.from(head);
  }
}

/** `words` are put in and between: what means something in the language. */
export function mutateText(random: Random, examples: readonly string[], words: readonly string[]): string {
  let text = random.pick(examples);
  for (let steps = random.whole(7); steps > 0; steps--) {
    const at = random.whole(text.length + 1);
    const end = at + random.whole(Math.min(40, text.length - at) + 1);
    const word = random.pick(words);
    const repeated = random.chance(0.1) ? word.repeat(1 + random.whole(300)) : word;
    const other = random.pick(examples);
    text = random.pick([
      () => text.slice(0, at) + repeated + text.slice(at),
      () => text.slice(0, at) + text.slice(end),
      () => text.slice(0, at) + text.slice(at, end) + text.slice(at),
      () => text.slice(0, at) + other.slice(random.whole(other.length + 1)),
      () => text.slice(0, at) + String.fromCodePoint(random.whole(0x10ffff)) + text.slice(end),
    ])();
  }
  return growText(random, text, examples, words);
}

/** Repeats a piece, or nests one word in another, as often as there is room. */
function growText(random: Random, text: string, examples: readonly string[], words: readonly string[]): string {
  const size = grownSize(random);
  if (size === 0) return text;
  const at = random.whole(text.length + 1);
  const piece = text.slice(at, at + 1 + random.whole(60));
  const fill = (unit: string): string => (unit === "" ? "" : unit.repeat(Math.floor(size / unit.length)));
  const grown = random.pick([
    () => fill(piece),
    () => fill(random.pick(words)),
    () => fill(random.pick(words) + piece + random.pick(words)),
    () => fill(random.pick(examples)),
    () => fill(random.pick(words)) + piece + fill(random.pick(words)),
    // Each another one: whatever is remembered for the same text does not help.
    () => numbered(random.pick(words) + piece, random.pick(words), size),
  ])();
  return text.slice(0, at) + grown + text.slice(at);
}

function numbered(before: string, after: string, size: number): string {
  const count = Math.floor(size / (before.length + after.length + 6));
  return Array.from({ length: count }, (_, i) => before + i + after).join("");
}

export const evilKeys = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "",
  "a/b",
  "~1",
  "$ref",
];

const scalars: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e300,
  -0,
  2 ** 53,
  "",
  "a",
  "/",
  "\u0000",
  "\ud800",
  "x".repeat(300),
  "5s",
  "9999999999999h",
  "1.2.3.4/33",
  "*",
  "[",
];

/** Any JSON value, with keys taken from those that mean something. */
export function randomJson(random: Random, keys: readonly string[], depth = 4): unknown {
  if (depth === 0 || random.chance(0.3)) return random.pick(scalars);
  const size = random.whole(4);
  if (random.chance(0.3)) return Array.from({ length: size }, () => randomJson(random, keys, depth - 1));
  const key = (): string => random.pick(random.chance(0.1) ? evilKeys : keys);
  // From text, as it comes in: there a key `__proto__` is a key like any other.
  const members = Array.from(
    { length: size },
    () => `${JSON.stringify(key())}:${JSON.stringify(randomJson(random, keys, depth - 1)) ?? "null"}`,
  );
  return JSON.parse(`{${members.join(",")}}`);
}

/** The example with a few of its values replaced, removed, repeated, or grown to very many. */
export function mutateJson(random: Random, example: unknown, keys: readonly string[]): unknown {
  return change(random, example, keys, { size: grownSize(random) / 16 });
}

/** `room`: how many values may still be made of one; a single place takes them all. */
function change(random: Random, example: unknown, keys: readonly string[], room: { size: number }): unknown {
  if (room.size > 0 && random.chance(0.15)) return grow(random, example, keys, room);
  if (random.chance(0.08)) return randomJson(random, keys, 3);
  if (Array.isArray(example)) {
    const list = example.map((item) => change(random, item, keys, room));
    return random.chance(0.1) ? [...list, ...list] : list;
  }
  if (typeof example !== "object" || example === null) return random.chance(0.1) ? random.pick(scalars) : example;
  const members = Object.entries(example).flatMap(([key, value]) => {
    if (random.chance(0.05)) return [];
    const name = random.chance(0.03) ? random.pick(evilKeys) : key;
    return [`${JSON.stringify(name)}:${JSON.stringify(change(random, value, keys, room)) ?? "null"}`];
  });
  return JSON.parse(`{${members.join(",")}}`);
}

/** Very many of the same or of ones that differ, as a list, as fields or inside one another. */
function grow(random: Random, example: unknown, keys: readonly string[], room: { size: number }): unknown {
  const count = Math.max(1, Math.floor(room.size / valuesOf(example)));
  room.size = 0;
  const items = Array.isArray(example) && example.length > 0 ? example : [example];
  const numberedItem = (i: number): unknown => renumber(items[i % items.length], i);
  return random.pick<() => unknown>([
    () => Array.from({ length: count }, (_, i) => items[i % items.length]),
    () => Array.from({ length: count }, (_, i) => numberedItem(i)),
    () => Object.fromEntries(Array.from({ length: count }, (_, i) => [`${random.pick(keys)}${i}`, example])),
    () => nested(random.pick(keys), example, Math.min(count, 90)),
    () => (typeof example === "string" ? `${example || "x"}`.repeat(count) : example),
  ])();
}

const valuesOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? 1 + Object.values(value).reduce((n: number, one) => n + valuesOf(one), 0)
    : 1;

/** Texts and numbers in it made different. */
function renumber(value: unknown, i: number): unknown {
  if (typeof value === "string") return `${value}${i}`;
  if (typeof value === "number") return value + i;
  if (Array.isArray(value)) return value.map((one) => renumber(one, i));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renumber(one, i)]));
}

function nested(key: string, value: unknown, depth: number): unknown {
  let inner = value;
  for (let i = 0; i < depth; i++) inner = { [key]: inner };
  return inner;
}
