/**
 * Renders every recorded case and compares resource by resource with what istiod sends; the figure may only rise.
 * While working: `FAIRLEAD_CASES=virtualservice- FAIRLEAD_DIFF=20 vitest run test/conformance/xds.test.ts` renders the cases
 * whose names match the pattern and prints the first differences. FAIRLEAD_RAISE_FLOOR=1 writes the figure down.
 */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
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
const corpus = join(conformanceDir, "xds");
const compare = join(conformanceDir, "../tools/xds-compare.mjs");
const wanted = new RegExp(process.env.FAIRLEAD_CASES ?? ".");

describe.skipIf(lacks("conformance"))("xds conformance", () => {
  const work = mkdtempSync(join(tmpdir(), "fairlead-xds-"));
  const [expected, actual] = [join(work, "expected"), join(work, "actual")];
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  test("cases and resources equal to istiod's only rise", { timeout: 300_000 }, async () => {
    const cases = readdirSync(corpus).filter((name) => wanted.test(name) && existsSync(join(corpus, name, "input")));
    for (const dir of [expected, actual]) mkdirSync(dir);
    const failures: string[] = [];
    for (const name of cases) {
      symlinkSync(join(corpus, name), join(expected, name));
      const { status, errors } = await render(join(corpus, name, "input"), join(actual, name));
      if (status !== 0 || errors.includes("fault:")) failures.push(`${name}: exit ${status}: ${errors}`);
    }
    const diff = process.env.FAIRLEAD_DIFF;
    if (diff)
      console.log(
        spawnSync(process.execPath, [compare, expected, actual, "--min", "0", "--diff", diff], { encoding: "utf8" })
          .stdout,
      );
    const answer = spawnSync(process.execPath, [compare, expected, actual, "--json", "--min", "0"], {
      encoding: "utf8",
    });
    const figure: Figure & { cases: number; resources: number } = JSON.parse(answer.stdout);
    console.log(
      `xds conformance: ${figure.casesEqual} of ${figure.cases} cases, ${figure.equal} of ${figure.resources} resources equal`,
    );
    expect(failures).toEqual([]);
    if (!process.env.FAIRLEAD_CASES) checkFloor(figure);
  });
});

function checkFloor(figure: Figure): void {
  const floor: Figure = JSON.parse(readFileSync(floorFile, "utf8"));
  if (process.env.FAIRLEAD_RAISE_FLOOR && figure.equal >= floor.equal)
    writeFileSync(floorFile, `${JSON.stringify({ casesEqual: figure.casesEqual, equal: figure.equal }, null, 2)}\n`);
  expect(figure.casesEqual).toBeGreaterThanOrEqual(floor.casesEqual);
  expect(figure.equal).toBeGreaterThanOrEqual(floor.equal);
}

async function render(input: string, out: string): Promise<{ status: number; errors: string }> {
  let errors = "";
  const status = await runProgram(["render", "-f", input, "--all", "--out", out], {
    env: {},
    cwd: process.cwd(),
    out: () => {},
    err: (text) => {
      errors += text;
    },
    tty: false,
    signal: AbortSignal.timeout(60_000),
  });
  return { status, errors };
}
