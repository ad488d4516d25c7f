/**
 * What differs from real Istio, by case, in; compared with the list of known differences, where each has its reason.
 * A case that begins to differ fails, and so does one that no longer does: a gain cannot hide a loss.
 * FAIRLEAD_WRITE_DIFFERENCES=1 writes the list anew; the reasons are for people to write.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

interface KnownDifference {
  readonly reason: string;
  /** What exactly differs: resources, messages, verdicts. */
  readonly differs: readonly string[];
}

/** `seen` has an entry for every case that was run; an empty one where nothing differs. */
export function expectKnownDifferences(
  kind: string,
  seen: ReadonlyMap<string, readonly string[]>,
  detail: (name: string, difference: string) => string = () => "",
): void {
  const file = join(import.meta.dirname, `${kind}.json`);
  const known: Readonly<Record<string, KnownDifference>> = JSON.parse(readFileSync(file, "utf8"));
  const differing = [...seen].filter(([, differs]) => differs.length > 0);
  if (process.env["FAIRLEAD_WRITE_DIFFERENCES"]) {
    const entries = differing.map(([name, differs]) => [name, { reason: known[name]?.reason ?? "", differs }]);
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
  }
  console.log(`${kind} conformance: ${seen.size - differing.length} of ${seen.size} cases equal`);
  expect(seen.size).toBeGreaterThan(0);
  for (const [name, { reason }] of Object.entries(known)) expect(reason, name).toMatch(/\w{3,} \w+/);
  const expected = Object.entries(known).filter(([name]) => seen.has(name));
  const list = (entries: readonly (readonly [string, readonly string[]])[]): readonly string[] =>
    entries.flatMap(([name, differs]) => differs.map((difference) => `${name}: ${difference}`)).sort();
  const news = differing.flatMap(([name, differs]) =>
    differs
      .filter((difference) => !known[name]?.differs.includes(difference))
      .map((difference) => `${name}: ${difference} ${detail(name, difference)}`),
  );
  expect(list(differing), `not listed in test/conformance/${kind}.json:\n${news.slice(0, 40).join("\n")}`).toEqual(
    list(expected.map(([name, { differs }]) => [name, differs])),
  );
}
