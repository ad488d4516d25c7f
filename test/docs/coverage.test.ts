import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { validateMeshConfig } from "../../src/config/index.ts";

const root = join(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/reference/coverage.md"), "utf8");

test("docs/reference/coverage.md is what changing every field shows", { timeout: 900_000 }, () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/coverage-doc.mjs"), "--check"], {
    encoding: "utf8",
    env: { ...process.env, NODE_NO_WARNINGS: "1" },
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

test("only kinds whose fields are changed one by one have fields that count as honoured", () => {
  expect(text).toMatch(/^\| `http\[\]\.timeout` \| yes \|/m);
  expect(text).not.toMatch(/^\| `extensionProviders\[\]\.zipkin\.headers\[\]\.envName` \| yes \|/m);
  expect([...text.matchAll(/^\| `[^`]+` \| yes \|/gm)].length).toBeGreaterThan(300);
});

test("every field is seen to be honoured, or said not to be and why", () => {
  expect([...text.matchAll(/^## /gm)].length).toBe(18);
  expect([...text.matchAll(/^\| `([^`]+)` \| unseen/gm)].map(([, field]) => field)).toEqual([]);
  expect([...text.matchAll(/^\| `([^`]+)` \| no \|\s*\|/gm)].map(([, field]) => field)).toEqual([]);
});

test("curves for mutual TLS of the mesh are refused", () => {
  expect(validateMeshConfig({ meshMTLS: { ecdhCurves: ["P-256"] } }).errors).toContainEqual(
    expect.objectContaining({ message: expect.stringContaining("ECDH curves") }),
  );
});
