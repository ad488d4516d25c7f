/** `./fairlead` in a checkout: set-up runs only when a source is newer than the bundle, and what is run loads little. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeEach, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const work = mkdtempSync(join(tmpdir(), "fairlead launcher "));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("a checkout", () => {
  const checkout = join(work, "checkout");
  const write = (name: string, text: string, age = 100): void => {
    const file = join(checkout, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    utimesSync(file, Date.now() / 1000 - age, Date.now() / 1000 - age);
    utimesSync(dirname(file), Date.now() / 1000 - age, Date.now() / 1000 - age);
  };
  const run = (...args: readonly string[]): string => {
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
    const { stdout, stderr } = spawnSync(join(checkout, "fairlead"), args, { encoding: "utf8", env });
    return stdout + stderr;
  };
  beforeEach(() => {
    rmSync(checkout, { recursive: true, force: true });
    mkdirSync(checkout);
    cpSync(join(root, "fairlead"), join(checkout, "fairlead"));
    for (const folder of ["demo", "proto", "src/gen"]) write(`${folder}/file`, "");
    write("src/a.ts", "");
    write("src/b.ts", "");
    write("package-lock.json", "{}");
    write("scripts/setup.mjs", 'console.log("set-up", process.argv[2]);');
    write("dist/main.js", 'console.log("ran", process.argv.slice(2).join(" "));');
    write(".cache/stamps/whole", "", 50);
    utimesSync(join(checkout, "src"), 0, 0);
  });

  test("that is fresh is run at once, with all its words", () => {
    expect(run("get", "pods", "-o", "a b")).toBe("ran get pods -o a b\n");
  });
  test("with a newer source is set up first", () => {
    write("src/a.ts", "changed", 0);
    expect(run("version")).toBe("set-up build\nran version\n");
  });
  test("in which a source was removed is set up first", () => {
    rmSync(join(checkout, "src/b.ts"));
    expect(run("version")).toBe("set-up build\nran version\n");
  });
  test("without a bundle, or never set up, is set up first", () => {
    rmSync(join(checkout, ".cache"), { recursive: true });
    expect(run("version")).toBe("set-up build\nran version\n");
  });
  test("whose generated code is newer is not", () => {
    write("src/gen/file", "", 0);
    utimesSync(join(checkout, "src"), 0, 0);
    expect(run("version")).toBe("ran version\n");
  });
  test("works through a link", () => {
    const link = join(work, "linked");
    spawnSync("ln", ["-s", join(checkout, "fairlead"), link]);
    const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` };
    expect(spawnSync(link, ["version"], { encoding: "utf8", env }).stdout).toBe("ran version\n");
  });
});

test("without a Node that is new enough it says which one to install", () => {
  const old = join(work, "old");
  mkdirSync(old);
  writeFileSync(join(old, "node"), "#!/bin/sh\necho v20.19.0\n", { mode: 0o755 });
  cpSync(join(root, "fairlead"), join(old, "fairlead"));
  const { status, stderr } = spawnSync(join(old, "fairlead"), ["version"], {
    encoding: "utf8",
    env: { PATH: `${old}:/usr/bin:/bin` },
  });
  expect(stderr).toBe("fairlead: this is Node 20.19.0, too old; install Node 24: https://nodejs.org/en/download\n");
  expect(status).toBe(1);
});

test("version loads the command line's own code and no room", () => {
  const hook = join(work, "loads.mjs");
  writeFileSync(
    hook,
    'import { registerHooks } from "node:module"; let bytes = 0;' +
      "registerHooks({ load(url, context, next) { const loaded = next(url, context); bytes += loaded.source?.length ?? 0; return loaded; } });" +
      'process.on("exit", () => process.stderr.write(String(bytes)));',
  );
  const args = ["--import", pathToFileURL(hook).href, join(root, "dist/main.js"), "version"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  expect(stdout).toMatch(/^fairlead \d/);
  // The parser of arguments is most of it. What comes in by mistake is a whole room, of hundreds of kilobytes.
  expect(Number(stderr)).toBeGreaterThan(50_000);
  expect(Number(stderr)).toBeLessThan(160_000);
});
