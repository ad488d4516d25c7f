/** What somebody sent as a change that is only thought of in; the question, bounded, out. */
import { FairleadError, isRecord, parseJson } from "../../lib/index.ts";
import type { DiffQuestion } from "../../read-api/index.ts";

/** Of the YAML, which is read where it holds up nobody; and of each name. */
const [longest, longestName, maxNames] = [4 * 1024 * 1024, 1024, 1000];
const limits = { maxBytes: 6 * 1024 * 1024, maxDepth: 4, maxValues: 10_000 };

const readers: Readonly<Record<string, (value: unknown) => boolean>> = {
  objects: (value) => typeof value === "string" && value.length <= longest,
  deleted: isNames,
  namespace: (value) => typeof value === "string" && value.length <= 253,
  proxies: isNames,
  resources: (value) => typeof value === "boolean",
  analyze: (value) => typeof value === "boolean",
};

export const parseDiffQuestion = (body: string): DiffQuestion => readDiffQuestion(parseJson(body, limits));

function readDiffQuestion(value: unknown): DiffQuestion {
  if (!isRecord(value)) throw new FairleadError("invalid", "a question is an object with objects or deleted");
  for (const [name, own] of Object.entries(value))
    if (!Object.hasOwn(readers, name) || !readers[name]?.(own))
      throw new FairleadError("invalid", `${JSON.stringify(name.slice(0, 64))} is not asked for here, or too large`);
  return value;
}

function isNames(value: unknown): boolean {
  return (
    Array.isArray(value) &&
    value.length <= maxNames &&
    value.every((one: unknown) => typeof one === "string" && one.length <= longestName)
  );
}
