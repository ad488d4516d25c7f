/** Where the sample application's scripts and YAML lie beside the bundle. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { FairleadError } from "../../lib/index.ts";
import { bundleDir } from "../self.ts";

export function demoScript(name: string): string {
  return join(bundleDir(), "demo", `${name}.js`);
}

export function demoConfig(name: string): string {
  const file = [join(bundleDir(), "..", "demo", "config", name), join(bundleDir(), "demo", "config", name)].find(
    (path) => existsSync(path),
  );
  if (!file) throw new FairleadError("not-found", `the demo's ${name} is missing`, { hint: "run from a checkout" });
  return readFileSync(file, "utf8");
}
