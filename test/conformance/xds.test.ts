/**
 * Renders every recorded case and compares each resource with what istiod made of it; what differs is listed, with its
 * reason, in xds.json. FAIRLEAD_CASES=gateway picks cases by name; a difference that is not listed is told by field.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { type Comparison, compareProxy } from "./compare.ts";
import { recordedCases } from "./corpus.ts";
import { expectKnownDifferences } from "./differences.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-xds-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test("resources equal istiod's, but for known differences", { timeout: 300_000 }, async () => {
  const failures: string[] = [];
  const compared = new Map<string, ReadonlyMap<string, Comparison>>();
  for (const { name, dir } of recordedCases("xds", "input")) {
    const out = join(work, name);
    const { status, stderr } = await runCli(["render", "-f", join(dir, "input"), "--all", "--out", out]);
    if (status !== 0 || stderr.includes("fault:")) failures.push(`${name}: exit ${status}: ${stderr}`);
    const proxies = readdirSync(join(dir, "expected"));
    const answers = proxies.map(
      (proxy) => [proxy, compareProxy(join(dir, "expected", proxy), join(out, proxy))] as const,
    );
    compared.set(name, new Map(answers));
  }
  expect(failures).toEqual([]);
  const all = [...compared.values()].flatMap((proxies) => [...proxies.values()]);
  const [resources, differing] = [sum(all, (one) => one.resources), sum(all, (one) => one.differences.length)];
  console.log(`xds conformance: ${resources - differing} of ${resources} resources equal`);
  const fields = new Map([...compared].map(([name, proxies]) => [name, fieldsOf(proxies)]));
  const seen = new Map([...fields].map(([name, differs]) => [name, [...differs.keys()]]));
  expectKnownDifferences("xds", seen, (name, field) => fields.get(name)?.get(field) ?? "");
});

const sum = <T>(list: readonly T[], count: (one: T) => number): number =>
  list.reduce((all, one) => all + count(one), 0);

function fieldsOf(proxies: ReadonlyMap<string, Comparison>): ReadonlyMap<string, string> {
  const entries = [...proxies].flatMap(([proxy, { differences }]) =>
    differences.flatMap(({ resource, fields }) =>
      [...fields].map(([path, values]) => [`${proxy} ${resource} ${path}`, values] as const),
    ),
  );
  return new Map(entries);
}
