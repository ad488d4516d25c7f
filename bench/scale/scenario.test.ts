import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseYaml } from "../../src/lib/index.ts";
import { scenario } from "./scenario.ts";

const script = join(import.meta.dirname, "../../../shared/tools/scale_scenario.py");

test.skipIf(!existsSync(script))("the scenario is that of scale_scenario.py", () => {
  const size = { services: 300, endpoints: 3, namespaces: 7, routed: 20 };
  const flags = Object.entries(size).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const written = parseYaml(execFileSync("python3", [script, ...flags], { encoding: "utf8", maxBuffer: 1 << 26 }));
  expect(scenario(size)).toEqual(written.filter((document) => document !== null));
});
