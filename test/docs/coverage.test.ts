import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/reference/coverage.md"), "utf8");

test("docs/reference/coverage.md is what the code says", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/coverage-doc.mjs"), "--check"], {
    encoding: "utf8",
  });
  expect(stderr.replace(/.*Warning.*\n?/g, "")).toBe("");
  expect(status).toBe(0);
});

/** Rooms that act on specs; a kind's own definition is no deed. */
function wordsOfActors(): ReadonlySet<string> {
  const files = [
    "mesh",
    "registry",
    "render",
    "translate",
    "inject",
    "agent",
    "control-plane",
    "fetch",
    "model",
  ].flatMap((room) =>
    readdirSync(join(root, "src", room), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.startsWith("kinds/"))
      .map((name) => join(root, "src", room, name)),
  );
  return new Set(files.flatMap((file) => readFileSync(file, "utf8").match(/[A-Za-z_]\w*/g) ?? []));
}

test("no field counts as honoured that no acting room even names", () => {
  const words = wordsOfActors();
  const honoured = [...text.matchAll(/^\| `([^`]+)` \| yes \|/gm)].map(([, path = ""]) => path);
  expect(honoured.length).toBeGreaterThan(500);
  const names = honoured.map(
    (path) =>
      [
        path,
        path
          .replace(/(\[\]|\.\*)+$/g, "")
          .split(".")
          .at(-1) ?? "",
      ] as const,
  );
  expect(names.filter(([, name]) => !words.has(name.replace(/\[\]/g, "")))).toEqual([]);
});
