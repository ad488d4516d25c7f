import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../lib/index.ts";
import { watchFile } from "./watch-file.ts";

let dir = "";
const ends: (() => void)[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fl-watch-"));
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
  rmSync(dir, { recursive: true, force: true });
});

/** Resolves when a call comes at which the file has this text: nobody would read it without one. */
function watching(path: string) {
  let waiting: { readonly text: string; readonly resolve: () => void } | undefined;
  const read = (): string => {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return "";
    }
  };
  ends.push(watchFile(path, () => read() === waiting?.text && waiting.resolve(), silentLogger));
  return async (text: string, change: () => void): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting = { text, resolve };
    change();
    await promise;
    expect(read()).toBe(text);
  };
}

test("a file that is written, written again, and replaced", async () => {
  const path = join(dir, "cert.pem");
  const reads = watching(path);
  await reads("1", () => writeFileSync(path, "1"));
  await reads("2", () => writeFileSync(path, "2"));
  await reads("3", () => {
    writeFileSync(`${path}.new`, "3");
    renameSync(`${path}.new`, path);
  });
});

test("folders that come later, step by step or at once, go, and come again", async () => {
  const folder = join(dir, "a", "b", "c");
  const path = join(folder, "cert.pem");
  const reads = watching(path);
  mkdirSync(join(dir, "a"));
  await reads("1", () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, "1");
  });
  await reads("", () => rmSync(join(dir, "a"), { recursive: true }));
  await reads("2", () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, "2");
  });
  await reads("3", () => writeFileSync(path, "3"));
});

test("a folder that takes the place of another", async () => {
  const [folder, other] = [join(dir, "now"), join(dir, "next")];
  for (const at of [folder, other]) mkdirSync(at);
  const path = join(folder, "cert.pem");
  const reads = watching(path);
  await reads("1", () => writeFileSync(path, "1"));
  writeFileSync(join(other, "cert.pem"), "2");
  await reads("2", () => {
    renameSync(folder, join(dir, "before"));
    renameSync(other, folder);
  });
  await reads("3", () => writeFileSync(path, "3"));
});

test("files behind a link that is changed, as Kubernetes mounts them", async () => {
  const folder = join(dir, "mount");
  const path = join(folder, "cert.pem");
  const put = (version: string): void => {
    mkdirSync(join(folder, version), { recursive: true });
    writeFileSync(join(folder, version, "cert.pem"), version);
    symlinkSync(version, join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
  };
  const reads = watching(path);
  await reads("..1", () => {
    put("..1");
    symlinkSync("..data/cert.pem", path);
  });
  await reads("..2", () => put("..2"));
});
