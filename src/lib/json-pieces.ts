/** A value with long parts in; its JSON text, piece by piece, out: a large answer need not be made in one go. */
import { setImmediate as nextTurn } from "node:timers/promises";

const lazy = Symbol("lazy");

/** A list, or an object as its fields, whose members are made when they are written. It may have such parts itself. */
export interface LazyJson {
  readonly [lazy]: "list" | "fields";
  readonly members: Iterable<unknown>;
}

export function lazyList(members: Iterable<unknown>): LazyJson {
  return { [lazy]: "list", members };
}

/** Of two of the same name the first is the one. */
export function lazyFields(members: Iterable<readonly [string, unknown]>): LazyJson {
  return { [lazy]: "fields", members };
}

export function isLazy(value: unknown): value is LazyJson {
  return typeof value === "object" && value !== null && lazy in value;
}

/** As `JSON.stringify` writes it with an indent of two. */
export function* jsonPieces(value: unknown, pad = ""): Generator<string> {
  if (!isLazy(value)) {
    // A line break can only stand between two parts of JSON.
    yield (JSON.stringify(value, null, 2) ?? "null").replaceAll("\n", `\n${pad}`);
    return;
  }
  const isList = value[lazy] === "list";
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const inner = `${pad}  `;
  const seen = new Set<string>();
  let isFirst = true;
  for (const member of value.members) {
    const [name, content] = isList ? ["", member] : (member as readonly [string, unknown]);
    if (!isList && (content === undefined || seen.has(name))) continue;
    if (!isList) seen.add(name);
    yield `${isFirst ? open : ","}\n${inner}${isList ? "" : `${JSON.stringify(name)}: `}`;
    yield* jsonPieces(content, inner);
    isFirst = false;
  }
  yield isFirst ? `${open}${close}` : `\n${pad}${close}`;
}

/** How long pieces are made before others have their turn, and how much text may come together meanwhile. */
const [turnMs, turnLength] = [10, 256 * 1024];

/** Larger pieces of the same text, each made in a turn of its own. */
export async function* inTurns(pieces: Iterable<string>): AsyncGenerator<string> {
  let text = "";
  let endMs = performance.now() + turnMs;
  for (const piece of pieces) {
    text += piece;
    if (performance.now() < endMs && text.length < turnLength) continue;
    yield text;
    await nextTurn();
    text = "";
    endMs = performance.now() + turnMs;
  }
  yield text;
}
