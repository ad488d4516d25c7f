/** Renders every recorded case and compares resource by resource with what istiod sends; the figure may only rise. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { conformanceDir, lacks } from "../require.ts";

interface Figure {
  readonly casesEqual: number;
  readonly equal: number;
}

const floorFile = join(import.meta.dirname, "xds.json");
const cases = join(conformanceDir, "xds");
const compare = join(conformanceDir, "../tools/xds-compare.mjs");

describe.skipIf(lacks("conformance"))("xds conformance", () => {
  const out = mkdtempSync(join(tmpdir(), "fairlead-xds-"));
  afterAll(() => rmSync(out, { recursive: true, force: true }));

  test("cases and resources equal to istiod's only rise", { timeout: 300_000 }, async () => {
    const failures: string[] = [];
    for (const name of readdirSync(cases).filter((entry) => existsSync(join(cases, entry, "input")))) {
      let errors = "";
      const status = await runProgram(["render", "-f", join(cases, name, "input"), "--all", "--out", join(out, name)], {
        env: {},
        cwd: process.cwd(),
        out: () => {},
        err: (text) => {
          errors += text;
        },
        tty: false,
        signal: AbortSignal.timeout(60_000),
      });
      if (status !== 0) failures.push(`${name}: exit ${status}: ${errors}`);
    }
    expect(failures).toEqual([]);
    const answer = spawnSync(process.execPath, [compare, cases, out, "--json", "--min", "0"], { encoding: "utf8" });
    const figure: Figure & { cases: number; resources: number } = JSON.parse(answer.stdout);
    console.log(
      `xds conformance: ${figure.casesEqual} of ${figure.cases} cases, ${figure.equal} of ${figure.resources} resources equal`,
    );
    const floor: Figure = JSON.parse(readFileSync(floorFile, "utf8"));
    if (process.env.FAIRLEAD_RAISE_FLOOR && figure.equal >= floor.equal)
      writeFileSync(floorFile, `${JSON.stringify({ casesEqual: figure.casesEqual, equal: figure.equal }, null, 2)}\n`);
    expect(figure.casesEqual).toBeGreaterThanOrEqual(floor.casesEqual);
    expect(figure.equal).toBeGreaterThanOrEqual(floor.equal);
  });
});
