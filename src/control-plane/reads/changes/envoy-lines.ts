/** Resources of Envoy before and after a change in; their fields that differ, as lines, out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { fieldLines } from "../../../lib/index.ts";
import { bytesOf, types } from "../../../model/index.ts";
import { createJsonPrinter, shownResource } from "../../../render/index.ts";
import { cut } from "./kept-change.ts";
import type { TouchedPair } from "./touched.ts";

const maxLines = 200;
/** To write out a larger one would hold up all others. */
const maxBytes = 512 * 1024;

/** Each in a turn of its own; undefined stays so. */
export async function envoyLines(
  pairs: readonly (TouchedPair | undefined)[],
): Promise<readonly (readonly string[] | undefined)[]> {
  const all: (readonly string[] | undefined)[] = [];
  for (const pair of pairs) {
    all.push(pair && linesOf(pair));
    await nextTurn();
  }
  return all;
}

function linesOf({ type, before, after }: TouchedPair): readonly string[] {
  if (type === types.secret) return [" what a secret holds is not shown"];
  const print = createJsonPrinter();
  const sides = [before, after].map((resource) => resource && bytesOf(resource));
  if (sides.some((bytes) => (bytes?.length ?? 0) > maxBytes)) return [" too large to be compared here"];
  const [old, now] = sides.map((bytes) => bytes && print(type, shownResource(type, bytes)));
  const lines = [...fieldLines(old, now).take(maxLines + 1)].map(cut);
  return lines.length > maxLines ? [...lines.slice(0, maxLines), " …"] : lines;
}
