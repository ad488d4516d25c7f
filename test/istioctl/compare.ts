/** Two answers to one command in; where they differ, and which of that nobody has given a reason for, out. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../src/lib/index.ts";
import type { Said } from "./run.ts";

/** Why an answer is another one than istiod's. */
interface Difference {
  readonly reason: string;
  /** Of JSON: all places that differ. Absent for a text, and where nothing is to be compared. */
  readonly places?: readonly string[];
}

const file = join(import.meta.dirname, "differences.json");
export const differences: ReadonlyMap<string, Difference> = new Map(
  Object.entries(JSON.parse(readFileSync(file, "utf8")) as Record<string, Difference>),
);

/** Empty where all is as it should be. */
export function complaints(command: string, istiod: Said, own: Said): readonly string[] {
  const known = differences.get(command);
  const places = [...new Set(placesOf(istiod, own))].sort();
  if (!known) return places.map((place) => `${command}: ${place} is not as istiod has it`);
  if (places.length === 0) return [`${command}: there is no difference any more: ${known.reason}`];
  if (known.places === undefined) return [];
  const listed = new Set(known.places);
  return [
    ...places.filter((place) => !listed.has(place)).map((place) => `${command}: ${place} differs, and is not listed`),
    ...known.places.filter((place) => !places.includes(place)).map((place) => `${command}: ${place} no longer differs`),
  ];
}

function placesOf(istiod: Said, own: Said): readonly string[] {
  const status = istiod.status === own.status ? [] : [`exit status ${own.status}`];
  const [a, b] = [parsed(istiod.out), parsed(own.out)];
  if (a === undefined || b === undefined) return istiod.out === own.out ? status : [...status, "the text"];
  return [...status, ...differing(a, b, "")];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Members of lists count as one place. */
function differing(a: unknown, b: unknown, at: string): readonly string[] {
  if (Array.isArray(a) && Array.isArray(b)) {
    const counts = a.length === b.length ? [] : [`${at}[] (how many)`];
    return [...counts, ...a.slice(0, b.length).flatMap((one, i) => differing(one, b[i], `${at}[]`))];
  }
  if (!isRecord(a) || !isRecord(b)) return JSON.stringify(a) === JSON.stringify(b) ? [] : [at];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].flatMap((key) => {
    const place = at === "" ? key : `${at}.${key}`;
    if (!Object.hasOwn(a, key)) return [`+${place}`];
    return Object.hasOwn(b, key) ? differing(a[key], b[key], place) : [`-${place}`];
  });
}
