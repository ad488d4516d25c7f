import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { createSecretFile, readSecretFile, replaceSecretFile } from "./secret-file.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fairlead-secret-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

test("a secret is 0600, is never created over another, and is replaced whole", async () => {
  const path = join(dir, "key.pem");
  await createSecretFile(path, "one");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(createSecretFile(path, "two")).rejects.toMatchObject({ code: "already-exists" });
  expect(await readSecretFile(path)).toBe("one");
  await replaceSecretFile(path, "three");
  expect(await readSecretFile(path)).toBe("three");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["key.pem"]);
});

test("a secret that others can read, or a link to one, is refused", async () => {
  const path = join(dir, "key.pem");
  writeFileSync(path, "x");
  chmodSync(path, 0o640);
  await expect(readSecretFile(path)).rejects.toMatchObject({ code: "no-permission" });
  symlinkSync(path, join(dir, "link"));
  await expect(readSecretFile(join(dir, "link"))).rejects.toMatchObject({ code: "storage" });
  await expect(createSecretFile(join(dir, "link"), "x")).rejects.toMatchObject({ code: "already-exists" });
  await expect(readSecretFile(join(dir, "none"))).rejects.toMatchObject({ code: "not-found" });
});

test.skipIf(lacks("root"))("a secret of another user is refused", async () => {
  const path = join(dir, "key.pem");
  await createSecretFile(path, "x");
  chownSync(path, 1337, 1337);
  await expect(readSecretFile(path)).rejects.toMatchObject({ code: "no-permission", hint: `chown 0 ${path}` });
});

test("what is no file is refused, and not waited for", async () => {
  const path = join(dir, "key.pem");
  execFileSync("mkfifo", ["-m", "600", path]);
  await expect(readSecretFile(path)).rejects.toMatchObject({ code: "storage" });
});
