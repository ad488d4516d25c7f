/** An object in; the same with its keys in another order, at any depth and in texts that are JSON, out: nothing is to come of it. */
import { isRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import type { Random } from "../random.ts";
import { some } from "./words.ts";

export const reordered = (random: Random, object: KubeObject): KubeObject => shuffled(random, object) as KubeObject;

function shuffled(random: Random, value: unknown): unknown {
  if (typeof value === "string" && value.startsWith("{")) return JSON.stringify(shuffled(random, JSON.parse(value)));
  if (Array.isArray(value)) return value.map((item) => shuffled(random, item));
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, shuffled(random, inner)] as const);
  return Object.fromEntries(some(random, entries, entries.length, entries.length));
}
