/** An object, and what made its parts, in; how many of the proxies that it reaches have acknowledged them out. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { printable } from "../../lib/index.ts";
import { envoyTypes, type Resource, type ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type ProxyNode, type ProxyProgress, proxyName, shortName } from "../../xds/index.ts";
import { createPartsOf, type Part, type PartsOf, type Reach } from "./reach.ts";
import type { Roster } from "./roster.ts";

export interface Verdict {
  /** Proxies that are sent something because of the object, or still have what it made before. */
  readonly affected: number;
  /** Those of them that have acknowledged all of it. */
  readonly acknowledged: number;
  readonly refusing: readonly Refusing[];
  /** `pod.namespace` of those that have not answered yet. */
  readonly waiting: readonly string[];
}

export interface Refusing {
  /** `pod.namespace`. */
  readonly proxy: string;
  /** Such as `LDS 0.0.0.0_80`. */
  readonly part: string;
  /** Of the proxy, fit for a line. */
  readonly words: string;
}

export interface JudgeInputs {
  readonly roster: Roster;
  /** `Kind/namespace/name`. */
  readonly object: string;
  readonly reach: Reach;
  /** Whether it is still to be found what it is that a proxy refuses. */
  readonly isOpen: (node: ProxyNode) => boolean;
  /** Where a proxy is not sent the object, as it refuses it: what it refused. */
  readonly withheld: (node: ProxyNode) => Refusing | undefined;
  /** What was made from the generation before: who still has it is not done. */
  readonly before: Reach;
}

const maxWords = 400;
/** How long a judgement may keep the event loop from everything else. */
const sliceMs = 3;

export async function judge({ roster, object, reach, before, withheld, isOpen }: JudgeInputs): Promise<Verdict> {
  const partsOf = createPartsOf(object, reach);
  const tally = { affected: 0, acknowledged: 0, refusing: [] as Refusing[], waiting: [] as string[] };
  let untilMs = performance.now() + sliceMs;
  for (const { renderer, members } of roster()) {
    const looked = lookedAt(renderer, partsOf, before);
    for (const { node, proxy } of members) {
      const refusing = withheld(node);
      if (refusing) {
        tally.affected++;
        tally.refusing.push(refusing);
      } else if (proxy && looked.parts.length + looked.departed.length > 0) count(tally, proxy, looked, isOpen(node));
      if (performance.now() < untilMs) continue;
      await nextTurn();
      untilMs = performance.now() + sliceMs;
    }
  }
  return tally;
}

interface Looked {
  readonly parts: readonly Part[];
  /** Of names that the generation before had a part in, and that are something else now, or nothing. */
  readonly departed: readonly Departed[];
}

interface Departed {
  readonly type: ResourceType;
  readonly name: string;
  readonly made: ReadonlySet<Resource>;
}

const nothingDeparted: readonly Departed[] = [];

function lookedAt(renderer: Renderer, partsOf: PartsOf, before: Reach): Looked {
  if (before.size === 0) return { parts: partsOf(renderer), departed: nothingDeparted };
  const departed = envoyTypes.flatMap((type) => {
    const set = renderer.set(type);
    return [...before].flatMap(([name, made]) => {
      const now = set.get(name);
      return now && made.has(now) ? [] : [{ type, name, made }];
    });
  });
  return { parts: partsOf(renderer), departed };
}

function count(
  tally: { affected: number; acknowledged: number; readonly refusing: Refusing[]; readonly waiting: string[] },
  proxy: ProxyProgress,
  { parts, departed }: Looked,
  isOpen: boolean,
): void {
  const hasOld = departed.some(({ type, name: old, made }) => {
    const has = proxy.accepted(type, old);
    return has !== undefined && made.has(has);
  });
  let [asked, awaited, refused] = [hasOld ? 1 : 0, hasOld ? 1 : 0, 0];
  for (const { type, wanted } of parts) {
    const progress = proxy.of(type, wanted);
    if (progress === "unasked") continue;
    asked++;
    if (progress === "awaited" || (progress === "refused" && isOpen)) awaited++;
    if (progress !== "refused" || isOpen) continue;
    refused++;
    const part = `${shortName(type)} ${printable(wanted.name)}`;
    if (refused > 1) continue;
    const words = printable(proxy.words(type, wanted.name).slice(0, maxWords));
    tally.refusing.push({ proxy: nameOf(proxy), part, words });
  }
  if (asked === 0) return;
  tally.affected++;
  if (refused + awaited === 0) tally.acknowledged++;
  else if (refused === 0) tally.waiting.push(nameOf(proxy));
}

const nameOf = ({ node }: ProxyProgress): string => printable(proxyName(node));
