/** A difference in; the text from which it can be understood and replayed out. */
import { isRecord } from "../../src/lib/index.ts";
import { bytesOf, type KubeObject, type Resource, type ResourceType } from "../../src/model/index.ts";
import { createJsonPrinter } from "../../src/render/index.ts";
import { idOf, type Step } from "./life.ts";
import type { Difference } from "./play.ts";

export interface Played {
  readonly seed: number;
  readonly steps: number;
  /** Where it was met in the whole life. */
  readonly met: Difference;
  /** What is left of the life, and how it ends. */
  readonly life: readonly Step[];
  readonly difference: Difference;
}

const shownLines = 20;

export async function sayDifference({ seed, steps, met, life, difference }: Played): Promise<string> {
  const replay = `FAIRLEAD_SEED=${seed} FAIRLEAD_STEPS=${steps} npm test -- test/incremental`;
  const lines = [
    `seed ${seed}, step ${met.step} of ${steps}: ${sayOne(met)}`,
    `to see it again: ${replay}`,
    `the shortest life that was found (${life.length} steps) ends with: ${sayOne(difference)}`,
    ...life.map((step, index) => `  ${index + 1}. ${sayStep(step)}${sayTurns(step)}`),
  ];
  if (difference.type) lines.push(...(await jsonDifference(difference.type, difference.live, difference.fresh)));
  return lines.join("\n");
}

const sayOne = ({ proxy, type, name, what }: Difference): string =>
  [type?.slice(type.lastIndexOf(".") + 1), name, proxy === "" ? "" : `of ${proxy}`, what].filter(Boolean).join(" ");

const sayTurns = ({ turns }: Step): string => (turns === undefined ? "" : `; ${turns} turns later:`);

function sayStep(step: Step): string {
  if (step.does === "disconnect") return `disconnect ${step.name}`;
  if (step.does === "withhold")
    return `withhold [${step.filters}] from ${step.name}, which has ${step.instead === "before" ? "the generations before" : "nothing"} instead`;
  if (step.does === "connect")
    return `connect ${step.proxy.name} ${JSON.stringify({ ...step.proxy.node, extensions: [...step.proxy.node.extensions] })}`;
  // Many at once are only named: they are those of the whole life, and a replay has them.
  const body = (object: KubeObject): string =>
    step.apply.length > 5 ? "" : ` ${JSON.stringify(withoutDates(object))}`;
  return [
    ...step.remove.map((object) => `remove ${idOf(object)}`),
    ...step.apply.map((object) => `apply ${idOf(object)}${body(object)}`),
  ].join("; ");
}

function withoutDates({ apiVersion: _, kind: __, metadata, ...rest }: KubeObject): unknown {
  const { labels, annotations } = metadata;
  return { labels, annotations, ...rest };
}

async function jsonDifference(
  type: ResourceType,
  live: Resource | undefined,
  fresh: Resource | undefined,
): Promise<readonly string[]> {
  const print = createJsonPrinter();
  const flat = (resource: Resource | undefined): ReadonlySet<string> =>
    new Set(resource ? flatten(print(type, bytesOf(resource)), "") : []);
  const [held, wanted] = [flat(live), flat(fresh)];
  const lines = [
    ...[...held].filter((line) => !wanted.has(line)).map((line) => `- live  ${line}`),
    ...[...wanted].filter((line) => !held.has(line)).map((line) => `+ fresh ${line}`),
  ];
  const more = lines.length - shownLines;
  return more > 0 ? [...lines.slice(0, shownLines), `… and ${more} lines more`] : lines;
}

function flatten(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => flatten(item, `${path}[${index}]`));
  if (isRecord(value)) return Object.entries(value).flatMap(([key, inner]) => flatten(inner, `${path}.${key}`));
  return [`${path} = ${JSON.stringify(value)}`];
}
