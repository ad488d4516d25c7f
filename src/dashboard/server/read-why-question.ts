/** What somebody sent as a question about a request in; the question, bounded, out. */
import { FairleadError, isRecord, parseJson } from "../../lib/index.ts";
import type { WhyQuestion } from "../../read-api/index.ts";

/** Tokens and lines of logs are long; nothing else is. */
const longest = { source: 512, destination: 8192, namespace: 253, method: 64, sni: 253, from: 64 } as const;
const [longestToken, longestLine, longestHeader, maxHeaders] = [16_384, 16_384, 8192, 100];
const limits = { maxBytes: 65_536, maxDepth: 4, maxValues: 1000 };

export const parseWhyQuestion = (body: string): WhyQuestion => readWhyQuestion(parseJson(body, limits));

/** What is not known is refused, so that a mistyped name does not answer another question. */
export function readWhyQuestion(value: unknown): WhyQuestion {
  if (!isRecord(value)) throw new FairleadError("invalid", "a question is an object with source and destination");
  const texts: Readonly<Record<string, number>> = { ...longest, token: longestToken, log: longestLine };
  for (const [name, own] of Object.entries(value)) {
    if (name === "headers") continue;
    const most = Object.hasOwn(texts, name) ? texts[name] : undefined;
    if (most === undefined) throw new FairleadError("invalid", `${shown(name)} is not asked for here`);
    if (typeof own !== "string" || own.length > most)
      throw new FairleadError("invalid", `${name} is not a text of at most ${most} characters`);
  }
  return {
    ...(value as Omit<WhyQuestion, "headers">),
    ...("headers" in value ? { headers: headersOf(value.headers) } : {}),
  };
}

/** As pairs, since a name may come twice. */
function headersOf(value: unknown): readonly (readonly [string, string])[] {
  const isText = (one: unknown): one is string => typeof one === "string" && one.length <= longestHeader;
  if (Array.isArray(value) && value.length <= maxHeaders)
    if (value.every((pair): pair is [string, string] => Array.isArray(pair) && pair.length === 2 && pair.every(isText)))
      return value;
  throw new FairleadError("invalid", `headers are at most ${maxHeaders} pairs of a name and a value`);
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 64));
