/** What is acknowledged stays, whatever ends the process; what cannot be trusted is refused by name. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { crc32 } from "node:zlib";
import { open as openLmdb } from "lmdb";
import { afterAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createStore, type Store } from "./store.ts";
import { openStoreFile } from "./store-file.ts";
import { type Credentials, callWith, readKubeconfig } from "./testing.ts";

const root = mkdtempSync(join(tmpdir(), "fairlead-store-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const object = (name: string, size = 10): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { x: "y".repeat(size) },
});
const run = (command: string, ...args: readonly string[]): number | null => spawnSync(command, args).status;
const open = (path: string): Store => createStore(openStoreFile(path), silentLogger);
const fill = async (path: string, count: number): Promise<void> => {
  const store = open(path);
  await Promise.all(
    Array.from({ length: count }, (_, i) =>
      store.write("/configmaps", `default/c${i}`, undefined, object(`c${i}`, i * 40)),
    ),
  );
  await store.close();
};

test("a listener that fails costs neither the write nor the other listeners", async () => {
  const store = open(join(root, "listeners.mdb"));
  const heard: string[] = [];
  store.subscribe(() => {
    throw new Error("a fault of ours");
  });
  store.subscribe(({ key }) => heard.push(key));
  await store.write("/configmaps", "default/a", undefined, object("a"));
  await store.write("/configmaps", "default/b", undefined, object("b"));
  expect(heard).toEqual(["default/a", "default/b"]);
  expect(store.list("/configmaps").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
  await store.close();
});

describe("kill -9", () => {
  test("loses nothing that was acknowledged, and versions never fall", async () => {
    const dir = join(root, "killed");
    mkdirSync(dir);
    const acknowledged = new Map<string, string>();
    let newest = 0;
    for (let round = 0; round < 4; round++) {
      const { child, url, credentials } = await start(dir);
      const before = await list(url, credentials);
      expect(before.version).toBeGreaterThanOrEqual(newest);
      for (const [name, version] of acknowledged) expect(before.versions.get(name)).toBe(version);
      await writeUntilDead(child, url, credentials, round, acknowledged);
      newest = Math.max(newest, ...[...acknowledged.values()].map(Number));
    }
    expect(acknowledged.size).toBeGreaterThan(40);
  });
});

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly credentials: Credentials & { readonly ca: string };
}

async function start(dir: string): Promise<Running> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "testing-child.ts"), dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line")) as [string];
  return {
    child,
    url: line.split(" ")[1] ?? "",
    credentials: readKubeconfig(readFileSync(join(dir, "kubeconfig"), "utf8")),
  };
}

async function list(
  url: string,
  as: Running["credentials"],
): Promise<{ version: number; versions: Map<string, string> }> {
  const { body } = await callWith(url, as, "GET", "/api/v1/namespaces/default/configmaps");
  const items = body.items as { metadata: { name: string; resourceVersion: string } }[];
  return {
    version: Number((body.metadata as { resourceVersion: string }).resourceVersion),
    versions: new Map(items.map((i) => [i.metadata.name, i.metadata.resourceVersion])),
  };
}

/** Many writers at once; the process is killed in the middle of them. */
async function writeUntilDead(
  child: ChildProcess,
  url: string,
  as: Running["credentials"],
  round: number,
  acknowledged: Map<string, string>,
): Promise<void> {
  const writer = async (id: number): Promise<void> => {
    for (let i = 0; ; i++) {
      const name = `r${round}-w${id}-${i}`;
      const answer = await callWith(url, as, "POST", "/api/v1/namespaces/default/configmaps", object(name)).catch(
        () => undefined,
      );
      if (answer?.code !== 201) return;
      acknowledged.set(name, (answer.body.metadata as { resourceVersion: string }).resourceVersion);
      if (acknowledged.size === 15 * (round + 1)) child.kill("SIGKILL");
    }
  };
  await Promise.all([0, 1, 2, 3].map(writer));
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

describe("a damaged file", () => {
  const damage = async (name: string, edit: (path: string) => void): Promise<() => unknown> => {
    const path = join(root, `${name}.mdb`);
    await fill(path, 100);
    edit(path);
    return () => openStoreFile(path);
  };
  const overwrite = (path: string, at: number, bytes: Buffer): void => {
    const data = readFileSync(path);
    bytes.copy(data, at);
    writeFileSync(path, data);
  };

  test("with a changed byte in a value", async () => {
    const opening = await damage("byte", (path) =>
      overwrite(path, readFileSync(path).lastIndexOf("yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"), Buffer.from("n")),
    );
    expect(opening).toThrow(/byte\.mdb is damaged/);
  });

  test.each([0, 100, 5000, 20_000])("cut off at %d bytes", async (length) => {
    const opening = await damage(`cut${length}`, (path) => truncateSync(path, length));
    expect(opening).toThrow(/cut\d+\.mdb is damaged/);
  });

  test("with each of its pages zeroed, is refused or read whole, never read in part", async () => {
    const path = join(root, "zero.mdb");
    await fill(path, 100);
    const whole = readFileSync(path);
    let refused = 0;
    for (let page = 0; page < statSync(path).size / 4096; page += 7) {
      overwrite(path, page * 4096, Buffer.alloc(4096));
      try {
        const file = openStoreFile(path);
        expect(file.objects).toHaveLength(100);
        await file.close();
      } catch (error) {
        expect(String(error)).toContain("zero.mdb is damaged");
        refused++;
      }
      writeFileSync(path, whole);
    }
    expect(refused).toBeGreaterThan(3);
  });

  test("that is not there any more", async () => {
    expect(await damage("gone", (path) => rmSync(path))).toThrow(/gone\.mdb is damaged: it is empty or missing/);
  });

  test("of another kind", async () => {
    expect(await damage("text", (path) => writeFileSync(path, "x".repeat(100_000)))).toThrow(/text\.mdb is damaged/);
  });
});

test("a store of an older format is read step by step, once, and kept as it was beside", async () => {
  const path = join(root, "older.mdb");
  const first = openStoreFile(path);
  const record = (name: string) => ({
    resource: "/configmaps",
    key: `default/${name}`,
    text: JSON.stringify({ metadata: { name, resourceVersion: "2" }, data: { was: "1" } }),
  });
  first.commit([record("a"), record("b")], 2);
  await first.close();
  const ran: number[] = [];
  const step = (from: number, change: (key: string, text: string) => readonly [string, string] | undefined) => ({
    ...{ from, what: "made up" },
    migrate(records: ReadonlyMap<string, string>) {
      ran.push(from);
      return new Map([...records].flatMap(([key, text]) => [change(key, text) ?? [key, text]]));
    },
  });
  const formats = {
    current: 3,
    steps: [
      step(2, (key, text) => [key.replace("default/b", "default/c"), text]),
      step(1, (key, text) => [key, text.replace('"was":"1"', '"was":"2"')]),
    ],
  };
  for (let start = 0; start < 2; start++) {
    const opened = openStoreFile(path, formats);
    expect(opened.objects.map(({ key, object }) => [key, object.data])).toEqual([
      ["default/a", { was: "2" }],
      ["default/c", { was: "2" }],
    ]);
    expect(opened.version).toBe(2);
    await opened.close();
  }
  expect(ran).toEqual([1, 2]);
  expect(() => openStoreFile(path)).toThrow(/older\.mdb has format 3; this version of Fairlead reads format 1/);
  const kept = openStoreFile(`${path}.format-1`);
  expect(kept.objects.map(({ key }) => key)).toEqual(["default/a", "default/b"]);
  await kept.close();
  expect(() => openStoreFile(`${path}.format-1`, { current: 2, steps: [] })).toThrow("no longer reads");
});

test("a store of a newer format is refused by name, and left as it is", async () => {
  const path = join(root, "newer.mdb");
  await fill(path, 3);
  const db = openLmdb<Buffer, string>({ path, encoding: "binary", overlappingSync: false });
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32("7", crc32("format")));
  db.putSync("format", Buffer.concat([checksum, Buffer.from("7")]));
  await db.close();
  const before = readFileSync(path);
  expect(() => openStoreFile(path)).toThrow(/newer\.mdb has format 7; this version of Fairlead reads format 1/);
  expect(readFileSync(path).equals(before)).toBe(true);
});

