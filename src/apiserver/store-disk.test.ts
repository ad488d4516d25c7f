/**
 * P02: a disk that fails under the API: what cannot be written is refused, all else goes on, and what was acknowledged is
 * there. Left out where no disks can be made (vitest.config.ts).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startApi, type TestApi } from "./testing.ts";

const blockSize = 4096;
const diskSize = 128 << 20;
const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { stdio: "pipe" }).toString().trim();

interface Disk {
  readonly dir: string;
  /** Every block that nothing is in yet refuses writes with EIO. */
  fail(): void;
  mend(): void;
  /** As after an error that the file system has found in itself. */
  becomeReadOnly(): void;
  /** As it would be found after a loss of power: what is only in the system's memory is not on it. */
  copy(): Disk;
}

/** Without a journal, which would end all writing at the first error. One group of blocks: in use are those in front. */
function makeDisk(): Disk {
  const image = join(mkdtempSync(join(tmpdir(), "fairlead-disk-")), "image");
  writeFileSync(image, "");
  truncateSync(image, diskSize);
  run("mkfs.ext4", "-q", "-F", "-b", String(blockSize), "-N", "64", "-O", "^has_journal", image);
  return mountDisk(image);
}

function mountDisk(image: string): Disk {
  const dir = `${image}.mounted`;
  const device = (): string => run("findmnt", "--noheadings", "--output", "SOURCE", dir);
  const resize = (bytes: number): void => {
    truncateSync(image, bytes);
    run("losetup", "--set-capacity", device());
  };
  mkdirSync(dir);
  run("mount", "-o", "loop,errors=continue", image, dir);
  onTestFinished(() => {
    run("umount", "--lazy", dir);
    rmdirSync(dir);
    rmSync(image);
    if (readdirSync(dirname(image)).length === 0) rmdirSync(dirname(image));
  });
  return {
    dir,
    fail() {
      run("sync", "--file-system", dir);
      const free = [...run("dumpe2fs", device()).matchAll(/Free blocks: (?:.*, )?(\d+)-\d+$/gm)].at(-1)?.[1];
      expect(Number(free)).toBeGreaterThan(0);
      resize(Number(free) * blockSize);
    },
    mend: () => resize(diskSize),
    becomeReadOnly() {
      run("mount", "-o", "remount,errors=remount-ro", dir);
      writeFileSync(`/sys/fs/ext4/${basename(device())}/trigger_fs_error`, "1");
    },
    copy() {
      const copied = `${image}-copied`;
      run("cp", "--sparse=always", image, copied);
      // Its status says how much there was to put right, which without a journal is something.
      spawnSync("e2fsck", ["-f", "-y", copied]);
      return mountDisk(copied);
    },
  };
}

const path = "/api/v1/namespaces/default/configmaps";

/** Tries to make objects of all sizes; the names of those that were acknowledged, and what was said of the others. */
async function writeMany(api: TestApi, prefix: string): Promise<{ names: string[]; refused: Set<string> }> {
  const names: string[] = [];
  const refused = new Set<string>();
  for (let i = 0; i < 40; i++) {
    const name = `${prefix}-${i}`;
    const data = { text: "x".repeat([10, 3000, 60_000, 400_000][i % 4] ?? 0) };
    const { code, body } = await api.call("POST", path, {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data },
    });
    if (code === 201) names.push(name);
    else refused.add(`${code} ${body.reason}: ${body.message}`);
  }
  return { names, refused };
}

async function namesOf(api: TestApi): Promise<string[]> {
  const { code, body } = await api.call("GET", path);
  expect(code).toBe(200);
  return (body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
}

const refusal = (code: string): string => `507 InsufficientStorage: the store cannot be written: ${code}`;
const open = (disk: Disk): Promise<TestApi> => startApi({ dataDir: join(disk.dir, "api"), keep: true });

test("writes that the disk fails are refused, and go on without a restart once it is well", async () => {
  const disk = makeDisk();
  const api = await open(disk);
  const before = await writeMany(api, "before");
  expect(before.refused.size).toBe(0);
  disk.fail();
  const during = [await writeMany(api, "during"), await writeMany(api, "longer")];
  expect([...new Set(during.flatMap(({ refused }) => [...refused]))]).toEqual([refusal("EIO")]);
  const acknowledged = [before, ...during].flatMap(({ names }) => names).toSorted();
  expect(await namesOf(api)).toEqual(acknowledged);
  disk.mend();
  const after = await writeMany(api, "after");
  expect(after.refused.size).toBe(0);
  await api.close();
  const again = await open(disk.copy());
  expect(await namesOf(again)).toEqual([...acknowledged, ...after.names].toSorted());
  await again.close();
});

test("on a disk that has become read-only writes are refused, reads go on, and nothing is lost", async () => {
  const disk = makeDisk();
  const api = await open(disk);
  const { names } = await writeMany(api, "before");
  disk.becomeReadOnly();
  for (const prefix of ["during", "longer"])
    expect(await writeMany(api, prefix)).toEqual({ names: [], refused: new Set([refusal("EROFS")]) });
  expect(await namesOf(api)).toEqual(names.toSorted());
  await api.close();
  const again = await open(disk.copy());
  expect(await namesOf(again)).toEqual(names.toSorted());
  expect((await writeMany(again, "after")).refused.size).toBe(0);
  await again.close();
});
