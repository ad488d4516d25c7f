import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadObjects } from "./load-objects.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-load-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string): string => {
  const path = join(dir, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
};

test("folders are read through, lists flattened, other files skipped", async () => {
  write(
    "a/one.yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: two}\n",
  );
  write(
    "a/b/three.json",
    '{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"three"}}]}',
  );
  write("a/notes.txt", "not: [yaml");
  const names = (await loadObjects([join(dir, "a")])).map(({ object }) => object.metadata.name);
  expect(names).toEqual(["three", "one", "two"]);
});

test("errors name the file", async () => {
  await expect(loadObjects([write("bad.yaml", "a: [")])).rejects.toThrow(/bad\.yaml: not YAML/);
  await expect(loadObjects([write("nameless.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {}")])).rejects.toThrow(
    "nameless.yaml: a Pod without metadata.name",
  );
  await expect(loadObjects([write("other.yaml", "foo: bar")])).rejects.toThrow("other.yaml: not a Kubernetes object");
  await expect(loadObjects([join(dir, "none.yaml")])).rejects.toThrow("cannot read");
});

test("what is no object can be taken by the caller", async () => {
  const seen: unknown[] = [];
  await loadObjects([write("mesh.yaml", "accessLogFile: /dev/stdout")], {
    other: (file, document) => seen.push([file.endsWith("mesh.yaml"), document]),
  });
  expect(seen).toEqual([[true, { accessLogFile: "/dev/stdout" }]]);
});