describe("the store", () => {
  test("is for its owner's eyes alone", async () => {
    const path = join(root, "mode.mdb");
    await fill(path, 1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("P03: files of two stores exchanged are refused by name; one of before there were ids, or moved whole, is not", async () => {
    const [first, second] = ["first", "second"].map((name) => join(root, `exchanged-${name}.mdb`)) as [string, string];
    await fill(first, 2);
    await fill(second, 3);
    const aside = join(root, "aside.mdb");
    for (const [from, to] of [
      [first, aside],
      [second, first],
      [aside, second],
    ] as const)
      renameSync(from, to);
    expect(() => open(first)).toThrow(`${first} is not the store that was here before`);
    // Whoever means it says so.
    rmSync(`${first}.in-use`);
    const meant = open(first);
    expect(meant.list("/configmaps")).toHaveLength(3);
    await meant.close();
    writeFileSync(`${first}.in-use`, "");
    await open(first).close();
    const moved = join(root, "moved.mdb");
    for (const suffix of ["", ".in-use"]) renameSync(`${first}${suffix}`, `${moved}${suffix}`);
    await open(moved).close();
  });

  test("of two writers of the same version one is told, and readers see only what is on disk", async () => {
    const store = open(join(root, "two.mdb"));
    const first = store.write("/configmaps", "default/a", undefined, object("a"));
    const second = store.write("/configmaps", "default/a", undefined, object("a"));
    expect(store.get("/configmaps", "default/a")).toBeUndefined();
    expect(await second).toBe("changed");
    expect(await first).toMatchObject({ metadata: { name: "a" } });
    expect(store.get("/configmaps", "default/a")).toBeDefined();
    await store.close();
  });

  test.skipIf(lacks("root"))(
    "says when the disk is full, serves what it has, and goes on when there is room",
    async () => {
      const dir = join(root, "full");
      mkdirSync(dir);
      expect(run("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir)).toBe(0);
      try {
        const store = open(join(dir, "store.mdb"));
        await store.write("/configmaps", "default/first", undefined, object("first"));
        const ballast = join(dir, "ballast");
        writeFileSync(ballast, Buffer.alloc(1_450_000));
        await expect(store.write("/configmaps", "default/big", undefined, object("big", 700_000))).rejects.toThrow(
          "the store cannot be written",
        );
        // One that fails halfway spoils LMDB's memory: some more end the process.
        for (let i = 0; i < 20; i++)
          for (const size of [700_000, 450_000])
            await expect(
              store.write("/configmaps", "default/big", undefined, object("big", size)),
              `write ${i} of ${size} bytes`,
            ).rejects.toThrow("ENOSPC");
        await store.write("/configmaps", "default/small", undefined, object("small"));
        expect(store.get("/configmaps", "default/first")).toBeDefined();
        expect(store.get("/configmaps", "default/big")).toBeUndefined();
        rmSync(ballast);
        expect(await store.write("/configmaps", "default/after", undefined, object("after"))).toMatchObject({
          metadata: { name: "after" },
        });
        await store.close();
        const again = open(join(dir, "store.mdb"));
        expect(again.list("/configmaps").map((o) => o.metadata.name)).toEqual(["after", "first", "small"]);
        await again.close();
      } finally {
        run("umount", dir);
      }
    },
  );
});
