import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { backUp, restore } from "./backup.ts";
import { createStore, type Store } from "./store.ts";
import { openStoreFile } from "./store-file.ts";
import { createWatchHub } from "./watch-hub.ts";

const root = mkdtempSync(join(tmpdir(), "fairlead-backup-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const now = new Date("2026-01-01T00:00:00Z");
const configMap = (name: string, value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { value },
});
const open = (dir: string): Store => createStore(openStoreFile(join(dir, "store.mdb")), silentLogger);
let folders = 0;
const folder = (): string => {
  const dir = join(root, `api-${folders++}`);
  mkdirSync(dir);
  return dir;
};
async function put(store: Store, name: string, value: string): Promise<void> {
  const before = store.get("/configmaps", `default/${name}`);
  await store.write("/configmaps", `default/${name}`, before?.metadata.resourceVersion, configMap(name, value));
}
const save = (apiDir: string, file: string, rest: { inUse?: boolean; salvage?: boolean } = {}) =>
  backUp({ apiDir, file, now, inUse: rest.inUse ?? false, salvage: rest.salvage ?? false });
const contents = (store: Store) =>
  store.list("/configmaps").map(({ metadata, data }) => [metadata.name, metadata.resourceVersion, data]);

test("what was saved comes back: objects, versions and keys, for its owner's eyes alone", async () => {
  const [from, to, file] = [folder(), join(root, "restored"), join(root, "one.backup")];
  const store = open(from);
  for (let i = 0; i < 50; i++) await put(store, `c${i}`, "x".repeat(i * 300));
  await put(store, "c7", "again");
  const [expected, version] = [contents(store), store.version];
  await store.close();
  writeFileSync(join(from, "service-account.key"), "a key", { mode: 0o600 });
  expect(await save(from, file)).toEqual({ objects: 50, version });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await restore({ apiDir: to, file, replace: false, now });
  expect(readFileSync(join(to, "service-account.key"), "utf8")).toBe("a key");
  expect(statSync(join(to, "service-account.key")).mode & 0o777).toBe(0o600);
  const restored = open(to);
  expect(contents(restored)).toEqual(expected);
  await put(restored, "new", "1");
  expect(restored.version).toBeGreaterThan(version);
  await restored.close();
  await expect(restore({ apiDir: to, file, replace: false, now })).rejects.toThrow("has a store already");
  const { moved } = await restore({ apiDir: to, file, replace: true, now });
  expect(readdirSync(moved ?? "")).toContain("store.mdb");
});

test("versions that were given out after the backup are not given out again", async () => {
  const [from, to, file] = [folder(), join(root, "later"), join(root, "later.backup")];
  const store = open(from);
  await put(store, "a", "1");
  await save(from, file, { inUse: true });
  for (let i = 0; i < 20; i++) await put(store, "a", `after ${i}`);
  const seen = store.version;
  await store.close();
  await restore({ apiDir: to, file, replace: false, now });
  const restored = open(to);
  expect(restored.version).toBeGreaterThan(seen);
  expect(() => createWatchHub(restored).open("/configmaps", seen, () => {})).toThrow("too old resource version");
  await put(restored, "a", "2");
  expect(Number(restored.get("/configmaps", "default/a")?.metadata.resourceVersion)).toBeGreaterThan(seen);
  await restored.close();
});

test("a backup of a store that is being written is one moment of it", async () => {
  const from = folder();
  const store = open(from);
  let writing = true;
  // Each round writes b after a: no moment has a b that is newer than its a, or more than one round behind.
  const writer = (async () => {
    for (let i = 1; writing; i++) for (const name of ["a", "b"]) await put(store, name, String(i));
  })();
  for (let i = 0; i < 8; i++) {
    const [file, to] = [join(root, `live-${i}.backup`), join(root, `live-${i}`)];
    await save(from, file, { inUse: true });
    await restore({ apiDir: to, file, replace: false, now });
    const copy = open(to);
    const value = (name: string): number =>
      Number((copy.get("/configmaps", `default/${name}`)?.data as { value?: string } | undefined)?.value ?? 0);
    expect([value("a"), value("a") - 1]).toContain(value("b"));
    await copy.close();
  }
  writing = false;
  await writer;
  await store.close();
});

/** Behind the ten bytes at the beginning, of which some say nothing. */
function withChangedByte(file: Buffer, share: number): Buffer {
  const at = 10 + Math.floor((file.length - 10) * share);
  return Buffer.concat([file.subarray(0, at), Buffer.from([(file[at] ?? 0) ^ 4]), file.subarray(at + 1)]);
}

test("a backup that is cut short, changed, newer or hostile is refused, and nothing is changed", async () => {
  const [from, file] = [folder(), join(root, "whole.backup")];
  const store = open(from);
  for (let i = 0; i < 20; i++) await put(store, `c${i}`, "value");
  // More than is read at once, so that the bytes behind a damaged line are damaged when it is being read.
  for (let i = 0; i < 10; i++) await put(store, `large${i}`, randomBytes(40_000).toString("base64"));
  await store.close();
  await save(from, file);
  const lines = gunzipSync(readFileSync(file)).toString().split("\n");
  const tried: readonly (readonly [string, string | Buffer])[] = [
    ["cut", readFileSync(file).subarray(0, -20)],
    ["end", gzipSync(lines.slice(0, -2).join("\n"))],
    ["line", gzipSync(lines.filter((_, i) => i !== 3).join("\n"))],
    ["change", gzipSync(lines.join("\n").replace('"value":"value"', '"value":"other"'))],
    ["newer", gzipSync(lines.join("\n").replace('"format":1', '"format":2'))],
    ["path", gzipSync([lines[0], '{"file":"../../evil","content":""}', ...lines.slice(1)].join("\n"))],
    ["junk", "no backup at all"],
    ["depth", gzipSync("[".repeat(100_000))],
    ["endless", gzipSync(`"${" ".repeat(20 * 1024 * 1024)}`)],
    ...Array.from({ length: 40 }, (_, i) => [`byte ${i}`, withChangedByte(readFileSync(file), i / 40)] as const),
  ];
  const to = join(root, "untouched");
  for (const [name, content] of tried) {
    const path = join(root, `${name}.bad`);
    writeFileSync(path, content);
    await expect(restore({ apiDir: to, file: path, replace: true, now }), name).rejects.toMatchObject({
      code: "storage",
    });
  }
  expect(readdirSync(root).filter((name) => name.includes("untouched") || name === "evil")).toEqual([]);
});

test.each([true, false])("an empty store is told, not read (in use: %s)", async (inUse) => {
  const [from, file] = [folder(), join(root, "empty.backup")];
  writeFileSync(join(from, "store.mdb"), "");
  await expect(save(from, file, { inUse })).rejects.toThrow("it is empty");
  expect(existsSync(file)).toBe(false);
});

test.each([
  ["empty", Buffer.alloc(0)],
  ["of zeros", Buffer.alloc(65_536)],
])("of a store that is %s nothing is saved, and that is said", async (_what, content) => {
  const [from, file] = [folder(), join(root, "nothing.backup")];
  writeFileSync(join(from, "store.mdb"), content);
  await expect(save(from, file, { salvage: true })).rejects.toThrow("nothing of the store");
  expect(existsSync(file)).toBe(false);
});

test("what a backup that was killed has left is cleared away by the next one; what another writes is not", async () => {
  const from = folder();
  const store = open(from);
  await put(store, "a", "x");
  await store.close();
  const dir = join(root, "killed");
  mkdirSync(dir);
  const killed = spawn("true", { stdio: "ignore" });
  await once(killed, "exit");
  const [left, others, alike] = [`mesh.backup.${killed.pid}.part`, "mesh.backup.1.part", "mesh.backup.old.part"];
  for (const name of [left, others, alike]) writeFileSync(join(dir, name), "half");
  await save(from, join(dir, "mesh.backup"));
  expect(readdirSync(dir).sort()).toEqual(["mesh.backup", others, alike]);
});

test("of a damaged store everything whose record is whole is saved", async () => {
  const from = folder();
  const store = open(from);
  for (let i = 0; i < 200; i++) await put(store, `c${i}`, "y".repeat((i % 10) * 900));
  const expected = new Map(store.list("/configmaps").map((object) => [object.metadata.name, object]));
  await store.close();
  const path = join(from, "store.mdb");
  const damaged = readFileSync(path);
  // Both headers and every ninth page.
  for (let page = 0; page * 4096 < damaged.length; page++)
    if (page < 2 || page % 9 === 0) damaged.fill(0xff, page * 4096, page * 4096 + 4096);
  writeFileSync(path, damaged);
  const file = join(root, "salvaged.backup");
  await expect(save(from, file)).rejects.toThrow("is damaged");
  const { objects } = await save(from, file, { salvage: true });
  expect(objects).toBeGreaterThan(100);
  const to = join(root, "salvaged");
  await restore({ apiDir: to, file, replace: false, now });
  const restored = open(to);
  for (const object of restored.list("/configmaps")) expect(object).toEqual(expected.get(object.metadata.name));
  await restored.close();
});
