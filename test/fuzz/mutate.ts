/** Good examples in; bytes, texts and JSON values that are almost good out. */
import type { Random } from "../random.ts";

const bytesOfInterest = [0, 1, 0x7f, 0x80, 0xff, 0x30, 0x0a, 0x2f, 0x5c, 0x22];

export function mutateBytes(random: Random, examples: readonly Uint8Array[]): Buffer {
  let bytes: Buffer = Buffer.from(random.pick(examples));
  // None at all, too: what is good must stay so.
  for (let steps = random.whole(7); steps > 0; steps--) bytes = changeBytes(random, bytes, examples);
  return bytes;
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
  return text;
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

/** The example with a few of its values replaced, removed or repeated. */
export function mutateJson(random: Random, example: unknown, keys: readonly string[]): unknown {
  if (random.chance(0.08)) return randomJson(random, keys, 3);
  if (Array.isArray(example)) {
    const list = example.map((item) => mutateJson(random, item, keys));
    return random.chance(0.1) ? [...list, ...list] : list;
  }
  if (typeof example !== "object" || example === null) return random.chance(0.1) ? random.pick(scalars) : example;
  const members = Object.entries(example).flatMap(([key, value]) => {
    if (random.chance(0.05)) return [];
    const name = random.chance(0.03) ? random.pick(evilKeys) : key;
    return [`${JSON.stringify(name)}:${JSON.stringify(mutateJson(random, value, keys)) ?? "null"}`];
  });
  return JSON.parse(`{${members.join(",")}}`);
}
